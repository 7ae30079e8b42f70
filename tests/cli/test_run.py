"""`llmphases run`: a command is as it is without us, and its times follow."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from capture.children.tools_of_ours import is_gone, tool
from lab.sse_server import Script
from lab.tries import tries

RUN = [sys.executable, "-m", "llmphases", "run"]
WITH_AND_WITHOUT = pytest.mark.parametrize("us", [[], [*RUN, "--"]], ids=["without", "with"])

pytestmark = pytest.mark.slow


def done(words, **more):
    """The command, when it is over."""
    given = {"stdin": subprocess.DEVNULL} if "input" not in more else {}
    return subprocess.run(words, capture_output=True, timeout=120, check=False, **given, **more)


# --- what goes through --------------------------------------------------------------------------


@WITH_AND_WITHOUT
@pytest.mark.parametrize(
    "data",
    [b"", b"no newline", b"\0\xff\xfe\r\n\x1b[31mred\x1b[0m\n", bytes(range(256)) * 9, b"\r\n" * 3],
    ids=["nothing", "no newline", "controls", "all bytes", "line ends"],
)
def test_bytes_go_through_as_they_are(us, data):
    program = tool("data = sys.stdin.buffer.read(); all_out(1, data); all_out(2, b'e' + data)")
    result = done([*us, *program], input=data)
    assert result.stdout == data
    assert result.stderr.startswith(b"e" + data)
    assert result.returncode == 0


@WITH_AND_WITHOUT
def test_a_line_of_five_megabytes_goes_through(us):
    result = done([*us, *tool("all_out(1, b'x' * 5_000_000 + b'\\n')")])
    assert result.stdout == b"x" * 5_000_000 + b"\n"


def test_two_hundred_megabytes_go_through_in_little_memory():
    program = (
        "piece = bytes(range(256)) * 4096\nfor _ in range(200): all_out(1, piece)\nsys.stdin.read()"
    )
    process = subprocess.Popen(
        [*RUN, "--", *tool(program)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    seen, left = hashlib.sha256(), 200 * 2**20
    while left:
        piece = process.stdout.read1(2**20)
        assert piece
        seen.update(piece)
        left -= len(piece)
    status = Path(f"/proc/{process.pid}/status")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    process.stdin.close()
    assert process.stdout.read() == b""
    process.stdout.close()
    assert process.wait(120) == 0
    assert seen.hexdigest() == hashlib.sha256(bytes(range(256)) * 4096 * 200).hexdigest()
    assert peak is None or int(peak[1]) < 150_000


def test_output_comes_while_it_is_made():
    """The child waits until what it wrote has been seen."""
    program = tool("out('first\\n'); sys.stdin.readline(); err('second\\n'); sys.stdin.readline()")
    process = subprocess.Popen(
        [*RUN, "--", *program], bufsize=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"first\n"
    process.stdin.write(b"go on\n")
    assert process.stderr.readline() == b"second\n"
    assert b"exit 0" in process.communicate(b"\n", 120)[1]


# --- how it ends --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(3)", 3),
        ("sys.exit(255)", 255),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_the_exit_status_is_the_commands(program, status):
    assert done([*RUN, "--", *tool(program)]).returncode == status


def test_what_cannot_be_run_is_said_as_shells_say_it(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    absent = done([*RUN, "--", "no-such-command"])
    assert (absent.returncode, absent.stdout) == (127, b"")
    assert absent.stderr == b"llmphases: no-such-command: command not found\n"
    refused = done([*RUN, "--", str(plain)])
    assert refused.returncode == 126
    told = f"llmphases: {plain}: cannot be executed: Permission denied\n"
    assert refused.stderr.decode() == told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no command given; expected llmphases run -- COMMAND"),
        (["--"], "no command given"),
        (["--repeat", "0", "--", "true"], "'0' given; expected a whole number, 1 or more"),
        (["--parallel", "1", "--", "true"], "'1' given; expected a whole number, 2 or more"),
        (["--format", "jsn", "--", "true"], "Known: claude-json"),
        (["--jsn", "--", "true"], "--jsn"),
        (["--save", "no/such/folder", "--", "true"], "its directory does not exist"),
        (["--save", ".", "--", "true"], "a directory. Name another file with --save FILE"),
        (["--save", "", "--", "true"], "it has no name"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_to_do(words, message, tmp_path):
    result = done([*RUN, *words], cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, b"")
    assert message in result.stderr.decode()


def test_the_commands_own_options_are_the_commands():
    for dashes in ([], ["--"]):
        result = done([*RUN, *dashes, "echo", "--json", "--", "--name"])
        assert result.stdout == b"--json -- --name\n"
    assert done([*RUN, "--", "--", "x"]).returncode == 127


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs PIPESTATUS")
@pytest.mark.parametrize("us", ["", '"$0" -m llmphases run --'], ids=["without", "with"])
def test_a_reader_who_leaves_ends_it_as_without_us(us):
    line = f"{us} yes 2> /dev/null | head -1; echo ${{PIPESTATUS[0]}}"
    assert done(["/bin/bash", "-c", line, sys.executable]).stdout == b"y\n141\n"


def test_a_reader_of_stderr_who_leaves_changes_nothing():
    line = '"$0" -m llmphases run -- sh -c "echo hi" 2>&1 >&3 | true; wait'
    assert done(["sh", "-c", f"exec 3>&1; {line}", sys.executable]).stdout == b"hi\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_and_is_no_success():
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [*RUN, "--", "echo", "hi"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert result.returncode == 1
    assert b"llmphases: cannot write to stdout: No space left on device\n" in result.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors_are_no_fault(closed, tmp_path):
    line = f'"$0" -m llmphases run --save t.jsonl -- sh -c "echo hi; exit 4" {closed}'
    assert done(["sh", "-c", line, sys.executable], cwd=tmp_path).returncode == 4
    assert "hi" not in (tmp_path / "t.jsonl").read_text()


@WITH_AND_WITHOUT
def test_descriptors_that_a_shell_hands_down_reach_it(us):
    """As of `COMMAND <(...)` and `COMMAND 3<file`; of our own none does."""
    program = (
        "fd = int(sys.argv[1]); print(os.read(fd, 9), sorted(map(int, os.listdir('/dev/fd'))))"
    )
    read, write = os.pipe()
    os.write(write, b"for it")
    os.close(write)
    result = done([*us, *tool(program), str(read)], pass_fds=[read])
    os.close(read)
    listing = read + 1 if read == 3 else 3
    assert result.stdout.decode() == f"b'for it' {sorted([0, 1, 2, read, listing])}\n"


def test_what_it_leaves_behind_does_not_hold_us():
    result = done([*RUN, "--", *tool(
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "time.sleep(0.6); out(str(child.pid))"
    )])  # fmt: skip
    pid = int(result.stdout)
    try:
        assert result.returncode == 0
        assert not is_gone(pid)
        assert b"left behind" in result.stderr
    finally:
        os.kill(pid, 9)


# --- what is told -------------------------------------------------------------------------------

SLOW = tool("time.sleep(0.1); out('a'); time.sleep(0.2); out('b'); time.sleep(0.1)")


def test_the_table_says_where_the_time_went():
    for attempt in tries():
        text = done([*RUN, "--name", "boxes", "--", *SLOW]).stderr.decode()
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80
        with attempt:
            assert re.search(r"^boxes   \d+ ms, exit 0$", text, re.MULTILINE)
            for row in ("start-up", "first token", "generation", "exit", "CPU"):
                assert re.search(rf"^  {row} ", text, re.MULTILINE), row
            assert re.search(r"^  fixed : generation ", text, re.MULTILINE)
            assert "This rests on 1 call only." in text


def test_json_is_one_line_with_the_same():
    for attempt in tries():
        result = done([*RUN, "--json", "--", *SLOW])
        assert result.stdout == b"ab"
        (line,) = result.stderr.splitlines()
        told = json.loads(line)
        assert told["exit_code"] == 0
        assert told["alone"]["runs"] == 1
        phases = {name: spread["median"] for name, spread in told["alone"]["phases_s"].items()}
        whole = sum(phases.values()) + told["alone"]["unattributed_s"]["median"]
        assert whole == pytest.approx(told["alone"]["duration_s"]["median"])
        with attempt:
            assert phases.keys() == {"process_startup", "generation", "process_shutdown"}
    assert phases["process_startup"] >= 0.1


def test_the_format_is_told_by_the_command_or_named():
    events = (
        {"type": "system", "subtype": "init"},
        {"type": "result", "usage": {"input_tokens": 7, "output_tokens": 5}},
    )
    program = tool(f"out({chr(10).join(map(json.dumps, events))!r})")
    told = done([*RUN, "--json", "--format", "claude-stream-json", "--", *program]).stderr
    assert json.loads(told)["alone"]["usage"]["output_tokens"] == 5


def test_a_tap_sees_the_requests_of_a_command_that_prints_all_at_once(sse_server):
    script = Script(first_token_s=0.1, gap_s=0.05, tokens=5)
    body = {"model": "m", "messages": [], "stream": True, **script.extra_body()}
    program = tool(
        "import urllib.request\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        f"asked = urllib.request.Request(url, {json.dumps(body).encode()!r})\n"
        "asked.add_header('Content-Type', 'application/json')\n"
        "out(urllib.request.urlopen(asked).read())"
    )
    env = {**os.environ, "OPENAI_BASE_URL": sse_server.base_url}
    for attempt in tries():
        result = done([*RUN, "--json", "--tap", "--", *program], env=env)
        assert result.returncode == 0
        assert result.stdout.endswith(b"data: [DONE]\n\n")
        phases = json.loads(result.stderr)["alone"]["phases_s"]
        with attempt:
            assert phases["time_to_first_token"]["median"] >= 0.1
            assert phases["generation"]["median"] >= 0.1


def test_switched_off_it_is_the_command_and_nothing_else():
    env = {**os.environ, "LLMPHASES_DISABLED": "1"}
    result = done([*RUN, "--", *tool("out(str(os.getpid())); err('e'); sys.exit(3)")], env=env)
    assert (result.returncode, result.stderr) == (3, b"e")
    assert done([*RUN, "--", "no-such-command"], env=env).returncode == 127
    process = subprocess.Popen(
        [*RUN, "--", *tool("out(str(os.getpid()))")], env=env, stdout=subprocess.PIPE
    )
    assert int(process.communicate()[0]) == process.pid


def test_the_help_fits_a_terminal():
    text = done([*RUN, "--help"], env={**os.environ, "COLUMNS": "80"}).stdout.decode()
    assert max(map(len, text.splitlines())) <= 80


# --- where it is told ---------------------------------------------------------------------------


def test_nothing_is_written_that_nobody_asked_for(tmp_path):
    assert done([*RUN, "--", "echo", "hi"], cwd=tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_saved_trace_goes_on_from_ours_and_into_the_childs(tmp_path):
    trace_id = "1" * 32
    env = {**os.environ, "TRACEPARENT": f"00-{trace_id}-{'2' * 16}-01"}
    words = [*RUN, "--save", "t.jsonl", "--", *tool("out(os.environ['TRACEPARENT'])")]
    result = done(words, cwd=tmp_path, env=env)
    spans = [
        span
        for line in (tmp_path / "t.jsonl").read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    assert {span["traceId"] for span in spans} == {trace_id}
    (call,) = (span for span in spans if span.get("parentSpanId") == "2" * 16)
    _, told_id, parent, _ = result.stdout.decode().split("-")
    assert told_id == trace_id
    assert parent in {s["spanId"] for s in spans if s.get("parentSpanId") == call["spanId"]}
    report = done([sys.executable, "-m", "llmphases", "report", "t.jsonl"], cwd=tmp_path)
    assert b"1 call" in report.stdout


def test_without_a_place_for_traces_the_child_gets_what_we_got():
    parent = f"00-{'1' * 32}-{'2' * 16}-01"
    env = {**os.environ, "TRACEPARENT": parent}
    result = done([*RUN, "--", *tool("out(os.environ['TRACEPARENT'])")], env=env)
    assert result.stdout.decode() == parent


def test_the_file_of_the_environment_counts(tmp_path):
    env = {**os.environ, "LLMPHASES_FILE": str(tmp_path / "x.jsonl")}
    done([*RUN, "--", "true"], env=env, cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]
