"""What it costs to know what children use: the thread that looks at them, and a child as such."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from time import perf_counter, process_time, sleep

import rows

from llmphases.capture.children import sampler
from llmphases.capture.children.process_table import ProcFolder, table_of_this_machine
from llmphases.capture.children.tree import look, tree_of

WITH_A_CHILD = ["sh", "-c", "sleep 600 & exec sleep 600"]
SECONDS = 5
CHILDREN = 50


@contextlib.contextmanager
def children(number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many, each with one child of its own, all asleep."""
    some = [subprocess.Popen(WITH_A_CHILD, process_group=0) for _ in range(number)]
    try:
        sleep(0.5)
        yield some
    finally:
        for child in some:
            os.killpg(child.pid, 9)
            child.wait()


def a_second_of_it(number: int) -> Callable[[int], float]:
    """The CPU time of this whole process in one second in which it does nothing else."""

    def measure(_: int) -> float:
        with children(number) as some:
            watched = [sampler.watch(child.pid) for child in some]
            sleep(2)  # from then on the pauses are what the costs make of them
            cpu, wall = process_time(), perf_counter()
            sleep(SECONDS)
            share = (process_time() - cpu) / (perf_counter() - wall)
            del watched
        return share

    return measure


def one_round(number: int) -> Callable[[int], float]:
    """The CPU time of one look at all of them."""

    def measure(rounds: int) -> float:
        with children(number) as some:
            table = table_of_this_machine()
            assert isinstance(table, ProcFolder)
            seen = [table.process(child.pid) for child in some]
            trees = [look(tree_of(one), table) for one in seen if one is not None]
            once = rows.timed(lambda: [look(tree, table) for tree in trees])
            return sorted(once() for _ in range(rounds))[rounds // 2] / 1e9

    return measure


def short(*, is_watched: bool) -> Callable[[], int]:
    """Children that are gone at once, one after the other: what they cost this thread."""

    def run() -> None:
        for _ in range(CHILDREN):
            child = subprocess.Popen(["true"])
            watched = sampler.watch(child.pid) if is_watched else None
            _, _, rusage = os.wait4(child.pid, 0)
            child.returncode = 0
            if watched is not None:
                watched.reaped(rusage, exit_code=0, wall_ns=1)

    return rows.timed(run)


rows.run(
    [
        rows.Row(
            name="a child that is gone at once, watched",
            measure=rows.added(lambda: (short(is_watched=False), short(is_watched=True)), CHILDREN),
        ),
        *(rows.Row(name=f"one look at {n} of them", measure=one_round(n)) for n in (1, 20, 200)),
        *(
            rows.Row(
                name=f"a second with {n} watched children, each with one",
                measure=a_second_of_it(n),
                target=0.01,
            )
            for n in (1, 20, 200)
        ),
    ],
    rounds=11,
    values=1,
    processes=1,
    warmups=0,
)
