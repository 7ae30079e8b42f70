"""Children that do as they are told, line by line: no test has to guess how far they are."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

_PROGRAM = """
import os, signal, sys, time

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

def say(word):
    print(word, flush=True)

for line in sys.stdin:
    exec(line)
    say("done")
"""


class Obedient:
    """A Python child; each `do` is over when it returns."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def do(self, line):
        """Run one line of Python; gives what it said before it was done."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = []
        while (word := self.process.stdout.readline().strip()) != "done":
            assert word, "it has ended"
            said.append(word)
        return said

    def fork(self, work):
        """Its child runs `work` and then `os._exit`; gives the pid."""
        line = f"p = os.fork() or [{work}, os._exit(0)]; say(p)"
        return int(self.do(line)[0])

    def end(self):
        """It ends; gives what `wait4` says."""
        self.process.stdin.close()
        return self.wait()

    def wait(self):
        _, status, rusage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return rusage

    def close(self):
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def obedient():
    child = Obedient()
    try:
        yield child
    finally:
        child.close()


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 9)
