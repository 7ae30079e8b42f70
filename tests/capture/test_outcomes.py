"""How what was traced came to its end."""

from __future__ import annotations

import asyncio

import pytest

from llmphases import Ended
from llmphases.capture.outcomes import outcome


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, (Ended.EXHAUSTED, None)),
        (ValueError(), (Ended.ERROR, "ValueError")),
        (GeneratorExit(), (Ended.CLOSED, None)),
        (SystemExit(1), (Ended.EXIT, None)),
        (KeyboardInterrupt(), (Ended.INTERRUPTED, "KeyboardInterrupt")),
        (asyncio.CancelledError(), (Ended.CANCELLED, "CancelledError")),
    ],
)
def test_how_a_body_ended_is_told_by_what_left_it(error, expected):
    assert outcome(error) == expected
