"""One child process from its spawn to its end: what it and its descendants have used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from llmphases.calls import ProcessUse
from llmphases.capture.children.process_table import ProcessTable
from llmphases.capture.children.tree import Tree, look, tree_of, unseen
from llmphases.observers import never_raises

if TYPE_CHECKING:
    from resource import struct_rusage

_ENOUGH_LOOKS = 10
"""With fewer, what was used since the last look may be more than a tenth of all."""
_UNIT_OF_PEAKS = 1 if sys.platform == "darwin" else 1024

Tables = Callable[[], ProcessTable | None]


class Watched:
    """A child that is looked at now and then, by `sampler.watch`, until it has been reaped.

    Its state is one frozen record, replaced as a whole: no lock, so neither a fork nor a slow look
    in another thread can make anybody wait.
    """

    def __init__(self, pid: int, executable: str | None, tables: Tables) -> None:
        self.pid = pid
        self._executable = executable
        self._tables = tables
        # Not below what it was when the child began with a copy of it.
        self._own_peak = _own_peak()
        self._tree: Tree | None = None
        self._after: Tree | None = None
        """The tree since the child was reaped."""
        self._survivors: tuple[int, ...] | None = None
        self._pin()

    @never_raises
    def _pin(self) -> None:
        """Note which process has this pid, while it can be no other one than the child."""
        with suppress(OSError):
            table = self._tables()
            child = table.process(self.pid) if table is not None else None
            self._tree = None if child is None else tree_of(child)

    @property
    def is_over(self) -> bool:
        """Whether looking at it now and then has no point: it has ended, or cannot be seen."""
        tree = self._tree
        return self._after is not None or tree is None or not tree.child.is_running

    @never_raises
    def look(self, table: ProcessTable | None = None) -> None:
        """See what there is now; worth its while also between the child's exit and its `wait`."""
        table = table or self._tables()
        tree = self._tree
        if table is not None and tree is not None:
            with suppress(OSError):  # another time, perhaps
                self._tree = look(tree, table)

    def reaped(
        self,
        rusage: struct_rusage | None = None,
        *,
        exit_code: int | None = None,
        wall_ns: int | None = None,
    ) -> ProcessUse:
        """The child is gone: what it has used, as far as known.

        `rusage` is what `os.wait4` gave for it. Without, CPU time is known only if the child was
        seen after its exit, or often enough before. `wall_ns` is the time from spawn to exit.
        """
        self._look_after()
        tree = self._after
        return ProcessUse(
            executable=self._executable,
            pid=self.pid,
            exit_code=exit_code,
            wall_ns=wall_ns,
            cpu_ns=_cpu_ns(tree, rusage),
            memory_peak=_memory_peak(tree, rusage, self._own_peak),
            survivors=None if self._survivors is None else len(self._survivors),
        )

    def survivors(self) -> tuple[int, ...]:
        """The pids of descendants that are still running now, after the child was reaped.

        Only those that were seen while the child ran, and what these have started since.
        """
        self._look_after()
        return self._survivors or ()

    @never_raises
    def _look_after(self) -> None:
        before = self._after or self._tree
        self._after = before
        self._survivors = None
        if before is None or not before.looks:
            return
        if len(before.members) == 1:  # no descendant was seen: nothing to ask
            self._survivors = ()
            return
        try:
            table = self._tables()
            self._after = look(before, table) if table is not None else unseen(before)
            self._survivors = tuple(m.seen.pid for m in self._after.survivors)
        except OSError:
            self._after = unseen(before)


def _cpu_ns(tree: Tree | None, rusage: struct_rusage | None) -> int | None:
    if rusage is not None:
        exact_ns = round((rusage.ru_utime + rusage.ru_stime) * 1e9)
        return exact_ns if tree is None else tree.cpu_ns(exact_ns)
    if tree is not None and (tree.child.seen.is_zombie or tree.looks >= _ENOUGH_LOOKS):
        return tree.cpu_ns()
    return None


def _memory_peak(
    tree: Tree | None, rusage: struct_rusage | None, own_peak: int | None
) -> int | None:
    """The larger of what was seen and what the system says, as far as one can believe it."""
    known = []
    if tree is not None and tree.memory_peak is not None:
        known.append(tree.memory_peak)
    if rusage is not None and own_peak is not None:
        said = rusage.ru_maxrss * _UNIT_OF_PEAKS
        # A child begins with its parent's peak as its own.
        if said > own_peak:
            known.append(said)
    # At least nothing is no measurement: a child that was seen only before its exec, say.
    return max(known, default=0) or None


def _own_peak() -> int | None:
    """The most resident bytes of this very process so far."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return None
    return getrusage(RUSAGE_SELF).ru_maxrss * _UNIT_OF_PEAKS
