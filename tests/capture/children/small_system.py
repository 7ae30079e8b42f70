"""A small operating system: processes that work, fork, wait, get orphaned, as a `ProcessTable`.

It keeps account of CPU time as Linux does, and knows the truth as well.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from llmphases.capture.children.process_table import Seen

INIT = 1
US = 2


@dataclass
class Process:
    pid: int
    parent: int
    started: int
    cpu: int = 0
    waited: int = 0
    memory: int = 0
    family: int = 0
    """Which process without a parent here it descends from."""
    is_zombie: bool = False
    is_copy: bool = False
    ignores_children: bool = False
    adopts_orphans: bool = False


class SmallSystem:
    """Process 1 adopts and reaps orphans; process 2 is ours."""

    def __init__(self, pids=range(100, 10**9)):
        self._pids = iter(pids)
        self._now = 0
        self.all = {pid: Process(pid, INIT, 0) for pid in (INIT, US)}
        self.used = Counter()
        """By family: the CPU time of all that ever belonged to it."""
        self.before_answer = lambda: None
        """What happens before the next question is answered; it may raise `OSError`."""

    # --- what processes do -----------------------------------------------------------------

    def fork(self, parent, **more):
        """A new child of `parent`."""
        self._now += 1
        pid = next(pid for pid in self._pids if pid not in self.all)
        family = self._now if parent == US else self.all[parent].family
        self.all[pid] = Process(pid, parent, self._now, family=family, **more)
        return pid

    def work(self, pid, cpu):
        self.all[pid].cpu += cpu
        self.used[self.all[pid].family] += cpu

    def exit(self, pid):
        """End; its children go to the nearest ancestor that adopts, else to process 1."""
        gone = self.all[pid]
        gone.is_zombie = True
        gone.memory = 0
        heir = self._heir(gone)
        for child in self.children_of(pid):
            self.all[child].parent = heir
            if self.all[child].is_zombie:
                self._notify(self.all[child])
        self._notify(gone)

    def _heir(self, gone):
        pid = gone.parent
        while pid != INIT:
            if self.all[pid].adopts_orphans and not self.all[pid].is_zombie:
                return pid
            pid = self.all[pid].parent
        return INIT

    def _notify(self, gone):
        if gone.parent == INIT or self.all[gone.parent].ignores_children:
            del self.all[gone.pid]

    def wait(self, pid):
        """Its parent waits for it."""
        gone = self.all.pop(pid)
        parent = self.all[gone.parent]
        parent.waited += gone.cpu + gone.waited
        return gone.cpu + gone.waited

    # --- the table -------------------------------------------------------------------------

    def process(self, pid):
        self.before_answer()
        found = self.all.get(pid)
        if found is None:
            return None
        return Seen(
            pid=pid, parent=found.parent, started=found.started, cpu_ns=found.cpu,
            waited_ns=found.waited, memory=found.memory, is_zombie=found.is_zombie,
            is_copy=found.is_copy,
        )  # fmt: skip

    def children(self, pid):
        self.before_answer()
        return self.children_of(pid)

    def children_of(self, pid):
        return [p.pid for p in self.all.values() if p.parent == pid]
