"""What is to be started, as the arguments of `Popen` say."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmphases import llm_call
from llmphases.capture.attempts import Attempts
from llmphases.capture.children.spawning import program_of, spawn_here
from llmphases.capture.current import frame_here, recorder_of, wired
from llmphases.observers import Frame


@pytest.mark.parametrize(
    ("args", "options", "command", "executable"),
    [
        (["/usr/bin/llm", "hello"], {}, ["/usr/bin/llm", "hello"], "llm"),
        (("llm",), {}, ("llm",), "llm"),
        ("llm", {}, ["llm"], "llm"),
        (b"/bin/llm", {}, [b"/bin/llm"], "llm"),
        (Path("/bin/llm"), {}, [Path("/bin/llm")], "llm"),
        ("llm hello | cat", {"shell": True}, "llm hello | cat", "sh"),
        (["llm $0", "hello"], {"shell": True}, "llm $0", "sh"),
        ("llm", {"shell": True, "executable": "/bin/bash"}, "llm", "bash"),
        (["llm"], {"executable": "/opt/other"}, ["llm"], "other"),
        ([], {}, [], None),
        (None, {}, [], None),
        ([3], {}, [3], None),
        ("/", {}, ["/"], "/"),
    ],
)
def test_the_program_and_its_name(args, options, command, executable):
    program = program_of(args, **{"shell": False, **options})
    assert (program.command, program.executable) == (command, executable)


def test_an_iterator_is_left_for_popen_to_read():
    words = iter(["llm", "hello"])
    assert program_of(words, shell=False).command == []
    assert list(words) == ["llm", "hello"]


@pytest.mark.parametrize("is_block", [False, True])
def test_what_an_sdk_starts_within_its_method_is_part_of_its_request(calls, is_block):
    with llm_call("mine"):
        carrier, call = wired().carrier, recorder_of(frame_here())
        exchange = Attempts(call, None, is_one=is_block)
        inside = carrier.enter(carrier.variable.get(), Frame(call=call, exchange=exchange))
        token = carrier.variable.set(inside)
        spawn = spawn_here(lambda: program_of(["uname", "-p"], shell=False))
        carrier.variable.reset(token)
        assert (spawn is not None) == is_block  # what the program starts in its block is its own


def test_outside_a_call_there_is_nothing_to_do(calls):
    assert spawn_here(lambda: pytest.fail("nobody asks")) is None
