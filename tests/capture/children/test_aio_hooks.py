"""Children that a program starts by asyncio inside a traced call."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import PIPE

import pytest

from capture.children.tools_of_ours import SPLIT_OR_NOT, phases, tool
from llmphases import llm_call
from llmphases.capture.children.hooks import hooks

pytestmark = pytest.mark.usefixtures("hooked")
STREAMING = "time.sleep(0.05); out('a'); time.sleep(0.1); out('b'); time.sleep(0.05)"


async def test_each_call_of_a_gather_has_its_own_child(calls):
    async def ask(number):
        with llm_call("ask"):
            process = await asyncio.create_subprocess_exec(
                *tool(f"{STREAMING}; sys.exit({number})"), stdout=PIPE
            )
            return await process.communicate()

    assert await asyncio.gather(*(ask(i) for i in range(4))) == [(b"ab", None)] * 4
    assert sorted(call.process.exit_code for call in calls) == [0, 1, 2, 3]
    for call in calls:
        # On a busy machine the loop is late for one child while it serves another: then the
        # arrival is unknown, and so is the first token.
        assert phases(call) in SPLIT_OR_NOT
    assert not hooks._children


async def test_the_loop_is_left_as_it_was(calls):
    selector = asyncio.get_running_loop()._selector
    with llm_call("ask"):
        process = await asyncio.create_subprocess_exec(*tool("out('x')"), stdout=PIPE)
        assert "select" in selector.__dict__
        await process.communicate()
    assert "select" not in selector.__dict__


async def test_a_line_for_the_shell(calls):
    with llm_call("ask"):
        process = await asyncio.create_subprocess_shell("echo x; exit 3", stdout=PIPE, stderr=PIPE)
        assert await process.communicate() == (b"x\n", b"")
    assert calls[0].process.exit_code == 3
    assert calls[0].process.executable == "sh"


async def test_a_protocol_of_the_programs_own_hears_the_same(calls):
    heard = []

    class Protocol(asyncio.SubprocessProtocol):
        def __init__(self):
            self.over = asyncio.get_running_loop().create_future()

        def pipe_data_received(self, fd, data):
            heard.append((fd, data))

        def pipe_connection_lost(self, fd, exc):
            heard.append((fd, exc))

        def connection_lost(self, exc):
            self.over.set_result(None)

    with llm_call("ask"):
        loop = asyncio.get_running_loop()
        program = tool("out('x'); time.sleep(0.05); err('y')")
        transport, protocol = await loop.subprocess_exec(Protocol, *program)
        await protocol.over
        transport.close()
    assert sorted(piece for piece in heard if piece[1]) == [(1, b"x"), (2, b"y")]
    assert sorted(fd for fd, end in heard if end is None) == [0, 1, 2]
    assert transport.get_returncode() == calls[0].process.exit_code == 0


async def test_a_cancelled_task_kills_its_child_as_ever(calls):
    async def ask():
        with llm_call("ask"):
            process = await asyncio.create_subprocess_exec(*tool("time.sleep(60)"), stdout=PIPE)
            started.set()
            try:
                await process.communicate()
            finally:
                process.kill()
                await process.wait()

    started = asyncio.Event()
    task = asyncio.create_task(ask())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calls[0].process.exit_code == -signal.SIGKILL
    assert not hooks._children


async def test_what_cannot_be_started_fails_as_ever(calls):
    with pytest.raises(FileNotFoundError), llm_call("ask"):
        await asyncio.create_subprocess_exec("/nowhere/to/be/found")
    assert calls[0].error_type == "FileNotFoundError"
    assert not hooks._children


async def test_outside_a_call_a_child_is_not_touched(calls):
    process = await asyncio.create_subprocess_exec(*tool("out('x')"), stdout=PIPE)
    assert not hooks._children
    assert await process.communicate() == (b"x", None)
