"""Children that a program starts on uvloop's loops inside a traced call."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import pytest
import uvloop

from capture.children.tools_of_ours import tool
from llmphases import llm_call, post_processing
from llmphases.capture import current
from llmphases.capture.children import instrumentation
from llmphases.capture.children.hooks import hooks

pytestmark = pytest.mark.usefixtures("hooked")
UNKNOWN = ({"inference"}, {"inference", "process_shutdown"})
STREAMING = "time.sleep(0.05); out('a'); time.sleep(0.1); out('b'); time.sleep(0.05)"


async def ask(program, **options):
    """What a program on uvloop gets of a tool."""
    with llm_call("ask"):
        process = await asyncio.create_subprocess_exec(*tool(program), stdout=PIPE, **options)
        return await process.communicate(), process.returncode


def names(call):
    return {phase.value for phase in call.exclusive_ns}


def test_a_program_gets_the_same_and_the_call_tells_what_is_known(exported):
    got = uvloop.run(ask(f"{STREAMING}; err('note'); sys.exit(3)", stderr=PIPE))
    assert got == ((b"ab", b"note"), 3)
    (call,) = exported.calls
    # When its output came nobody knows, so nothing is said of the first token.
    assert names(call) in UNKNOWN
    assert call.first_token_ns is None
    assert (call.process.exit_code, call.process.executable) == (
        3,
        Path(sys.executable).name,
    )
    assert 200_000_000 < call.process.wall_ns <= call.duration_ns
    assert exported.one("inference").attributes["error.type"] == "3"
    assert not hooks._children


def test_a_child_is_told_where_in_the_trace_it_is(exported):
    given = {**os.environ, "MINE": "1"}
    show = "out(os.environ.get('MINE', '0') + os.environ.get('TRACEPARENT', 'none')[:3])"
    assert uvloop.run(ask(show))[0][0] == b"000-"
    assert uvloop.run(ask(show, env=given))[0][0] == b"100-"
    assert "TRACEPARENT" not in given
    instrumentation.install(propagate=False)
    assert uvloop.run(ask(show))[0][0] == b"0non"


def test_what_it_says_is_read_in_its_format(calls, tmp_path):
    program = tmp_path / "claude"
    said = '{"type":"result","duration_ms":5,"usage":{"input_tokens":7,"output_tokens":3}}'
    program.write_text(f"#!{sys.executable} -S\nprint('''{said}''')\n")
    program.chmod(0o755)

    async def main():
        with llm_call("ask"):
            process = await asyncio.create_subprocess_shell(
                f"{program} -p hello --output-format json", stdout=PIPE
            )
            return (await process.communicate())[0]

    assert uvloop.run(main()).decode() == said + "\n"
    assert (calls[0].usage.input_tokens, calls[0].usage.output_tokens) == (7, 3)
    assert calls[0].process.executable == "sh"


def test_many_at_once_and_without_pipes(calls):
    async def one(number):
        with llm_call("ask"):
            process = await asyncio.create_subprocess_exec(
                "sh", "-c", f"exit {number % 5}", stdout=DEVNULL, stderr=DEVNULL
            )
            return await process.wait()

    async def main():
        return await asyncio.gather(*map(one, range(50)))

    assert uvloop.run(main()) == [number % 5 for number in range(50)]
    assert sorted(call.process.exit_code for call in calls) == sorted(n % 5 for n in range(50))
    assert not hooks._children


def test_a_protocol_of_the_programs_own_hears_the_same(calls):
    heard = []

    class Protocol(asyncio.SubprocessProtocol):
        def __init__(self):
            self.over = asyncio.get_running_loop().create_future()

        def pipe_data_received(self, fd, data):
            heard.append((fd, data))

        def process_exited(self):
            heard.append("exited")

        def connection_lost(self, exc):
            self.over.set_result(None)

    async def main():
        with llm_call("ask"):
            loop = asyncio.get_running_loop()
            transport, protocol = await loop.subprocess_exec(Protocol, *tool("out('x')"))
            assert type(protocol) is Protocol
            await protocol.over
            return transport.get_returncode()

    assert uvloop.run(main()) == calls[0].process.exit_code == 0
    assert set(heard) == {(1, b"x"), "exited"}


def test_a_protocol_that_takes_no_attributes_is_left_alone(calls, caplog):
    class Protocol(asyncio.SubprocessProtocol):
        __slots__ = ("over",)

        def connection_lost(self, exc):
            self.over.set_result(None)

        def __init__(self):
            self.over = asyncio.get_running_loop().create_future()

    async def main():
        with llm_call("ask"):
            loop = asyncio.get_running_loop()
            _, protocol = await loop.subprocess_exec(Protocol, *tool("sys.exit(3)"))
            await protocol.over

    uvloop.run(main())
    assert names(calls[0]) in UNKNOWN
    assert caplog.messages == []
    assert not hooks._children


def test_what_cannot_be_started_fails_as_ever(exported):
    async def main():
        with llm_call("ask"):
            await asyncio.create_subprocess_exec("/nowhere/to/be/found")

    with pytest.raises(FileNotFoundError):
        uvloop.run(main())
    assert exported.calls[0].error_type == "FileNotFoundError"
    assert exported.one("process_startup").attributes["error.type"] == "spawn failed"


def test_a_cancelled_task_leaves_a_call_with_its_child(calls):
    async def main():
        with llm_call("ask"):
            process = await asyncio.create_subprocess_exec(*tool("time.sleep(60)"), stdout=PIPE)
            try:
                await asyncio.wait_for(process.communicate(), 0.2)
            except TimeoutError:
                process.kill()
                await process.wait()

    uvloop.run(main())
    assert calls[0].process.exit_code == -9
    assert not hooks._children


def test_outside_a_call_and_in_a_block_a_child_is_not_touched(calls):
    async def main():
        process = await asyncio.create_subprocess_exec(*tool("out('x')"), stdout=PIPE)
        assert "pipe_data_received" not in vars(process._protocol)
        assert await process.communicate() == (b"x", None)
        with llm_call("ask"), post_processing():
            process = await asyncio.create_subprocess_exec(*tool("out('x')"), stdout=PIPE)
            assert await process.communicate() == (b"x", None)

    uvloop.run(main())
    assert calls[0].process is None


def test_off_leaves_nothing_behind():
    current.wired()  # the hooks come before the first call
    instrumentation.install()
    hooked = uvloop.Loop.subprocess_exec
    instrumentation.uninstall()
    assert uvloop.Loop.subprocess_exec is not hooked
    assert uvloop.Loop.subprocess_exec is uvloop.loop.Loop.subprocess_exec
    instrumentation.install()


@pytest.mark.slow
@pytest.mark.parametrize("first", ["uvloop", "llmphases"])
def test_it_does_not_matter_what_is_imported_first(first):
    program = f"""
import {first}
import llmphases
llmphases.instrument()
import asyncio, uvloop
from llmphases.testing import recorded

async def main():
    with llmphases.llm_call("ask"):
        process = await asyncio.create_subprocess_exec("true")
        await process.wait()

with recorded() as kept:
    uvloop.run(main())
print(kept.calls[0].process.exit_code)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"0\n", b"")
