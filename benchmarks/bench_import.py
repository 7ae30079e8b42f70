"""`import llmphases` in a fresh interpreter, over one that imports nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import rows


def started(code: str) -> float:
    """Seconds until a new interpreter has run this and ended."""
    start = perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return perf_counter() - start


def over_bare_python(middle: Callable[[list[float]], float]) -> Callable[[int], float]:
    """`middle` of the times with the import less that of the times without, started in turn."""

    def measure(rounds: int) -> float:
        bare, ours = [], []
        for _ in range(rounds):
            bare.append(started("pass"))
            ours.append(started("import llmphases"))
        return middle(ours) - middle(bare)

    return measure


def bare(rounds: int) -> float:
    return median(started("pass") for _ in range(rounds))


rows.run(
    [
        rows.Row(name="bare Python, start and end", measure=bare),
        rows.Row(
            name="import llmphases: median",
            measure=over_bare_python(median),
            target=0.1,
            floor="bare Python, start and end",
        ),
        rows.Row(name="import llmphases: least", measure=over_bare_python(min)),
    ],
    rounds=15,
    values=1,
    warmups=0,
)
