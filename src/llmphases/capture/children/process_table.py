"""What the system tells of a process and its children: by `/proc`, or elsewhere by psutil.

A process may vanish between any two questions, or be none of our business: then there is none, and
no error. But if the system cannot answer at all, as when no more files can be opened, nobody may
take that for a process that has gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import psutil

_FORKED_WITHOUT_EXEC = 0x40
"""PF_FORKNOEXEC among the flags of Linux: its memory is still a copy of its parent's."""
_ENOUGH = 4096
"""Bytes that hold any `stat`, and the children of most threads."""

_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


class Seen(NamedTuple):
    """A process as it was at one instant."""

    pid: int
    parent: int
    """The pid of who will be told of its end."""
    started: int
    """When it began, in units of the system: the same pid with another start is another process."""
    cpu_ns: int
    """What all its threads have used so far, as far as the system's ticks tell."""
    waited_ns: int
    """What those of its children have used that it has waited for, and those of theirs."""
    memory: int
    """Resident bytes."""
    is_zombie: bool = False
    """Whether it has ended and nobody has waited for it yet."""
    is_copy: bool = False
    """Whether it still runs on a copy of its parent's memory, whose pages both of them show."""


class ProcessTable(Protocol):
    """Answers about processes; made anew for each round of questions.

    Raises `OSError` where there is no answer, neither yes nor no.
    """

    def process(self, pid: int) -> Seen | None:
        """The process that has this pid now; None if there is none, or none that we may see."""
        ...

    def children(self, pid: int) -> Iterable[int]:
        """The pids of its children; some may be missing, or gone already."""
        ...


class ProcFolder:
    """Linux: the files of `/proc`, or of another folder that looks like it."""

    def __init__(self, root: str = "/proc") -> None:
        self._root = root
        self._tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")
        self._page = os.sysconf("SC_PAGE_SIZE")

    def process(self, pid: int) -> Seen | None:
        """From `PID/stat`."""
        text = _content(f"{self._root}/{pid}/stat")
        if not text:
            return None
        # The name stands in parentheses, and may hold some itself.
        fields = text[text.rfind(b")") + 2 :].split()
        try:
            return Seen(
                pid=pid,
                parent=int(fields[1]),
                started=int(fields[19]),
                cpu_ns=(int(fields[11]) + int(fields[12])) * self._tick_ns,
                waited_ns=(int(fields[13]) + int(fields[14])) * self._tick_ns,
                memory=int(fields[21]) * self._page,
                is_zombie=fields[0] in (b"Z", b"X"),
                is_copy=bool(int(fields[6]) & _FORKED_WITHOUT_EXEC),
            )
        except (IndexError, ValueError) as error:
            raise OSError(f"not what a stat file says: {text[:40]!r}") from error

    def children(self, pid: int) -> list[int]:
        """From `PID/task/*/children`: each thread has its own."""
        folder = f"{self._root}/{pid}/task"
        try:
            threads = os.listdir(folder)  # noqa: PTH208 - a Path each takes longer than the reading
        except _GONE:
            return []
        found: list[int] = []
        for thread in threads:
            found += _numbers(_content(f"{folder}/{thread}/children"))
        return found


def _content(path: str) -> bytes:
    """All of a small file; nothing if its process has gone, or is hidden from us."""
    # Not open(): these are read by the hundred, and a buffer takes as long as the file.
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except _GONE:
        return b""
    try:
        content = more = os.read(fd, _ENOUGH)
        while len(more) > _ENOUGH // 2 and (more := os.read(fd, _ENOUGH)):
            content += more  # the system stops short of a number that would not fit
    except _GONE:
        return b""
    else:
        return content
    finally:
        os.close(fd)


def _numbers(text: bytes) -> list[int]:
    try:
        return [int(word) for word in text.split()]
    except ValueError as error:
        raise OSError(f"no pids: {text[:40]!r}") from error


class PsutilTable:
    """Elsewhere: psutil. Who is whose child is asked once, of all processes together."""

    def __init__(self) -> None:
        import psutil

        self._psutil = psutil
        self._children: dict[int, list[int]] | None = None

    def process(self, pid: int) -> Seen | None:
        """The answer of `psutil.Process`."""
        try:
            process = self._psutil.Process(pid)
            with process.oneshot():
                return self._seen(process)
        except (self._psutil.Error, *_GONE):
            return None

    def _seen(self, process: psutil.Process) -> Seen:
        is_zombie = process.status() == self._psutil.STATUS_ZOMBIE
        times = process.cpu_times()
        return Seen(
            pid=process.pid,
            parent=process.ppid(),
            started=round(process.create_time() * 1e6),
            cpu_ns=round((times.user + times.system) * 1e9),
            waited_ns=round((times.children_user + times.children_system) * 1e9),
            memory=0 if is_zombie else process.memory_info().rss,
            is_zombie=is_zombie,
        )

    def children(self, pid: int) -> list[int]:
        """As one look at all processes shows them."""
        if self._children is None:
            children: dict[int, list[int]] = {}
            for process in self._psutil.process_iter(["ppid"]):  # it leaves out who has gone
                children.setdefault(process.info["ppid"], []).append(process.pid)
            self._children = children
        return self._children.get(pid, [])


@cache
def _lists_children(root: str) -> bool:
    own = os.getpid()
    # An old kernel, or one built without it, has no `children`.
    return os.path.exists(f"{root}/{own}/task/{own}/children")  # noqa: PTH110 - no Path elsewhere


def table_of_this_machine(root: str = "/proc") -> ProcessTable | None:
    """A table for one round of questions; None where nothing answers them."""
    if _lists_children(root):
        return ProcFolder(root)
    try:
        return PsutilTable()
    except ImportError:
        return None
