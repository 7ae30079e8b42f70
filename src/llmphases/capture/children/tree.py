"""What a child process and all its descendants have used, from looks at them now and then.

A descendant that was seen once is followed by its pid and start, also when its parent ends and
another process adopts it. Nothing here is more than what was used: no CPU time counts twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from llmphases.capture.children.process_table import ProcessTable, Seen

Identity = tuple[int, int]
"""The pid of a process and when it began."""


@dataclass(frozen=True, slots=True)
class Member:
    """One process of a tree, as it was when it was last seen."""

    seen: Seen
    parent: Identity | None
    """The member that is told of its end, and then has its CPU time among what it waited for; None
    if that is a process outside the tree, as for orphans."""
    origin: Identity | None
    """The closest member that it descends from and that is still there."""
    owed_ns: int = 0
    """What members have used that this one should have waited for: it need not have."""
    is_there: bool = True

    @property
    def identity(self) -> Identity:
        return self.seen.pid, self.seen.started

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.is_there and not self.seen.is_zombie

    @property
    def total_ns(self) -> int:
        """The CPU time of itself and of all that ended before it, as far as seen.

        A process that ignores the end of its children has never waited for any; otherwise what it
        has waited for includes what it is owed.
        """
        return self.seen.cpu_ns + max(self.seen.waited_ns, self.owed_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A child process and what was seen of its descendants."""

    root: Identity
    members: Mapping[Identity, Member]
    """Those that were there at the last look, and the child itself always, parents first."""
    lost_ns: int = 0
    """The CPU time of orphans that are gone: no member was told of it."""
    memory_peak: int | None = None
    """The most resident bytes of all members together at one look; None before the first."""
    looks: int = 0
    """How often it was looked at while the child was running."""

    @property
    def child(self) -> Member:
        """The child itself."""
        return self.members[self.root]

    @property
    def survivors(self) -> tuple[Member, ...]:
        """The descendants that were running at the last look, without the child itself."""
        root = self.root
        return tuple(m for i, m in self.members.items() if i != root and m.is_running)

    def cpu_ns(self, waited_ns: int | None = None) -> int:
        """The CPU time of the whole tree, at least.

        `waited_ns` is what the system said of the child when it was waited for: exact for itself
        and for what it has waited for.
        """
        child = self.child
        known = child.total_ns
        if waited_ns is not None:
            known = max(waited_ns, child.seen.cpu_ns + child.owed_ns)
        rest = (m.total_ns for i, m in self.members.items() if i != self.root)
        return known + self.lost_ns + sum(rest)


def tree_of(child: Seen) -> Tree:
    """The tree of a child that has just begun."""
    member = Member(child, None, None)
    return Tree(root=member.identity, members={member.identity: member})


def look(tree: Tree, table: ProcessTable) -> Tree:
    """The tree as it is now.

    Raises `OSError` if the system gives no answers just now. Then the tree may be kept for a later
    look; for its sums, once the child was waited for, it has to be `unseen`.
    """
    visit = _Visit(tree, table)
    visit.see_again()
    visit.find_children()
    lost_ns = visit.settle()
    members = visit.found
    peak, is_running = tree.memory_peak, members[tree.root].is_running
    if is_running or peak is not None:
        peak = max(peak or 0, _memory(members, tree.root))
    return Tree(
        root=tree.root,
        members=members,
        lost_ns=tree.lost_ns + lost_ns,
        memory_peak=peak,
        looks=tree.looks + is_running,
    )


class _Nobody:
    """A table of no processes."""

    def process(self, pid: int) -> None:
        return None

    def children(self, pid: int) -> tuple[int, ...]:
        return ()


def unseen(tree: Tree) -> Tree:
    """The tree after the child's end where nothing can be seen any more.

    Any descendant may have been waited for meanwhile, and so be in the child's time already.
    """
    return look(tree, _Nobody())


class _Visit:
    """One look while it goes on.

    Parents are always asked before their children: a child that is still there afterwards is not
    yet among what its parent has waited for.
    """

    def __init__(self, tree: Tree, table: ProcessTable) -> None:
        self._tree = tree
        self._table = table
        self._known = tree.members
        self._by_pid: dict[int, Member] = {}
        self.found: dict[Identity, Member] = {}

    def see_again(self) -> None:
        """Ask for those that are known already."""
        for identity, known in self._known.items():
            seen = self._table.process(known.seen.pid) if known.is_there else None
            if seen is not None and seen.started == known.seen.started:
                self._add(self._moved(known, seen))
            elif identity == self._tree.root:
                # It stays: what its children used is owed to it, whoever waits for it.
                self._add(replace(known, is_there=False))

    def _moved(self, known: Member, seen: Seen) -> Member:
        parent = known.parent
        if known.identity == self._tree.root:
            return Member(seen, None, None, known.owed_ns)
        if seen.parent != known.seen.parent or parent not in self.found:
            adopter = self._by_pid.get(seen.parent)
            # Its parent may have ended just now, so that the system still names it.
            is_stale = parent is not None and seen.parent == parent[0]
            parent = adopter.identity if adopter else self._upwards(parent) if is_stale else None
        # Not replace(), which takes as long as reading a file of /proc.
        return Member(seen, parent, self._origin(known.origin), known.owed_ns)

    def find_children(self) -> None:
        """Ask all of them for children, and those for theirs."""
        queue = list(self.found.values())
        for member in queue:  # it grows meanwhile
            if not member.is_running:
                continue
            for seen in self._new_children(member.seen):
                child = Member(seen, member.identity, member.identity)
                self._add(child)
                queue.append(child)

    def _new_children(self, parent: Seen) -> list[Seen]:
        pids = [p for p in self._table.children(parent.pid) if p not in self._by_pid]
        asked = [self._table.process(pid) for pid in pids]
        # A pid may have been given away since it was listed.
        found = [one for one in asked if one is not None and one.parent == parent.pid]
        now = self._table.process(parent.pid) if found else None
        # So may the parent's.
        return [] if now is not None and now.started != parent.started else found

    def settle(self) -> int:
        """What the gone ones have used is owed to whoever should have waited for them.

        Gives the CPU time of those for whom no member could.
        """
        lost_ns = 0
        owed: dict[Identity, int] = {}
        for identity, gone in self._known.items():
            if identity in self.found:
                continue
            collector = self._upwards(gone.parent)
            if collector is None:
                lost_ns += gone.total_ns
            else:
                owed[collector] = owed.get(collector, 0) + gone.total_ns
        for identity, ns in owed.items():
            member = self.found[identity]
            self.found[identity] = replace(member, owed_ns=member.owed_ns + ns)
        return lost_ns

    def _add(self, member: Member) -> None:
        self.found[member.identity] = member
        self._by_pid[member.seen.pid] = member

    def _upwards(self, identity: Identity | None) -> Identity | None:
        """This member, or the first above it that is still there; None if that is outside."""
        while identity is not None and identity not in self.found:
            identity = self._known[identity].parent
        return identity

    def _origin(self, identity: Identity | None) -> Identity | None:
        while identity is not None:
            member = self.found.get(identity)
            if member is not None and member.is_there:
                return identity
            identity = self._known[identity].origin
        return None


def _memory(members: Mapping[Identity, Member], root: Identity) -> int:
    """Resident bytes of all; a copy of another member's memory counts as far as it has grown."""
    total = 0
    for identity, member in members.items():
        if not member.is_running:
            continue
        total += member.seen.memory
        if member.seen.is_copy:
            origin = members.get(member.origin) if member.origin is not None else None
            if origin is not None:
                total -= min(member.seen.memory, origin.seen.memory)
            elif identity == root:  # a copy of ours
                total -= member.seen.memory
    return total
