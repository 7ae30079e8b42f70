"""What was measured, as a table in Markdown and as JSON."""

from __future__ import annotations

import os
import platform
from statistics import median
from typing import Any

from measure import UNITS, WAYS, Measured, middle
from table import OURS

HEAD = (
    "instrumentation", "records of a first token", "us a call", "us a short stream",
    "us a chunk", "half of the rounds", "of the least", "to ours", "chunk, all threads",
)  # fmt: skip


def as_json(found: list[Measured], load: tuple[float, float]) -> dict[str, Any]:
    """Everything, in ns."""
    return {
        "machine": _machine(load),
        "rows": [
            {
                "name": one.environment.peer.name,
                "version": one.environment.version,
                "openai": one.environment.openai,
                "failed": one.failed,
                "first_token": one.first_token,
                "plain": one.plain,
                "traced": one.traced,
                "added": {
                    unit: {way: middle(one.added(unit, way)) for way in WAYS} for unit in UNITS
                }
                if one.failed is None
                else None,
            }
            for one in found
        ],
    }


def as_markdown(found: list[Measured], load: tuple[float, float]) -> str:
    """A row a peer, those that add least to a chunk first; then who could not be measured."""
    there = sorted((one for one in found if one.failed is None), key=_per_chunk)
    ours = next((one for one in there if one.environment.peer.name == OURS), None)
    lines = [_line(HEAD), _line(["---"] * 2 + ["---:"] * (len(HEAD) - 2))]
    lines += [_line(_cells(one, ours)) for one in there]
    lines += [
        f"\nNot measured: {one.environment.peer.name}: {one.failed}"
        for one in found
        if one.failed is not None
    ]
    return "\n".join((*lines, "", *_sentences(there, ours), _text_of(_machine(load))))


def _per_chunk(one: Measured) -> float:
    return middle(one.added("chunk", "thread"))[0]


def _of_the_least(one: Measured) -> float:
    """The least of all rounds, less the least of the bare client: of moments when it was quiet."""
    plain, traced = (
        min(each["chunk"]["thread"] for each in rounds) for rounds in (one.plain, one.traced)
    )
    return traced - plain


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(one: Measured, ours: Measured | None) -> list[str]:
    where = one.environment
    amount, low, high = (value / 1e3 for value in middle(one.added("chunk", "thread")))
    return [
        f"{where.peer.name} {where.version} (openai {where.openai})",
        ", ".join(f"`{name}`" for name in one.first_token) or "none",
        *(f"{middle(one.added(unit, 'thread'))[0] / 1e3:.0f}" for unit in ("call", "few")),
        f"{amount:.1f}",
        f"{low:.1f} to {high:.1f}",
        f"{_of_the_least(one) / 1e3:.1f}",
        f"{amount / (_per_chunk(ours) / 1e3):.1f} x" if ours is not None else "",
        f"{middle(one.added('chunk', 'process'))[0] / 1e3:.1f}",
    ]


def _sentences(there: list[Measured], ours: Measured | None) -> list[str]:
    """Whether the promise is kept, said of these figures and no others."""
    if ours is None:
        return ["llmphases was not measured."]
    recording = [one for one in there if one.first_token and one is not ours]
    below = [one for one in recording if _per_chunk(one) <= _per_chunk(ours)]
    names = ", ".join(one.environment.peer.name for one in below)
    bare = [each["chunk"]["thread"] for one in there for each in one.plain]
    verdict = (
        f"Of {len(recording)} others that record a first token, these add less to a chunk: {names}."
        if below
        else f"All {len(recording)} others that record a first token add more to a chunk."
    )
    return [verdict, f"The bare client takes {median(bare) / 1e3:.0f} us a chunk.", ""]


def _machine(load: tuple[float, float]) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load_at_start": round(load[0], 1),
        "load_at_end": round(load[1], 1),
    }


def _text_of(machine: dict[str, Any]) -> str:
    return (
        f"Python {machine['python']} on {machine['system']}, {machine['cores']} cores; "
        f"load {machine['load_at_start']} at the start, {machine['load_at_end']} at the end"
    )
