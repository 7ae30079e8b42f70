"""The demonstration as people run it: real children, measured times, and nothing left behind."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from lab.otlp_receiver import OtlpReceiver
from llmphases.cli.main import main
from llmphases.sources.otlp_file import OtlpFiles
from sources.trace_lines import box_call, line_of

SMALL_DEMO = Path(__file__).with_name("small_demo.py")
SEGMENTS = 24
FIXED_S = 0.15
"""What the stand-in tool sleeps before it answers, in small_demo.py."""
LONG_AGO_S = -1e9

Demo = Callable[..., "subprocess.CompletedProcess[str]"]


def surroundings(folder: Path, **variables: str) -> dict[str, str]:
    """An environment that says nothing of OpenTelemetry, with a folder for temporary files."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "LLMPHASES_"))}
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    return plain | {"TMPDIR": str(temporary), "COLUMNS": "80"} | variables


def demo(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The small demonstration, in this folder."""
    return subprocess.run(
        [sys.executable, str(SMALL_DEMO), *arguments], env=surroundings(folder, **variables),
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture(scope="module")
def printed(tmp_path_factory: Any) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("printed")
    return folder, demo(folder)


@pytest.fixture(scope="module")
def told(tmp_path_factory: Any) -> tuple[Path, Any]:
    """What `--json` says, with a file that holds an earlier run."""
    folder = tmp_path_factory.mktemp("told")
    saved = folder / "demo.jsonl"
    saved.write_text(line_of(*box_call(LONG_AGO_S).spans(), process="an earlier run"))
    done = demo(folder, "--json", "--save", "./demo.jsonl")
    assert done.returncode == 0, done.stderr
    return saved, json.loads(done.stdout)


# --- what it shows -------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_story_comes_with_a_picture_a_table_and_what_to_do_next(printed: Any) -> None:
    folder, done = printed
    assert done.returncode == 0, done.stderr
    lines = done.stdout.replace(str(folder), "").splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(re.fullmatch(r" +[░▒█x|-][░▒█x| -]*", line) is not None for line in lines) >= 3
    assert any("each call pays" in line for line in lines)
    assert "llmphases report" in done.stdout
    for title in ("one call for everything", "12 calls, 4 at a time", "4 calls, all at once"):
        assert sum(line.startswith(title) for line in lines) == 2


@pytest.mark.slow
def test_without_a_terminal_progress_is_plain_lines_and_there_are_no_colours(printed: Any) -> None:
    _, done = printed
    assert re.fullmatch(r"(.+ \.\.\.\n.+: 24 of 24 segments, \d+\.\d s\n){3}", done.stderr)
    assert "\x1b" not in done.stdout


@pytest.mark.slow
def test_the_traces_are_in_a_temporary_file_that_is_named(printed: Any) -> None:
    folder, done = printed
    (kept,) = (folder / "tmp").iterdir()
    assert f"\n  {kept}\n" in done.stdout
    assert len(OtlpFiles([kept]).read().calls) == 17
    assert [path.name for path in folder.iterdir()] == ["tmp"]


@pytest.mark.slow
def test_json_holds_what_was_measured_in_each_way(told: Any) -> None:
    _, said = told
    ways = {way["name"]: way for way in said["ways"]}
    assert {name: (way["calls"], way["workers"], way["waves"]) for name, way in ways.items()} == {
        "one_call": (1, 1, 1),
        "many_calls": (12, 4, 3),
        "one_wave": (4, 4, 1),
    }
    for way in ways.values():
        # However busy the machine is, a child never sleeps less than it was told to.
        assert way["fixed_s"] >= FIXED_S * way["calls"]
        assert way["took_s"] > 0
        assert way["fixed_share"] == pytest.approx(
            way["fixed_s"] / (way["fixed_s"] + way["generation_s"])
        )
        assert way["unsplit_s"] == 0


@pytest.mark.slow
def test_a_file_that_is_named_is_added_to_and_only_this_run_is_shown(told: Any) -> None:
    saved, said = told
    assert said["file"] == "demo.jsonl"
    assert said["report"]["calls"] == 17
    assert {group["name"] for group in said["report"]["groups"]} == {
        "one_call",
        "many_calls",
        "one_wave",
    }
    assert len(OtlpFiles([saved]).read().calls) == 18
    assert sum(call.units or 0 for call in OtlpFiles([saved]).read().calls) == 3 * SEGMENTS


@pytest.mark.slow
def test_the_calls_of_a_file_say_how_their_child_started(told: Any) -> None:
    saved, _ = told
    calls = [call for call in OtlpFiles([saved]).read().calls if call.job is not None]
    assert {call.job for call in calls} == {"one_call_job", "many_calls_job", "one_wave_job"}
    assert {call.first_token_rule for call in calls} == {"init_event"}
    assert {call.error_type for call in calls} == {None}


@pytest.mark.slow
def test_on_a_terminal_there_are_colours_and_a_live_line(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, str(SMALL_DEMO)], env=surroundings(tmp_path, TERM="xterm"), cwd=tmp_path,
        stdin=theirs, stdout=theirs, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how Linux says that the other end is closed
            while piece := os.read(ours, 65536):
                shown += piece
    os.close(ours)
    text = shown.decode()
    assert process.returncode == 0, text
    assert "\x1b[31m" in text
    assert "\rone call for everything " in text
    assert re.search(r"24 of 24 segments +\d+\.\d s\r\n", text)


# --- where it goes -------------------------------------------------------------------------------
@pytest.mark.slow
def test_an_endpoint_of_the_environment_gets_the_traces_as_well(tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        done = demo(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url)
        names = [span.name for span in receiver.wait_for_spans(17)]
        points = receiver.points
    assert done.returncode == 0, done.stderr
    assert (names.count("many_calls"), names.count("one_wave_job")) == (12, 1)
    assert f"\n  {receiver.url}/v1/traces\n" in done.stdout
    assert points == []  # a plain Jaeger would complain


@pytest.mark.slow
def test_an_endpoint_for_metrics_gets_these_and_no_other_does(tmp_path: Path) -> None:
    with OtlpReceiver() as traces, OtlpReceiver() as metrics:
        demo(
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=traces.url,
            OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"{metrics.url}/v1/metrics",
        )
        assert len(traces.wait_for_spans(17)) >= 17
        assert traces.points == []
        assert {point.name for point in metrics.points} > {"llmphases.phase.duration"}


@pytest.mark.slow
def test_an_endpoint_that_takes_nothing_is_not_said_to_have_it(tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        nobody = receiver.url
    done = demo(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=nobody)
    assert done.returncode == 0, done.stderr
    assert "could not be delivered" in done.stderr
    assert "/v1/traces\n" not in done.stdout.partition("by sending the file")[0]


# --- what may go wrong ---------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to us alone", "as a terminal does"])
def test_control_c_ends_the_children_and_leaves_nothing(send: Any, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "llmphases", "demo", "--scale", "1"], text=True, cwd=tmp_path,
        env=surroundings(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert process.stderr.readline() == "one call for everything ...\n"
        children = _children(process.pid)
        send(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(r"one call for everything: 0 of 156 segments, \d+\.\d s\n", err)
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert list((tmp_path / "tmp").iterdir()) == []


def _children(pid: int) -> list[psutil.Process]:
    """The children, as soon as there is one."""
    process = psutil.Process(pid)
    while process.is_running():
        found = process.children(recursive=True)
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it has ended before its first child")


@pytest.mark.slow
def test_a_tool_that_fails_is_one_line(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from llmphases.cli import demo_story\n"
        "from llmphases.cli.main import main\n"
        "failing = [sys.executable, '-c', 'import sys; sys.exit(\"no model here\")']\n"
        "demo_story.command = lambda scale: failing\n"
        "sys.exit(main(['demo']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=surroundings(tmp_path), cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last == "llmphases: the stand-in tool has failed (exit code 1): no model here"
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [{"LLMPHASES_DISABLED": "1"}, {"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}],
    ids=lambda variables: next(iter(variables)),
)
def test_where_nothing_is_recorded_there_is_nothing_to_show(
    variables: dict[str, str], tmp_path: Path
) -> None:
    done = demo(tmp_path, **variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert next(iter(variables)) in done.stderr
    assert "unset it" in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_help_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    out = capsys.readouterr().out
    assert "examples:" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("scale", ["0", "0.5", "1000", "nan", "fast"])
def test_a_scale_that_shows_nothing_is_wrong_usage(
    scale: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["demo", "--scale", scale])
    assert leaving.value.code == 2
    assert "expected a number from 1 to 100" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--save", str(tmp_path / "no" / "demo.jsonl")]) == 2
    assert "its directory does not exist" in capsys.readouterr().err
