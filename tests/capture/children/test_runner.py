"""Commands run to their end, by real children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from capture.children.real_children import kill
from capture.children.tools_of_ours import PYTHON, SPLIT, is_gone, phases, tool
from lab.tries import tries
from llmphases import ArgumentError, llm_call, post_processing, run_command, run_command_async
from llmphases.conventions import ENV_DISABLED

RUNS = pytest.mark.parametrize("run", [run_command, run_command_async], ids=["sync", "async"])


async def ran(run, argv, **options):
    """The result of either kind."""
    result = run(argv, **options)
    return result if run is run_command else await result


# --- what goes in and comes out -----------------------------------------------------------------


@RUNS
async def test_a_command_gives_its_output_and_its_exit_code(run, calls):
    result = await ran(run, tool("out('answer'); err('note'); sys.exit(3)"))
    assert (result.stdout, result.stderr, result.returncode) == ("answer", "note", 3)
    assert result.call is calls[0]


@RUNS
async def test_stdin_is_closed_unless_there_is_input(run, calls):
    program = "out(repr(sys.stdin.buffer.read()))"
    assert (await ran(run, tool(program))).stdout == "b''"
    assert (await ran(run, tool(program), input="")).stdout == "b''"
    assert (await ran(run, tool(program), input="hé")).stdout == repr("hé".encode())
    assert (await ran(run, tool(program), input=b"\xff")).stdout == repr(b"\xff")


@RUNS
async def test_input_and_output_of_any_size_do_not_wait_for_each_other(run, calls):
    data = os.urandom(3_000_000)
    program = "all_out(1, sys.stdin.buffer.read()); all_out(2, b'x' * 1_000_000)"
    result = await ran(run, tool(program), input=data, text=False)
    assert result.stdout == data
    assert result.stderr == b"x" * 1_000_000


@RUNS
async def test_a_child_that_never_reads_its_input_is_no_deadlock(run, calls):
    result = await ran(run, tool("out('done')"), input="x" * 5_000_000)
    assert (result.stdout, result.returncode) == ("done", 0)


@RUNS
async def test_megabytes_on_stderr_before_the_first_byte_are_no_deadlock(run, calls):
    """RC-064"""
    program = (
        "all_out(2, b'e' * 5_000_000)\n"
        "for _ in range(3): all_out(1, b'o' * 1_000_000); all_out(2, b'e' * 1_000_000)"
    )
    result = await ran(run, tool(program))
    assert (len(result.stdout), len(result.stderr)) == (3_000_000, 8_000_000)


@RUNS
async def test_characters_that_come_in_pieces_and_bytes_that_are_none(run, calls):
    """RC-070"""
    program = (
        "for byte in '€'.encode(): out(bytes([byte])); time.sleep(0.02)\n"
        "out(b'\\xff\\xfe'); out(b'\\xe2\\x82')"
    )
    assert (await ran(run, tool(program))).stdout == "€\ufffd\ufffd\ufffd"
    raw = (await ran(run, tool(program), text=False)).stdout
    assert raw == "€".encode() + b"\xff\xfe\xe2\x82"


@pytest.mark.slow
def test_text_is_utf_8_whatever_the_locale_and_line_ends_stay(tmp_path):
    """RC-071"""
    child = tool("out(b'\\xe2\\x80\\x9cquoted\\xe2\\x80\\x9d\\r\\n10%\\r20%\\r\\n')")
    program = tmp_path / "program.py"
    program.write_text(
        "import llmphases\n"
        f"result = llmphases.run_command({child!r})\n"
        "expected = '\\u201cquoted\\u201d\\r\\n10%\\r20%\\r\\n'\n"
        "assert result.stdout == expected, ascii(result.stdout)\n"
    )
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, program], env=env, check=True)


def test_another_encoding_where_a_tool_has_one(calls):
    assert run_command(tool("out(b'\\xe4')"), encoding="latin-1").stdout == "ä"


@RUNS
async def test_a_line_of_five_megabytes_is_read_whole(run, calls):
    """RC-065"""
    result = await ran(run, tool("all_out(1, b'{' + b'x' * 5_000_000 + b'}\\n')"))
    assert len(result.stdout) == 5_000_003


def test_it_runs_where_and_as_it_is_told(calls, tmp_path):
    program = "out(os.getcwd() + ' ' + os.environ['A'])"
    result = run_command(tool(program), cwd=tmp_path, env={"A": "1"})
    assert result.stdout == f"{tmp_path} 1"


# --- where it is in the trace -------------------------------------------------------------------


@RUNS
async def test_outside_a_call_it_is_a_call_named_after_its_program(run, exported):
    await ran(run, tool("out('x')"))
    call = exported.calls[0]
    assert call.name == Path(PYTHON).name
    assert call.process.executable == call.name
    assert call.error_type is None
    await ran(run, tool(""), name="boxes", model="m", provider="p")
    call = exported.calls[1]
    assert (call.name, call.request_model, call.provider) == ("boxes", "m", "p")


@RUNS
async def test_inside_a_call_it_is_a_part_of_that(run, exported):
    with llm_call("outer"):
        result = await ran(run, tool("out('x')"))
    (call,) = exported.calls
    assert result.call is None
    assert call.name == "outer"
    assert call.process.exit_code == 0
    assert "inference" in phases(call)


@RUNS
async def test_inside_a_block_it_is_the_blocks(run, exported):
    with llm_call("outer"), post_processing():
        result = await ran(run, tool("out('x')"))
    (call,) = exported.calls
    assert result.stdout == "x"
    assert phases(call) == {"post_processing"}
    assert call.process is None


@RUNS
async def test_a_child_finds_the_span_of_its_start_in_its_environment(run, exported, monkeypatch):
    """RC-037: with a stale one in ours, with an environment of its own, and inside a call."""
    monkeypatch.setenv("TRACEPARENT", "00-" + "1" * 32 + "-" + "2" * 16 + "-01")
    program = tool("out(os.environ['TRACEPARENT'])")
    before = dict(os.environ)
    told = [(await ran(run, program)).stdout, (await ran(run, program, env={"A": "1"})).stdout]
    with llm_call("outer"):
        told.append((await ran(run, program)).stdout)
    spans = exported.named("inference")
    for text, span in zip(told, spans, strict=True):
        _, trace_id, span_id, _ = text.split("-")
        assert int(trace_id, 16) == span.context.trace_id
        assert int(span_id, 16) == span.context.span_id
    assert dict(os.environ) == before


@RUNS
async def test_switched_off_it_runs_and_leaves_nothing(run, exported, monkeypatch):
    monkeypatch.setenv(ENV_DISABLED, "1")
    result = await ran(run, tool("out(os.environ.get('TRACEPARENT', 'none'))"))
    assert (result.stdout, result.call, result.process) == ("none", None, None)
    assert exported.spans == []


# --- failures -----------------------------------------------------------------------------------


@RUNS
async def test_an_exit_code_is_an_error_of_the_call_and_raises_nothing(run, exported):
    """RC-074"""
    for attempt in tries():
        exported.forget()
        result = await ran(run, tool("out('a'); time.sleep(0.2); out('b'); sys.exit(3)"))
        assert (result.stdout, result.returncode) == ("ab", 3)
        assert result.call.error_type == "3"
        with attempt:
            assert result.call.first_token_ns is not None
    assert exported.one("process_startup").attributes["error.type"] == "3"


@RUNS
async def test_a_signal_is_named(run, exported):
    """RC-074"""
    program = "out('a'); time.sleep(0.2); out('b'); os.kill(os.getpid(), signal.SIGKILL)"
    for attempt in tries():
        exported.forget()
        result = await ran(run, tool(program))
        assert (result.stdout, result.returncode) == ("ab", -9)
        assert result.call.error_type == "SIGKILL"
        with attempt:
            assert result.call.first_token_ns is not None
    assert exported.one("process_startup").attributes["error.type"] == "SIGKILL"


@RUNS
async def test_an_exit_code_raises_if_that_is_asked_for(run, exported):
    with pytest.raises(subprocess.CalledProcessError) as raised:
        await ran(run, tool("out('a'); err('b'); sys.exit(3)"), check=True)
    assert (raised.value.returncode, raised.value.stdout, raised.value.stderr) == (3, "a", "b")
    assert exported.calls[0].error_type == "CalledProcessError"


@RUNS
async def test_what_cannot_be_started_raises_what_subprocess_raises(run, exported, tmp_path):
    """RC-074"""
    plain = tmp_path / "plain"
    plain.write_text("")
    faults = [
        ([str(tmp_path / "absent")], {}, FileNotFoundError),
        ([str(plain)], {}, PermissionError),
        ([str(plain / "in")], {}, NotADirectoryError),
        (tool(""), {"cwd": tmp_path / "absent"}, FileNotFoundError),
        (["a\0b"], {}, ValueError),
    ]
    for argv, options, kind in faults:
        with pytest.raises(kind) as ours:
            await ran(run, argv, **options)
        with pytest.raises(kind) as theirs:
            subprocess.run(argv, **options, check=False)
        assert str(ours.value) == str(theirs.value)
        assert exported.calls[-1].error_type == kind.__name__
        assert exported.named("process_startup")[-1].attributes["error.type"] == "spawn failed"
    assert len(exported.calls) == len(faults)


@RUNS
async def test_a_time_out_ends_the_child_and_gives_what_there_was(run, exported):
    program = "out('a'); time.sleep(0.15); out('b'); err(str(os.getpid())); time.sleep(60)"
    for attempt in tries():
        exported.forget()
        timeout = attempt.longer(0.8)
        with pytest.raises(subprocess.TimeoutExpired) as raised:
            await ran(run, tool(program), timeout=timeout)
        assert raised.value.timeout == timeout
        assert exported.calls[0].error_type == "TimeoutExpired"
        assert exported.points()["llmphases.timeouts"][0].value == attempt.number + 1
        with attempt:
            assert raised.value.stdout == "ab"
            assert raised.value.stderr
            assert exported.calls[0].first_token_ns is not None
    assert is_gone(int(raised.value.stderr))
    assert exported.one("process_startup").attributes["error.type"] == "timeout"


@RUNS
async def test_a_child_that_does_not_want_to_end_is_killed(run, calls):
    program = "signal.signal(signal.SIGTERM, signal.SIG_IGN); out(str(os.getpid())); time.sleep(60)"
    for attempt in tries():
        with pytest.raises(subprocess.TimeoutExpired) as raised:
            await ran(run, tool(program), timeout=attempt.longer(0.3), grace=0.1)
        with attempt:  # it has come so far as to say so
            assert raised.value.stdout
    assert is_gone(int(raised.value.stdout))
    assert calls[-1].process.exit_code == -9


# --- survivors ----------------------------------------------------------------------------------


def comes_true(condition):
    """Whether it does, within a minute."""
    waits = threading.Event()
    for _ in range(1200):
        if condition():
            return True
        waits.wait(0.05)
    return False


ORPHAN = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
time.sleep(0.6)
out(str(child.pid))
"""


@RUNS
async def test_a_descendant_that_holds_the_pipe_does_not_hold_us(run, calls):
    """RC-067: it is counted, and lives on."""
    for attempt in tries():
        result = await ran(run, tool(ORPHAN))
        pid = int(result.stdout)
        assert not is_gone(pid)
        os.kill(pid, 9)
        with attempt:  # it was looked at while it had its parent
            assert result.process.survivors == 1


def test_survivors_are_killed_if_that_is_asked_for(calls):
    """RC-067: also those that ignore SIGTERM."""
    for attempt in tries():
        result = run_command(tool(ORPHAN), kill_survivors=True)
        pid = int(result.stdout)
        if not result.process.survivors:
            os.kill(pid, 9)
        with attempt:
            assert result.process.survivors == 1
    assert comes_true(lambda: is_gone(pid))


def test_a_time_out_tells_what_it_left(calls):
    program = tool(ORPHAN + "\ntime.sleep(60)")
    for attempt in tries():
        with pytest.raises(subprocess.TimeoutExpired) as raised:
            run_command(program, timeout=attempt.longer(1.2))
        if raised.value.stdout:
            os.kill(int(raised.value.stdout), 9)
        with attempt:
            assert raised.value.stdout
            assert calls[-1].process.survivors == 1


def test_all_that_a_child_wrote_before_its_exit_is_read_although_another_holds_the_pipe(calls):
    program = (
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(2)'])\n"
        "all_out(1, b'x' * 60_000); os._exit(0)"
    )
    assert len(run_command(tool(program)).stdout) == 60_000


# --- many ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_five_hundred_short_children_in_eight_threads(calls):
    """RC-073: every exit code is right."""
    codes = []

    def many(number):
        for i in range(number, 500, 8):
            result = run_command(["sh", "-c", f"exit {i % 7}"])
            codes.append((result.returncode, i % 7))

    threads = [threading.Thread(target=many, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(codes) == len(calls) == 500
    assert all(got == expected for got, expected in codes)


def test_no_descriptor_is_left_open(calls, tmp_path):
    def count():
        return len(list(Path("/proc/self/fd").iterdir()))

    run_command(["true"])
    before = count()
    for _ in range(5):
        run_command(["true"], input="x")
        with pytest.raises(FileNotFoundError):
            run_command([str(tmp_path / "absent")], input="x")
        with pytest.raises(subprocess.TimeoutExpired):
            run_command(["sleep", "9"], timeout=0.02)
    assert comes_true(lambda: count() <= before)


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "options", "message"),
    [
        ("ls -l", {}, r'\["sh", "-c", line\]'),
        ([], {}, "the program first"),
        (["ls", 3], {}, "list of words"),
        (["ls"], {"shell": True}, "no option 'shell'"),
        (["ls"], {"input": 3}, "input is a int"),
        (["ls"], {"timeout": "3"}, "expected seconds"),
        (["ls"], {"encoding": "nonsense"}, "encoding='nonsense'"),
        (["ls"], {"format": "nonsense"}, "Known: .*claude-json"),
        (["ls"], {"name": 3}, "name=3"),
    ],
)
def test_a_mistake_is_told_before_anything_runs(argv, options, message, calls):
    with pytest.raises(ArgumentError, match=message):
        run_command(argv, **options)
    assert calls == []


# --- interrupts ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_interrupt_ends_the_child_and_goes_on(tmp_path):
    """Only the program itself gets the signal here, not its child."""
    note = tmp_path / "pid"
    child = tool(f"open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    program = (
        "from llmphases import run_command\n"
        "from llmphases.testing import recorded\n"
        "with recorded() as kept:\n"
        "    try:\n"
        f"        run_command({child!r})\n"
        "    except KeyboardInterrupt:\n"
        "        print(kept.calls[0].error_type, kept.calls[0].ended)\n"
    )
    for attempt in tries(3):
        note.unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert comes_true(lambda: note.exists() and note.read_text())
        pid = int(note.read_text())
        assert process.poll() is None
        time.sleep(attempt.longer(0.1))  # before it waits, the child is not yet its to end
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0].split() == ["KeyboardInterrupt", "interrupted"]
        with attempt:
            assert is_gone(pid)
        kill(pid)


# --- other systems ------------------------------------------------------------------------------


@RUNS
async def test_without_pidfds_a_thread_waits_for_the_exit(run, calls, monkeypatch):
    """As on macOS, on old kernels, and where no descriptors are left."""

    def refuse(pid):
        raise OSError("not here")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    program = "out('a'); time.sleep(0.2); out('b'); sys.exit(3)"
    for attempt in tries():
        result = await ran(run, tool(program))
        assert (result.stdout, result.returncode) == ("ab", 3)
        assert result.process.cpu_ns > 0
        with attempt:
            assert phases(result.call) == SPLIT
    with pytest.raises(subprocess.TimeoutExpired):
        await ran(run, tool("time.sleep(60)"), timeout=0.3)


@pytest.mark.slow
def test_a_child_that_somebody_else_reaps_has_code_0_as_in_subprocess(calls):
    """RC-073: where SIGCHLD is ignored, the system reaps."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = run_command(tool("out('a'); sys.exit(3)"))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (result.stdout, result.returncode) == ("a", 0)
