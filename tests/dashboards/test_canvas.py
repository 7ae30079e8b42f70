from __future__ import annotations

import matplotlib.image
import pytest

from dashboards.build import BOARDS, ROOT
from dashboards.canvas import Answer, draw
from dashboards.model import Kind

COURSE = [(-20.0, 1.0), (-10.0, 0.0), (0.0, 2.0)]


def answer_to(panel):
    """Something of everything that such a panel may find."""
    if panel.kind is Kind.HEATMAP:
        return Answer({}, {"1": COURSE, "5": COURSE, "+Inf": [(at, v + 1) for at, v in COURSE]})
    if panel.kind.is_over_the_range:
        return Answer({f"series {n}": n * 1.5 for n in range(len(panel.queries) * 3)}, {})
    return Answer({}, {f"a long series {n}": COURSE for n in range(40)} | {"tool": COURSE[:1]})


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
@pytest.mark.parametrize("has_answers", [True, False])
def test_a_board_is_drawn_whatever_was_found(board, has_answers, tmp_path):
    path = tmp_path / "new" / "picture.png"
    answers = {
        panel.title: answer_to(panel) if has_answers else Answer({}, {}) for panel in board.panels
    }
    draw(board, answers, "a test", path)
    height, width, _ = matplotlib.image.imread(path).shape
    assert 1000 <= width <= 1100
    assert height >= 500


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_the_picture_of_each_board_is_small_enough_for_a_repository(board):
    assert 20_000 < (ROOT / "docs" / "pictures" / f"{board.name}.png").stat().st_size < 200_000
