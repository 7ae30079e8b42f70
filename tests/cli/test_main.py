from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import llmphases
from llmphases.cli.main import COMMANDS, main
from sources.trace_lines import box_call, line_of


def python(*arguments, **more):
    """A true process, as people start it."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, **more
    )


@pytest.fixture
def story(tmp_path):
    file = tmp_path / "story.jsonl"
    file.write_text(line_of(*box_call().spans()))
    return file


def test_without_a_command_the_help_is_a_complaint(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "usage: llmphases" in err


def test_the_version_is_the_package_s(capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["--version"])
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f"llmphases {llmphases.__version__}\n"


def test_help_names_every_command_and_shows_examples(capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["--help"])
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    assert "examples:" in out
    for name, purpose in COMMANDS.items():
        assert name in out
        assert purpose.split()[0] in out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command, capsys):
    with pytest.raises(SystemExit) as leaving:
        main([command, "--help"])
    assert leaving.value.code == 0
    assert f"llmphases {command}" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["repot"], ["report", "--jsn"], ["--jsn"]])
def test_wrong_usage_is_exit_2_and_says_what_there_is(wrong, capsys):
    with pytest.raises(SystemExit) as leaving:
        main(wrong)
    assert leaving.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_a_wrong_option_of_a_command_shows_what_that_command_takes(capsys):
    with pytest.raises(SystemExit):
        main(["report", "--foo"])
    err = capsys.readouterr().err
    assert err.startswith("usage: llmphases report ")
    assert "--foo" in err


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_disk_is_one_line(more, story):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "llmphases", "report", *more, str(story)],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "llmphases: cannot write to stdout: No space left on device\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_closed_stdout_is_one_line(story):
    command = '"$1" -m llmphases report "$2" >&-'
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, str(story)],
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "llmphases: cannot write: stdout is closed\n"


def test_a_source_that_cannot_be_read_is_exit_2_in_one_line(capsys):
    assert main(["report", "/no/such/file"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("llmphases: cannot read /no/such/file: ")
    assert err.count("\n") == 1


@pytest.mark.slow
def test_the_module_is_the_command(story):
    done = python("-m", "llmphases", "report", str(story))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("place_boxes   1 call")


@pytest.mark.slow
def test_a_reader_who_leaves_early_is_no_fault(tmp_path):
    """`llmphases report --json | head -1`, with more to write than a pipe holds."""
    file = tmp_path / "many.jsonl"
    with file.open("w") as lines:
        for number in range(200):
            call = box_call()
            call.name = f"call {number}"
            lines.write(line_of(call.spans()[0]))
    command = [sys.executable, "-m", "llmphases", "report", "--json", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"{\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


class InterruptedInput:
    """Standard input while somebody presses Control-C."""

    name = "<stdin>"

    @property
    def buffer(self):
        return self

    def __iter__(self):
        raise KeyboardInterrupt


def test_control_c_is_exit_130_without_a_word(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", InterruptedInput())
    assert main(["report", "-"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_the_version_is_said_without_loading_what_a_report_needs():
    script = (
        "import sys\n"
        "from llmphases.cli.main import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}\n"
        "      & {'rich', 'msgspec', 'opentelemetry', 'psutil', 'wrapt', 'asyncio'}))\n"
    )
    assert python("-c", script).stdout.splitlines()[1:] == [""]
