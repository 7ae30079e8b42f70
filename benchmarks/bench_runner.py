"""What it costs to run a command by us: each child as such, and a second in which they run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from time import perf_counter, process_time, sleep

import rows
import surroundings

from llmphases import run_command, stream_command

Run = Callable[[list[str]], object]
GONE_AT_ONCE = ["sh", "-c", "echo answer"]
SECONDS = 5
LIVES = SECONDS + 4
QUIET = ["sleep", str(LIVES)]
CHATTY = [
    *("sh", "-c"),
    f"i=0; while [ $i -lt {LIVES * 100} ]; do echo token; sleep 0.01; i=$((i+1)); done",
]
BATCHES = {1: 30, 20: 3, 200: 1}
"""Children at once -> how often, so that each round has enough of them."""


def by_subprocess(argv: list[str]) -> None:
    subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def by_stream(argv: list[str]) -> None:
    for _ in stream_command(argv):
        pass


def by_plain_stream(argv: list[str]) -> None:
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        for _ in child.stdout or ():
            pass


def wall(run: Run, number: int) -> Callable[[], float]:
    """The time that a child takes, so many of them at once."""
    pool = ThreadPoolExecutor(number)
    list(pool.map(lambda _: sleep(0.01), range(number)))  # its threads run

    def once() -> float:
        began = perf_counter()
        for _ in range(BATCHES[number]):
            list(pool.map(run, [GONE_AT_ONCE] * number))
        return (perf_counter() - began) / BATCHES[number] / number

    return once


def added_wall(number: int) -> Callable[[int], float]:
    """What it takes longer by us, for each child."""

    def measure(rounds: int) -> float:
        surroundings.start()
        theirs, ours = wall(by_subprocess, number), wall(run_command, number)
        differences = []
        for turn in range(rounds + 1):
            if turn % 2:  # whoever comes second finds warmer caches
                before, after = theirs(), ours()
            else:
                after, before = ours(), theirs()
            differences.append(after - before)
        return median(differences[1:])

    return measure


def plain_wall(number: int) -> Callable[[int], float]:
    """What it takes without us."""

    def measure(rounds: int) -> float:
        once = wall(by_subprocess, number)
        once()
        return median(once() for _ in range(rounds))

    return measure


def share(run: Run, argv: list[str], number: int) -> float:
    """The CPU time of this process in one second in which so many of them run."""
    with ThreadPoolExecutor(number) as pool:
        running = [pool.submit(run, argv) for _ in range(number)]
        sleep(2)  # from then on all of them run, and are looked at as seldom as they are many
        cpu, began = process_time(), perf_counter()
        sleep(SECONDS)
        used = (process_time() - cpu) / (perf_counter() - began)
        for one in running:
            one.result()
    return used


def added_share(run: Run, plain: Run, argv: list[str], number: int) -> Callable[[int], float]:
    """What is ours of it."""

    def measure(_: int) -> float:
        surroundings.start()
        return share(run, argv, number) - share(plain, argv, number)

    return measure


def by_us(number: int) -> str:
    return f"one child of {number} at once, by run_command"


def plain(number: int) -> str:
    return f"one child of {number} at once, by subprocess"


rows.run(
    [
        *(rows.Row(name=plain(n), measure=plain_wall(n)) for n in BATCHES),
        *(
            rows.Row(
                name=by_us(n), measure=added_wall(n), target=0.01, floor=plain(n), is_on_top=True
            )
            for n in BATCHES
        ),
        *(
            rows.Row(
                name=f"a second in which run_command runs {n}",
                measure=added_share(run_command, by_subprocess, QUIET, n),
                target=0.01,
            )
            for n in BATCHES
        ),
        rows.Row(
            name="a second in which stream_command gives 100 pieces",
            measure=added_share(by_stream, by_plain_stream, CHATTY, 1),
            target=0.01,
        ),
    ],
    rounds=11,
    values=1,
    processes=1,
    warmups=0,
)
