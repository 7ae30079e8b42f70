"""What a tree of processes used, told by looks at a small system that knows the truth."""

from __future__ import annotations

from itertools import cycle
from random import Random

import pytest

from capture.children.small_system import US, SmallSystem
from llmphases.capture.children.tree import look, tree_of, unseen


def a_child(**more):
    """A system with one child of ours, and its tree."""
    system = SmallSystem()
    child = system.fork(US, **more)
    return system, child, tree_of(system.process(child))


def end(system, child):
    """The child exits and is waited for; what that wait says."""
    system.exit(child)
    return system.wait(child)


# --- CPU time ------------------------------------------------------------------------------


def test_what_a_child_has_waited_for_is_its_own():
    system, child, tree = a_child()
    grandchild = system.fork(child)
    system.work(grandchild, 7)
    tree = look(tree, system)
    system.exit(grandchild)
    system.wait(grandchild)
    system.work(child, 2)
    tree = look(tree, system)
    exact = end(system, child)
    assert look(tree, system).cpu_ns(exact) == exact == 9


def test_an_orphan_that_has_ended_counts_as_it_was_last_seen():
    system, child, tree = a_child()
    middle = system.fork(child)
    orphan = system.fork(middle)
    tree = look(tree, system)
    end(system, middle)
    system.work(orphan, 5)
    tree = look(tree, system)
    system.exit(orphan)
    tree = look(tree, system)
    exact = end(system, child)
    assert exact == 0
    assert look(tree, system).cpu_ns(exact) == 5


def test_an_orphan_seen_only_under_its_first_parent_is_followed():
    system, child, tree = a_child()
    middle = system.fork(child)
    orphan = system.fork(middle)
    tree = look(tree, system)
    end(system, middle)
    late = system.fork(orphan)
    system.work(late, 3)
    tree = look(tree, system)
    assert tree.cpu_ns(end(system, child)) == 3
    assert {m.seen.pid for m in look(tree, system).survivors} == {orphan, late}


def test_children_that_nobody_waits_for_count():
    """A child that ignores SIGCHLD never has their time among what it waited for."""
    system, child, tree = a_child(ignores_children=True)
    grandchild = system.fork(child)
    system.work(grandchild, 6)
    tree = look(tree, system)
    system.exit(grandchild)
    system.work(child, 1)
    tree = look(tree, system)
    exact = end(system, child)
    assert exact == 1
    assert look(tree, system).cpu_ns(exact) == 7


def test_a_grandchild_that_lives_on_counts_up_to_now():
    system, child, tree = a_child()
    grandchild = system.fork(child)
    tree = look(tree, system)
    exact = end(system, child)
    system.work(grandchild, 4)
    assert look(tree, system).cpu_ns(exact) == 4


def test_what_an_orphan_has_waited_for_counts_once():
    system, child, tree = a_child()
    orphan = system.fork(child)
    below = system.fork(orphan)
    system.work(below, 3)
    tree = look(tree, system)
    end(system, below)
    tree = look(tree, system)
    assert tree.cpu_ns(end(system, child)) == 3


def test_without_a_wait_the_last_look_counts():
    system, child, tree = a_child()
    system.work(child, 3)
    tree = look(tree, system)
    system.exit(child)
    tree = look(tree, system)
    assert tree.cpu_ns() == 3
    assert tree.child.seen.is_zombie


# --- who belongs to it ---------------------------------------------------------------------


def test_a_pid_that_was_given_away_again_is_somebody_else():
    system = SmallSystem(pids=[100, 101, 101, 102])
    child = system.fork(US)
    tree = tree_of(system.process(child))
    tree = look(tree, system)
    grandchild = system.fork(child)
    system.work(grandchild, 2)
    tree = look(tree, system)
    end(system, grandchild)
    stranger = system.fork(US)
    assert stranger == grandchild
    system.work(stranger, 1000)
    tree = look(tree, system)
    assert tree.survivors == ()
    assert tree.cpu_ns(end(system, child)) == 2


def test_a_stranger_that_got_the_pid_before_it_was_asked_for_is_no_descendant():
    """The list of children is older than the answer about one of them."""
    system, child, tree = a_child()
    stranger = system.fork(US)
    system.children_of = lambda pid: [stranger] if pid == child else []
    assert look(tree, system).survivors == ()


def test_zombies_are_no_survivors():
    system, child, tree = a_child()
    grandchild = system.fork(child)
    tree = look(tree, system)
    system.exit(grandchild)
    assert look(tree, system).survivors == ()


def test_a_look_at_what_has_gone_counts_as_none():
    system, child, tree = a_child()
    end(system, child)
    tree = look(tree, system)
    assert (tree.looks, tree.memory_peak, tree.child.is_running) == (0, None, False)


# --- memory --------------------------------------------------------------------------------


def test_the_peak_is_the_largest_sum_of_all_at_one_look():
    system, child, tree = a_child(memory=10)
    first = system.fork(child, memory=30)
    tree = look(tree, system)
    end(system, first)
    system.fork(child, memory=20)
    tree = look(tree, system)
    assert tree.memory_peak == 40


def test_a_copy_of_a_members_memory_counts_only_as_far_as_it_has_grown():
    """Between fork and exec, or without any exec, the pages are shared with the parent."""
    system, child, tree = a_child(memory=100)
    worker = system.fork(child, memory=100, is_copy=True)
    assert look(tree, system).memory_peak == 100
    system.all[worker].memory = 150
    assert look(tree, system).memory_peak == 150


def test_a_copy_whose_origin_is_gone_has_the_memory_for_itself():
    system, child, tree = a_child(memory=1)
    middle = system.fork(child, memory=100)
    system.fork(middle, memory=90, is_copy=True)
    tree = look(tree, system)
    end(system, middle)
    tree = look(tree, system)
    assert tree.memory_peak == 101
    (orphan,) = tree.survivors
    assert orphan.origin == tree.root


def test_a_child_that_is_still_a_copy_of_ours_has_no_memory_of_its_own():
    system, _, tree = a_child(memory=500, is_copy=True)
    assert look(tree, system).memory_peak == 0


# --- any program ---------------------------------------------------------------------------


class Program:
    """Processes that do what they like, watched from outside."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.system = SmallSystem(pids=cycle(range(100, 115)))
        self.child = self.system.fork(US, **self._kinds())
        self.stranger = self.system.fork(US)
        self.tree = tree_of(self.system.process(self.child))

    def _kinds(self):
        few = self.random.random() < 0.2
        return {"ignores_children": few, "adopts_orphans": self.random.random() < 0.2}

    @property
    def used(self):
        """The truth."""
        return self.system.used[self.tree.root[1]]

    def look(self, otherwise=lambda tree: tree):
        try:
            self.tree = look(self.tree, self.system)
        except OSError:
            self.tree = otherwise(self.tree)

    def step(self):
        """One process does one thing."""
        running = [p.pid for p in self.system.all.values() if p.pid > US and not p.is_zombie]
        if not running:
            return
        pid = self.random.choice(running)
        what = self.random.choice(["fork", "work", "work", "exit", "wait", "wait"])
        if what == "fork" and len(self.system.all) < 15:
            self.system.fork(pid, **self._kinds())
        elif what == "work":
            self.system.work(pid, self.random.randint(1, 100))
        elif what == "exit" and pid not in (self.child, self.stranger):
            self.system.exit(pid)
        elif what == "wait":
            ended = [p for p in self.system.children_of(pid) if self.system.all[p].is_zombie]
            if ended:
                self.system.wait(self.random.choice(ended))

    def perhaps_step(self):
        """In the middle of a look."""
        if self.random.random() < 0.2:
            self.step()

    def perhaps_fail(self):
        """As when no file can be opened any more."""
        if self.random.random() < 0.1:
            raise OSError


SEEDS = range(600)


def test_who_looks_after_every_step_knows_all_cpu_time():
    for seed in SEEDS:
        program = Program(seed)
        for _ in range(program.random.randint(0, 60)):
            program.step()
            program.look()
        exact = end(program.system, program.child)
        program.look()
        assert program.tree.cpu_ns(exact) == program.used, seed


def nothing():
    """Between questions."""


@pytest.mark.parametrize(
    "meanwhile", [lambda _: nothing, lambda p: p.perhaps_step, lambda p: p.perhaps_fail],
    ids=["nothing", "steps", "failures"],
)  # fmt: skip
def test_no_cpu_time_counts_twice(meanwhile):
    """However seldom one looks, whatever happens between two questions of a look."""
    for seed in SEEDS:
        program = Program(seed)
        for _ in range(program.random.randint(0, 60)):
            program.step()
            if program.random.random() < 0.4:
                program.system.before_answer = meanwhile(program)
                program.look()
                program.system.before_answer = nothing
        exact = end(program.system, program.child)
        program.system.before_answer = meanwhile(program)
        program.look(otherwise=unseen)
        assert exact <= program.tree.cpu_ns(exact) <= program.used, seed
