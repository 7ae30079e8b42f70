"""Ways in which programs start a child and read what it says: each gives a result to compare.

A way takes the command and gives all that a program could get of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import select
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen, check_output, run

_CHILD = """
import os, sys, time
truth, pace, with_stdin = sys.argv[1], float(sys.argv[2]), len(sys.argv) > 3
if with_stdin:
    sys.stdin.buffer.read()
times = []
time.sleep(pace * 0.1)
for i in range(4):
    if i:
        time.sleep(pace * 0.04)
    times.append(time.perf_counter_ns())
    os.write(1, f"token {i} \\u20ac \\r\\n".encode())
    if i == 2:
        os.write(2, b"warning\\n")
time.sleep(pace * 0.1)
times.append(time.perf_counter_ns())
with open(truth, "w") as file:
    file.write(" ".join(map(str, times)))
os._exit(0)
"""
OUTPUT = "".join(f"token {i} \u20ac \r\n" for i in range(4)).encode()


@dataclass(frozen=True)
class Child:
    """A command whose delays are stated, and that says afterwards when it did what."""

    folder: Path
    argv: list[str] = field(default_factory=list)

    @classmethod
    def made(cls, folder: Path, pace: float = 1) -> Child:
        """Its delays are 100, three times 40, and 100 ms, times `pace`."""
        program = folder / "child.py"
        program.write_text(_CHILD, "utf-8")
        return cls(folder, [sys.executable, "-S", str(program), str(folder / "truth"), str(pace)])

    @property
    def line(self) -> str:
        return " ".join(self.argv)

    def truth(self) -> tuple[int, int, int]:
        """When the first and the last token were written, and when it went."""
        first, *_, last, gone = map(int, (self.folder / "truth").read_text("utf-8").split())
        return first, last, gone


def until_long_gone(pid):
    """Until a child has exited, which nobody has waited for, and a while longer."""
    with contextlib.suppress(ChildProcessError):  # a thread of asyncio has been faster
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    time.sleep(0.2)


def by_run(child):
    done = run([*child.argv, "stdin"], capture_output=True, input="héllo", text=True, check=False)
    return done.stdout, done.stderr, done.returncode


def by_run_without_input(child):
    done = run(child.argv, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr, done.returncode


def by_run_of_one_pipe_with_a_timeout(child):
    done = run(child.argv, stdout=PIPE, stderr=DEVNULL, timeout=30, check=False)
    return done.stdout, done.returncode


def by_check_output(child):
    return check_output(child.argv, stderr=DEVNULL)


def by_check_output_of_both(child):
    return check_output(child.argv, stderr=STDOUT, text=True)


def by_universal_newlines(child):
    return check_output(child.argv, stderr=DEVNULL, universal_newlines=True)


def by_communicate(child):
    popen = Popen(child.argv, stdout=PIPE, stderr=PIPE)
    assert type(popen.stdout) is io.BufferedReader
    return (*popen.communicate(), popen.returncode)


def by_communicate_with_timeouts(child):
    popen = Popen(child.argv, stdout=PIPE, stderr=PIPE)
    for _ in range(1000):
        try:
            return (*popen.communicate(timeout=0.03), popen.returncode)
        except subprocess.TimeoutExpired:
            continue
    return None


def by_lines_of_text(child):
    with Popen(child.argv, stdout=PIPE, stderr=PIPE, text=True, encoding="utf-8") as popen:
        assert type(popen.stdout) is io.TextIOWrapper
        assert type(popen.stdout.buffer) is io.BufferedReader
        assert isinstance(popen.stdout.buffer.raw, io.FileIO)
        return list(popen.stdout), popen.stderr.read(), popen.wait()


def by_lines_of_bytes(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        return list(popen.stdout)


def by_read(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        return popen.stdout.read()


def by_read_of_text(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL, encoding="utf-8", bufsize=1) as popen:
        return popen.stdout.read()


def by_readline(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL, text=True, bufsize=1) as popen:
        return list(iter(popen.stdout.readline, ""))


def by_single_bytes(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        return list(iter(lambda: popen.stdout.read(1), b""))


def by_read1(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        return b"".join(iter(popen.stdout.read1, b""))


def by_readinto(child):
    buffer = bytearray(1000)
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        return b"".join(iter(lambda: bytes(buffer[: popen.stdout.readinto1(buffer)]), b""))


def by_unbuffered_read(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL, bufsize=0) as popen:
        assert isinstance(popen.stdout, io.FileIO)
        return b"".join(iter(lambda: popen.stdout.read(4096), b""))


def by_unbuffered_lines(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL, bufsize=0) as popen:
        return list(popen.stdout)


def by_unbuffered_readall(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL, bufsize=0) as popen:
        return popen.stdout.read()


def by_the_descriptor(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        return b"".join(iter(lambda: os.read(popen.stdout.fileno(), 4096), b""))


def by_select(child):
    pieces = []
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        while True:
            select.select([popen.stdout], [], [])
            pieces.append(popen.stdout.read1(4096))
            if not pieces[-1]:
                return b"".join(pieces)


def by_asking_again_and_again(child):
    pieces = []
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        os.set_blocking(popen.stdout.fileno(), False)
        while (piece := popen.stdout.read()) != b"":
            pieces.append(piece or b"")
            time.sleep(0.002)
    return b"".join(pieces)


def by_two_threads(child):
    read = []
    with Popen(child.argv, stdout=PIPE, stderr=PIPE) as popen:
        thread = threading.Thread(target=lambda: read.append(popen.stdout.read()))
        thread.start()
        read_here = popen.stderr.read()
        thread.join()
    return read, read_here


def by_reading_late(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        until_long_gone(popen.pid)
        return popen.stdout.read()


def by_slow_reading_of_lines(child):
    with Popen(child.argv, stdout=PIPE, stderr=DEVNULL) as popen:
        lines = []
        for line in popen.stdout:
            lines.append(line)
            time.sleep(0.1)
        return lines


def by_waiting_first(child):
    popen = Popen(child.argv, stdout=PIPE, stderr=DEVNULL)
    popen.wait()
    with popen.stdout:
        return popen.stdout.read(), popen.returncode


def by_closing_early(child):
    popen = Popen(child.argv, stdout=PIPE, stderr=DEVNULL)
    line = popen.stdout.readline()
    popen.stdout.close()
    return line, popen.wait() in (0, 1, -13)


def by_wait_without_a_pipe(child):
    return Popen(child.argv, stdout=DEVNULL, stderr=DEVNULL).wait()


def by_a_late_wait(child):
    popen = Popen(child.argv, stdout=DEVNULL, stderr=DEVNULL)
    until_long_gone(popen.pid)
    return popen.wait()


def by_poll(child):
    popen = Popen(child.argv, stdout=DEVNULL, stderr=DEVNULL)
    while popen.poll() is None:
        time.sleep(0.02)
    return popen.returncode


def by_wait_with_a_timeout(child):
    return Popen(child.argv, stdout=DEVNULL, stderr=DEVNULL).wait(timeout=30)


def by_waitpid(child):
    popen = Popen(child.argv, stdout=DEVNULL, stderr=DEVNULL)
    pid, status = os.waitpid(popen.pid, 0)
    popen.returncode = os.waitstatus_to_exitcode(status)
    return pid == popen.pid, status


def by_a_shell(child):
    done = run(f"{child.line} | cat", shell=True, capture_output=True, check=False)
    return done.stdout, done.stderr, done.returncode


def by_getstatusoutput(child):
    return subprocess.getstatusoutput(child.line)


def by_os_popen(child):
    file = os.popen(f"{child.line} 2>/dev/null")
    return file.read(), file.close()


def by_a_pipeline(child):
    first = Popen(child.argv, stdout=PIPE, stderr=DEVNULL)
    second = Popen(["cat"], stdin=first.stdout, stdout=PIPE)
    first.stdout.close()
    return second.communicate()[0], first.wait(), second.returncode


async def _async_communicate(child):
    process = await asyncio.create_subprocess_exec(*child.argv, stdout=PIPE, stderr=PIPE)
    return (*await process.communicate(), process.returncode)


async def _async_lines(child):
    process = await asyncio.create_subprocess_exec(*child.argv, stdout=PIPE, stderr=DEVNULL)
    return [line async for line in process.stdout], await process.wait()


async def _async_shell(child):
    line = f"{child.line} stdin"
    process = await asyncio.create_subprocess_shell(line, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    return (*await process.communicate(b"x"), process.returncode)


async def _async_blocked_loop(child):
    process = await asyncio.create_subprocess_exec(*child.argv, stdout=PIPE, stderr=DEVNULL)
    until_long_gone(process.pid)
    return await process.stdout.read(), await process.wait()


async def _async_late_consumer(child):
    process = await asyncio.create_subprocess_exec(*child.argv, stdout=PIPE, stderr=DEVNULL)
    await asyncio.sleep(0.5)
    return await process.stdout.read(), await process.wait()


async def _async_without_a_pipe(child):
    process = await asyncio.create_subprocess_exec(*child.argv, stdout=DEVNULL, stderr=DEVNULL)
    return await process.wait()


def _in_a_loop(way):
    def by_loop(child):
        return asyncio.run(way(child))

    by_loop.__name__ = f"by{way.__name__}"
    return by_loop


STREAMED = [
    by_run, by_run_without_input, by_run_of_one_pipe_with_a_timeout, by_check_output,
    by_check_output_of_both, by_universal_newlines, by_communicate, by_communicate_with_timeouts,
    by_lines_of_text, by_lines_of_bytes, by_read, by_read_of_text, by_readline, by_single_bytes,
    by_read1, by_readinto, by_unbuffered_read, by_unbuffered_lines, by_unbuffered_readall,
    by_two_threads, by_a_shell, by_getstatusoutput, by_os_popen,
    *map(_in_a_loop, (_async_communicate, _async_lines, _async_shell, _async_late_consumer)),
]  # fmt: skip
"""The reader waits for each byte, so all of it is known."""

NOT_SEEN = [
    by_the_descriptor, by_reading_late, by_slow_reading_of_lines, by_waiting_first,
    by_wait_without_a_pipe, by_a_late_wait, by_poll, by_wait_with_a_timeout, by_waitpid,
    *map(_in_a_loop, (_async_blocked_loop, _async_without_a_pipe)),
]  # fmt: skip
"""The last byte is not known, so nothing is said of generation."""

OTHER = [by_select, by_asking_again_and_again, by_closing_early, by_a_pipeline]
"""How much is known depends on the moment."""
