"""What may go wrong with a child, by each way of running one: ours, and the program's own, hooked.

Whoever runs it gets what `subprocess` would give, and the call says what happened.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import random
import subprocess
import threading
from asyncio.subprocess import DEVNULL, PIPE
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psutil
import pytest

from capture.children.tools_of_ours import is_gone, tool
from lab.tries import tries
from llmphases import llm_call, run_command, run_command_async, stream_command, stream_command_async
from llmphases.capture.children import run, sampler
from llmphases.capture.children.exit_watch import ExitWatch
from llmphases.capture.children.process_table import PsutilTable

pytestmark = pytest.mark.usefixtures("hooked")
CHILD = ("process_startup", "inference")
"""The span that tells of a child."""


@dataclass(frozen=True)
class Outcome:
    stdout: bytes
    code: int


def by_run_command(argv, given=None, timeout=None):
    done = run_command(argv, input=given, timeout=timeout, text=False)
    return Outcome(done.stdout, done.returncode)


async def by_run_command_async(argv, given=None, timeout=None):
    done = await run_command_async(argv, input=given, timeout=timeout, text=False)
    return Outcome(done.stdout, done.returncode)


def by_stream_command(argv, given=None, timeout=None):
    stream = stream_command(argv, input=given, timeout=timeout, text=False)
    return Outcome(b"".join(stream), stream.returncode)


async def by_stream_command_async(argv, given=None, timeout=None):
    stream = stream_command_async(argv, input=given, timeout=timeout, text=False)
    pieces = [piece async for piece in stream]
    return Outcome(b"".join(pieces), stream.returncode)


def by_subprocess(argv, given=None, timeout=None):
    with llm_call("ask"):
        done = subprocess.run(argv, input=given, stdout=PIPE, timeout=timeout, check=False)
    return Outcome(done.stdout, done.returncode)


def by_popen(argv, given=None, timeout=None):
    with llm_call("ask"), subprocess.Popen(argv, stdin=PIPE, stdout=PIPE) as popen:
        try:
            stdout, _ = popen.communicate(given, timeout=timeout)
        except subprocess.TimeoutExpired:
            popen.kill()
            raise
    return Outcome(stdout, popen.returncode)


async def by_asyncio(argv, given=None, timeout=None):
    with llm_call("ask"):
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=DEVNULL if given is None else PIPE, stdout=PIPE
        )
        try:
            stdout, _ = await asyncio.wait_for(process.communicate(given), timeout)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
    return Outcome(stdout, process.returncode)


RUNNERS = [by_run_command, by_run_command_async, by_stream_command, by_stream_command_async]
HOOKED = [by_subprocess, by_popen, by_asyncio]


def each(ways):
    return pytest.mark.parametrize("way", ways, ids=lambda way: way.__name__)


EACH = each(RUNNERS + HOOKED)


async def ran(way, argv, **options):
    """The outcome of a way of either kind."""
    outcome = way(argv, **options)
    return await outcome if asyncio.iscoroutine(outcome) else outcome


def told(exported):
    """The only call, and what its child's span says of an error."""
    (call,) = exported.calls
    assert sum(call.exclusive_ns.values()) + call.unattributed_ns == call.duration_ns
    (span,) = [span for span in exported.spans if span.name in CHILD]
    assert all(span.end_time for span in exported.spans)
    return call, span.attributes.get("error.type")


@EACH
async def test_a_child_that_is_killed_has_said_half_of_it(way, exported):
    """RC-074"""
    outcome = await ran(way, tool("out('half'); os.kill(os.getpid(), signal.SIGKILL)"))
    assert outcome == Outcome(b"half", -9)
    call, error = told(exported)
    assert (call.process.exit_code, error) == (-9, "SIGKILL")


@EACH
async def test_an_exit_code_after_a_whole_answer(way, exported):
    """RC-074"""
    assert await ran(way, tool("out('whole'); sys.exit(3)")) == Outcome(b"whole", 3)
    call, error = told(exported)
    assert (call.process.exit_code, error) == (3, "3")


@EACH
async def test_a_time_out_is_one_in_all_that_is_told(way, exported, tmp_path):
    note = tmp_path / "pid"
    program = f"open({str(note)!r}, 'w').write(str(os.getpid())); out('half'); time.sleep(60)"
    for attempt in tries():
        exported.forget()
        with pytest.raises((subprocess.TimeoutExpired, TimeoutError)):
            await ran(way, tool(program), timeout=attempt.longer(0.5))
        call, error = told(exported)
        assert error == "timeout"
        assert call.error_type in {"TimeoutExpired", "TimeoutError"}
        counted = [point.value for point in exported.points()["llmphases.timeouts"]]
        assert counted == [attempt.number + 1]
        with attempt:  # it has come so far as to write
            assert note.exists()
            assert note.read_text("ascii")
    assert is_gone(int(note.read_text("ascii")))


@EACH
async def test_a_line_of_five_megabytes_is_whole(way, exported):
    """RC-065"""
    outcome = await ran(way, tool("all_out(1, b'{' + b'x' * 5_000_000 + b'}\\n')"))
    assert outcome == Outcome(b"{" + b"x" * 5_000_000 + b"}\n", 0)
    assert told(exported)[1] is None


@EACH
async def test_a_child_that_never_reads_what_it_is_given(way, exported):
    outcome = await ran(way, tool("out('done')"), given=b"x" * 5_000_000)
    assert outcome == Outcome(b"done", 0)
    assert told(exported)[1] is None


LEAVES_ONE = """
late = "import os, time; time.sleep({}); os.write(1, b'late')"
left = subprocess.Popen([sys.executable, "-c", late])
out(str(left.pid) + " ")
"""


@each(RUNNERS)
async def test_a_descendant_that_keeps_the_pipe_does_not_keep_us(way, exported):
    """RC-067"""
    outcome = await ran(way, tool(LEAVES_ONE.format(60)))
    assert not is_gone(int(outcome.stdout))
    os.kill(int(outcome.stdout), 9)
    call, error = told(exported)
    assert (outcome.code, call.process.exit_code, error) == (0, 0, None)


@each(HOOKED)
async def test_a_descendant_that_keeps_the_pipe_keeps_who_reads_to_its_end(way, exported):
    """RC-067: as ever."""
    outcome = await ran(way, tool(LEAVES_ONE.format(0.3)))
    assert outcome.stdout.split()[1:] == [b"late"]
    call, error = told(exported)
    assert (outcome.code, call.process.exit_code, error) == (0, 0, None)


@EACH
async def test_what_cannot_be_started_raises_what_subprocess_raises(way, exported, tmp_path):
    """RC-074"""
    (tmp_path / "plain").write_text("")
    faults = {"absent": FileNotFoundError, "plain": PermissionError, "plain/in": NotADirectoryError}
    for name, kind in faults.items():
        with pytest.raises(kind) as raised:
            await ran(way, [str(tmp_path / name)])
        assert raised.value.filename == str(tmp_path / name)
        call, error = told(exported)
        assert (call.error_type, error, call.process) == (kind.__name__, "spawn failed", None)
        exported.forget()


@pytest.mark.slow
@EACH
async def test_two_hundred_children_at_once(way, exported):
    commands = [["sh", "-c", f"sleep 0.2; echo {i}; exit {i % 3}"] for i in range(200)]
    if asyncio.iscoroutinefunction(way):
        outcomes = await asyncio.gather(*map(way, commands))
    else:
        with ThreadPoolExecutor(200) as pool:
            outcomes = list(pool.map(way, commands))
    assert outcomes == [Outcome(b"%d\n" % i, i % 3) for i in range(200)]
    assert sorted(call.process.exit_code for call in exported.calls) == sorted(
        outcome.code for outcome in outcomes
    )
    for thread in threading.enumerate():
        if thread.name == "llmphases-command":
            thread.join(60)
            assert not thread.is_alive()


# --- what the system does not tell ---------------------------------------------------------------


def many(number, threads=8):
    """Exit codes of so many children, and those they should have."""
    with ThreadPoolExecutor(threads) as pool:
        commands = [["sh", "-c", f"exit {i % 7}"] for i in range(number)]
        results = list(pool.map(run_command, commands))
    return [result.returncode for result in results], [i % 7 for i in range(number)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["NoSuchProcess", "AccessDenied", "ZombieProcess", "any"])
def test_what_psutil_raises_at_any_time_is_felt_by_nobody(kind, exported, caplog, monkeypatch):
    """RC-073: as where there is no `/proc`."""
    kinds = ("NoSuchProcess", "AccessDenied", "ZombieProcess")
    raised = []
    chance = random.Random(7)  # no secret

    def at_random(name):
        true = getattr(psutil.Process, name)

        @functools.wraps(true)
        def method(process, *args, **kwargs):
            if chance.random() < 0.3:
                raised.append(name)
                raise getattr(psutil, chance.choice(kinds) if kind == "any" else kind)(1)
            return true(process, *args, **kwargs)

        monkeypatch.setattr(psutil.Process, name, method)

    for name in ("__init__", "status", "cpu_times", "ppid", "create_time", "memory_info"):
        at_random(name)
    monkeypatch.setattr(sampler, "_sampler", sampler.Sampler(PsutilTable))
    got, expected = many(200)
    assert got == expected
    assert len(exported.calls) == 200
    assert caplog.messages == []
    assert {"__init__", "status", "cpu_times"} <= set(raised)
    for call in exported.calls:
        use = call.process
        assert use.exit_code is not None
        assert use.memory_peak is None or use.memory_peak > 0
        assert call.error_type == (str(use.exit_code) if use.exit_code else None)


@pytest.mark.parametrize("fault", [ImportError("psutil"), RuntimeError("of any kind")])
def test_without_anything_that_looks_at_processes_only_the_exit_is_known(
    fault, exported, monkeypatch
):
    """RC-073: psutil cannot be imported, or is broken."""

    def tables():
        if isinstance(fault, ImportError):
            return  # as `table_of_this_machine` has it
        raise fault

    monkeypatch.setattr(sampler, "_sampler", sampler.Sampler(tables))
    got, expected = many(10)
    assert got == expected
    for call in exported.calls:
        use = call.process
        assert (use.memory_peak, use.survivors) == (None, None)
        assert use.cpu_ns is not None  # of the system, when it was waited for


def test_a_child_that_nobody_can_read_leaves_no_descriptor(monkeypatch):
    """None was left for the runner's own pipe, after the one that sees the child's exit."""
    watches = []

    class Kept(ExitWatch):
        def __init__(self, *args):
            super().__init__(*args)
            watches.append(self)

    def no_more(*args, **kwargs):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(run, "ExitWatch", Kept)
    monkeypatch.setattr(run, "Pump", no_more)
    with pytest.raises(OSError, match="Too many"):
        run_command(tool("pass"))
    assert [watch.fileno() for watch in watches] == [-1]
