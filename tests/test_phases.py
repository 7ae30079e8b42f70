"""The vocabulary: every phase has a meaning, and is paid in one bucket."""

from __future__ import annotations

import pytest

from llmphases.phases import BLOCKS, MEANING, Cost, Phase


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_says_when_it_starts_and_ends(phase: Phase) -> None:
    assert MEANING[phase].starts
    assert MEANING[phase].ends
    assert MEANING[phase].cost is phase.cost


def test_only_generation_is_paid_per_token() -> None:
    assert [p for p in Phase if p.cost is Cost.GENERATION] == [Phase.GENERATION]


def test_what_cannot_be_split_is_neither_fixed_nor_generation() -> None:
    assert Phase.INFERENCE.cost is Cost.UNSPLIT


def test_a_span_name_holds_nothing_but_the_phase() -> None:
    assert all(phase.value.replace("_", "").isalpha() for phase in Phase)


def test_what_only_the_recorder_knows_is_no_block() -> None:
    assert {Phase.GENERATION, Phase.TIME_TO_FIRST_TOKEN, Phase.RETRY}.isdisjoint(BLOCKS)
