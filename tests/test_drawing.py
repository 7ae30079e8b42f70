"""Where spans are drawn: whole microseconds, siblings that never touch."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from llmphases.drawing import Lane

START_NS = 1_800_000_000_000_000_000


def drawn(*lengths_ns: int) -> list[tuple[int, int]]:
    """Live children, one right after the other."""
    lane, at_ns, spans = Lane(START_NS // 1000), START_NS, []
    for length in lengths_ns:
        begin = lane.begin(at_ns)
        at_ns += length
        spans.append((begin - START_NS // 1000, lane.finish(begin, at_ns) - START_NS // 1000))
    return spans


def test_a_child_ends_a_microsecond_before_the_next_begins() -> None:
    assert drawn(1_000_000, 2_000_000) == [(0, 999), (1000, 2999)]


def test_a_live_child_is_at_least_a_microsecond_long() -> None:
    assert drawn(0, 0, 5_000) == [(0, 1), (2, 3), (4, 5)]


@given(st.lists(st.integers(0, 5_000), max_size=30))
def test_siblings_never_touch_however_short_they_are(lengths: list[int]) -> None:
    spans = drawn(*lengths)
    assert all(begin < end for begin, end in spans)
    assert all(end < begin for (_, end), (begin, _) in pairwise(spans))


def test_what_is_known_afterwards_is_drawn_only_where_there_is_room() -> None:
    lane = Lane(START_NS // 1000)
    assert lane.fit(START_NS, START_NS + 1_000) is None
    assert lane.fit(START_NS, START_NS + 3_000) == (START_NS // 1000, START_NS // 1000 + 2)


def test_what_is_known_afterwards_keeps_clear_of_a_child_that_was_stretched() -> None:
    lane = Lane(START_NS // 1000)
    lane.finish(lane.begin(START_NS), START_NS)
    place = lane.fit(START_NS, START_NS + 10_000)
    assert place == (START_NS // 1000 + 2, START_NS // 1000 + 9)


def test_a_parent_knows_where_its_last_child_ends() -> None:
    lane = Lane(START_NS // 1000)
    end = lane.finish(lane.begin(START_NS), START_NS + 7_000)
    assert lane.last_us == end
