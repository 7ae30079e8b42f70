"""Output of commands as it comes, by real children."""

from __future__ import annotations

import asyncio
import gc
import resource
import subprocess
import threading
from pathlib import Path

import pytest

from capture.children.tools_of_ours import SPLIT, is_gone, phases, tool
from lab.tries import tries
from llmphases import Ended, llm_call, run_command_async, stream_command, stream_command_async

KINDS = pytest.mark.parametrize(
    "stream", [stream_command, stream_command_async], ids=["sync", "async"]
)
COUNTS = "for i in range(3): out(str(i)); time.sleep(0.1)"
ENDLESS = "out(str(os.getpid()) + '\\n')\nwhile True: out('x'); time.sleep(0.02)"


async def pieces(stream):
    """All pieces of either kind."""
    if hasattr(stream, "__next__"):
        return list(stream)
    return [piece async for piece in stream]


async def first(stream):
    """The next piece of either kind."""
    return next(stream) if hasattr(stream, "__next__") else await anext(stream)


async def closed(stream):
    """Ends either kind."""
    if hasattr(stream, "close"):
        stream.close()
    else:
        await stream.aclose()


async def wait_until(condition):
    for _ in range(1200):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come to that")


@KINDS
async def test_pieces_come_as_they_are_written(stream, calls):
    for attempt in tries():
        running = stream(tool(COUNTS + "\nerr('note')"))
        got = await pieces(running)
        assert "".join(got) == "012"
        assert (running.returncode, running.stderr) == (0, "note")
        assert running.call is calls[-1]
        assert running.call.ended is Ended.EXHAUSTED
        assert running.process.exit_code == 0
        with attempt:
            assert got == ["0", "1", "2"]
            assert phases(running.call) == SPLIT


@KINDS
async def test_a_character_is_one_piece_however_it_was_written(stream, calls):
    """RC-070"""
    program = "for byte in '€'.encode(): out(bytes([byte])); time.sleep(0.05)\nout(b'\\xe2')"
    assert "".join(await pieces(stream(tool(program)))) == "€\ufffd"
    raw = await pieces(stream(tool(program), text=False))
    assert b"".join(raw) == "€".encode() + b"\xe2"


@KINDS
async def test_never_advanced_it_is_no_child_and_no_call(stream, calls):
    running = stream(tool("out('x')"))
    assert running.returncode is None
    await closed(running)
    assert await pieces(running) == []
    assert calls == []


@KINDS
async def test_closing_it_ends_the_child_and_is_no_error(stream, exported):
    running = stream(tool(ENDLESS))
    pid = int((await first(running)).split()[0])
    await closed(running)
    assert is_gone(pid)
    (call,) = exported.calls
    assert call.ended is Ended.CLOSED
    assert call.error_type is None
    assert await pieces(running) == []
    assert not any("error.type" in span.attributes for span in exported.spans)


@KINDS
async def test_dropping_it_ends_the_child(stream, calls):
    running = stream(tool(ENDLESS))
    pid = int((await first(running)).split()[0])
    del running
    gc.collect()
    await wait_until(lambda: is_gone(pid) and calls)
    assert calls[0].ended is Ended.CLOSED


def test_breaking_out_of_a_loop_ends_the_child(calls):
    for piece in stream_command(tool(ENDLESS)):
        pid = int(piece.split()[0])
        break
    asyncio.run(wait_until(lambda: is_gone(pid)))


async def test_a_block_around_it_ends_it(calls):
    with stream_command(tool(ENDLESS)) as running:
        pid = int(next(running).split()[0])
    assert is_gone(pid)
    async with stream_command_async(tool(ENDLESS)) as running:
        pid = int((await anext(running)).split()[0])
    assert is_gone(pid)


@KINDS
async def test_what_went_wrong_is_raised_after_the_last_piece(stream, calls):
    running = stream(tool("out('a'); sys.exit(3)"), check=True)
    assert await first(running) == "a"
    with pytest.raises(subprocess.CalledProcessError):
        await first(running)
    assert await pieces(running) == []
    assert calls[0].error_type == "CalledProcessError"
    for attempt in tries():
        running = stream(tool("out('a'); time.sleep(60)"), timeout=attempt.longer(0.4))
        got = []
        with pytest.raises(subprocess.TimeoutExpired):
            while True:
                got.append(await first(running))
        assert calls[-1].error_type == "TimeoutExpired"
        with attempt:
            assert got == ["a"]


@KINDS
async def test_what_cannot_be_started_raises_with_the_first_piece(stream, exported, tmp_path):
    running = stream([str(tmp_path / "absent")])
    with pytest.raises(FileNotFoundError):
        await first(running)
    assert await pieces(running) == []
    assert exported.calls[0].error_type == "FileNotFoundError"


@KINDS
async def test_inside_a_call_it_is_a_part_of_that(stream, calls):
    for attempt in tries():
        calls.clear()
        with llm_call("outer"):
            assert "".join(await pieces(stream(tool(COUNTS)))) == "012"
        (call,) = calls
        with attempt:
            assert phases(call) == SPLIT


@KINDS
async def test_a_slow_reader_takes_nothing_from_the_times(stream, calls):
    for attempt in tries():
        running = stream(tool(COUNTS))
        await first(running)
        await asyncio.sleep(0.6)
        await pieces(running)
        call = calls[-1]
        with attempt:
            assert call.duration_ns < call.process.wall_ns + 100_000_000


@KINDS
async def test_a_reader_that_is_far_behind_makes_the_child_wait(stream, calls):
    running = stream(tool("all_out(1, b'x' * 40_000_000)"), text=False)
    total = len(await first(running))
    await asyncio.sleep(0.5)
    assert running._handed._waiting < 17 * 2**20
    total += sum(map(len, await pieces(running)))
    assert total == 40_000_000


@pytest.mark.slow
def test_a_gigabyte_takes_no_more_memory_than_a_megabyte(calls):
    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    program = "data = b'a line of text that is long enough\\n' * 30_000\n"
    program += "for _ in range({}): all_out(1, data)"
    assert sum(map(len, stream_command(tool(program.format(1)), text=False))) == 1_050_000
    before = peak()
    total = sum(map(len, stream_command(tool(program.format(1000)), text=False)))
    assert total == 1_050_000_000
    assert peak() - before < 64
    assert phases(calls[1]) == {"process_startup", "generation", "process_shutdown"}


@pytest.mark.slow
def test_many_json_lines_take_no_more_memory(calls):
    program = 'data = (b\'{"type": "other", "text": "\' + b\'x\' * 10_000 + b\'"}\\n\') * 100\n'
    program += "for _ in range(300): all_out(1, data); all_out(2, data[:60_000])"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    for _ in stream_command(tool(program), text=False, format="codex-json"):
        pass
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024 - before < 64


# --- asyncio ------------------------------------------------------------------------------------


async def test_cancelling_ends_the_child_before_the_cancellation_goes_on(exported, tmp_path):
    """RC-013 (c)"""
    note = tmp_path / "pid"
    program = tool(f"open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    for attempt in tries():
        exported.forget()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_command_async(program), attempt.longer(0.5))
        (call,) = exported.calls
        assert call.error_type == "CancelledError"
        assert phases(call) <= {"inference", "process_shutdown"}
        assert exported.one("inference").attributes["error.type"] == "cancelled"
        with attempt:
            assert note.exists()
            assert note.read_text()
    assert is_gone(int(note.read_text()))


async def test_cancelling_twice_kills_a_child_that_does_not_want_to_end(calls, tmp_path):
    note = tmp_path / "pid"
    program = tool(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    )
    running = asyncio.create_task(run_command_async(program, grace=60))
    await wait_until(lambda: note.exists() and note.read_text())
    running.cancel()
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert is_gone(int(note.read_text()))


async def test_cancelling_a_reader_ends_the_child(calls):
    """RC-013"""
    seen = []

    async def read():
        async for piece in stream_command_async(tool(ENDLESS)):
            seen.append(piece)  # noqa: PERF401  # seen also when it is cancelled

    reading = asyncio.create_task(read())
    await wait_until(lambda: seen)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    pid = int("".join(seen).split()[0])
    await wait_until(lambda: is_gone(pid) and calls)


def test_a_loop_that_is_left_in_the_middle_leaves_no_child(calls):
    pids = []

    async def main():
        async for piece in stream_command_async(tool(ENDLESS)):
            pids.append(int(piece.split()[0]))
            return

    asyncio.run(main())
    asyncio.run(wait_until(lambda: is_gone(pids[0])))


@pytest.mark.slow
async def test_two_hundred_children_at_once(calls):
    results = await asyncio.gather(
        *(run_command_async(["sh", "-c", f"sleep 0.2; echo {i}; exit {i % 3}"]) for i in range(200))
    )
    assert [result.stdout for result in results] == [f"{i}\n" for i in range(200)]
    assert [result.returncode for result in results] == [i % 3 for i in range(200)]
    assert len(calls) == 200
    await wait_until(lambda: threading.active_count() < 20)
    await wait_until(lambda: len(list(Path("/proc/self/fd").iterdir())) < 60)
