"""The rows of a command's table: what is shown of its runs, in the words of a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmphases.analysis.repeats import Repeats, Spread
from llmphases.phases import Cost, Phase

_ALWAYS = (
    (Phase.PROCESS_STARTUP, "start-up"),
    (Phase.TIME_TO_FIRST_TOKEN, "first token"),
    (Phase.GENERATION, "generation"),
    (Phase.PROCESS_SHUTDOWN, "exit"),
)
_WORDS = {**dict(_ALWAYS), Phase.INFERENCE: "not told apart", Phase.TOOL: "tools"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kind of time, in nanoseconds; `spread` is None where it was not seen."""

    label: str
    cost: Cost
    spread: Spread | None


def rows(*columns: Repeats) -> Iterator[tuple[Row, ...]]:
    """Each kind of time that occurs in any of the columns, in the order in which it happens."""
    always = {phase for phase, _ in _ALWAYS}
    for phase in Phase:
        cells = [column.phases.get(phase) for column in columns]
        if phase in always or any(cells):
            label = _WORDS.get(phase, phase.value.replace("_", " "))
            yield tuple(Row(label=label, cost=phase.cost, spread=cell) for cell in cells)
    others = [column.unattributed for column in columns]
    if any(others):
        yield tuple(Row(label="other", cost=Cost.FIXED, spread=cell) for cell in others)
