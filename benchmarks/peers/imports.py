"""What `instrument()` adds to the start of a program, and what it puts off until the first call.

In new interpreters, in turn: the CPU time of the thread, taken inside, so that neither the start of
the interpreter nor the wait for a core is in it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from measure import middle

PROGRAM = """
import json, sys
from time import thread_time
import {imported}
loaded = set(sys.modules)
start = thread_time()
llmphases.instrument()
hooked = thread_time()
more = set(sys.modules) - loaded
llmphases.capture.current.wired()
print(json.dumps([hooked - start, thread_time() - hooked, sorted(more)]))
"""
CASES = ("llmphases", "llmphases, openai")
"""What has been imported before."""
Middle = tuple[float, float, float]


def measured(python: Path, rounds: int) -> dict[str, tuple[Middle, Middle, list[str]]]:
    """In seconds, median and between which values half of them lie: `instrument()`; what it puts
    off until the first call. Last, the modules that `instrument()` loads."""
    found: dict[str, list[tuple[float, float, list[str]]]] = {case: [] for case in CASES}
    for number in range(rounds + 1):
        for case in CASES:
            command = [python, "-c", PROGRAM.format(imported=case)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            if number:  # by the first, modules may have been compiled
                found[case].append(json.loads(done.stdout))
    return {
        case: (
            middle([one[0] for one in values]),
            middle([one[1] for one in values]),
            sorted({name for one in values for name in one[2]}),
        )
        for case, values in found.items()
    }
