from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.phases import Cost
from llmphases.reports.layout import BAR_CHARACTERS, LOOK_OF, Look, bar, paragraph, plain


def test_every_cost_has_a_colour_of_its_own():
    assert len({LOOK_OF[cost] for cost in Cost}) == len(Cost)


def test_plain_lines_end_where_their_text_ends():
    assert plain([[("a ", Look.BAD), ("  ", Look.PLAIN)], [], [("b", Look.PLAIN)]]) == "a\n\nb"


@pytest.mark.parametrize(
    ("share", "smooth", "rough"),
    [(0, "", ""), (0.001, "▏", "."), (0.5, "████", "####"), (0.55, "████▍", "####"),
     (1, "████████", "########")],
)  # fmt: skip
def test_a_bar_is_as_long_as_its_share(share, smooth, rough):
    assert bar(share, 8, unicode=True) == smooth
    assert bar(share, 8, unicode=False) == rough


@given(st.floats(0, 1), st.integers(0, 40), st.booleans())
def test_a_bar_is_never_longer_than_it_may_be(share, width, unicode):
    found = bar(share, width, unicode=unicode)
    assert len(found) <= max(width, 1)
    assert set(found) <= set(BAR_CHARACTERS if unicode else "#.")


def test_a_paragraph_breaks_lines_but_not_before_a_unit():
    lines = paragraph("it takes 68.0 s before or 97 % of it", 14, 2)
    assert plain(lines).splitlines() == ["  it takes", "  68.0 s", "  before or", "  97 % of it"]
