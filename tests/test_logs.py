"""One line per call."""

from __future__ import annotations

import logging

import pytest

from llmphases.calls import Call
from llmphases.logs import LoggingObserver, line_of
from llmphases.observers import OpenCall
from llmphases.phases import Cost, Phase

S = 1_000_000_000
CALL = Call(
    name="boxes",
    start_unix_ns=0,
    duration_ns=4 * S,
    exclusive_ns={Phase.TIME_TO_FIRST_TOKEN: 2 * S, Phase.GENERATION: S, Phase.RETRY: S // 2},
    unattributed_ns=S // 2,
    unattributed_cost=Cost.FIXED,
    first_token_ns=3 * S,
    retries=1,
    error_type="TimeoutError",
)


def test_a_line_tells_costs_first_token_share_and_error() -> None:
    assert line_of(CALL) == (
        "boxes: 4.000 s, fixed 3.000 s, generation 1.000 s, first token 3.000 s, 75% fixed, "
        "1 retries, failed: TimeoutError"
    )


def test_the_line_goes_to_one_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "llmphases.calls"):
        LoggingObserver().call_ended(OpenCall("boxes", 0, 0, 0), CALL)
    assert [record.name for record in caplog.records] == ["llmphases.calls"]
