"""Small command-line tools: Python programs that do what a test wants."""

from __future__ import annotations

import sys
from pathlib import Path

PYTHON = sys.executable

SPLIT = {"process_startup", "generation", "process_shutdown"}
"""The phases of a child whose text was seen to stream."""
SPLIT_OR_NOT = (SPLIT, {"inference", "process_shutdown"}, {"inference"})
"""Where the machine was too busy to know when something arrived, less of it is told."""

_BEGIN = """
import os, signal, subprocess, sys, time
out = lambda data: os.write(1, data.encode() if isinstance(data, str) else data)
err = lambda data: os.write(2, data.encode() if isinstance(data, str) else data)
def all_out(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]
"""


def tool(program: str) -> list[str]:
    """The command that runs a program; `out` and `err` write at once."""
    return [PYTHON, "-c", _BEGIN + program]


def phases(call) -> set[str]:
    """The names of the phases of a call."""
    return {phase.value for phase in call.exclusive_ns}


def is_gone(pid: int) -> bool:
    """Whether there is no such process, or only what is left of one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the latter while it is being read
        return True
