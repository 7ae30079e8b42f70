"""Events of Bedrock's converse_stream, by their documented form (they are plain dicts)."""

from __future__ import annotations

import pytest

from adapters.recorded import facts, kinds
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.calls import Usage


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"text": "Hi"}, ANSWER),
        ({"text": ""}, NOT_A_TOKEN),
        ({"toolUse": {"input": "{"}}, ANSWER),
        ({"reasoningContent": {"text": "Hm"}}, REASONING),
        ({"reasoningContent": {"signature": "x"}}, NOT_A_TOKEN),
        (None, NOT_A_TOKEN),
    ],
)
def test_what_a_delta_is(delta, expected):
    assert kinds([{"contentBlockDelta": {"delta": delta, "contentBlockIndex": 0}}]) == [expected]


def test_events_around_the_deltas_are_no_tokens():
    events = [{"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn"}}]
    assert kinds(events) == [NOT_A_TOKEN, NOT_A_TOKEN]


def test_the_last_event_has_usage_and_latency():
    usage = {
        "inputTokens": 4,
        "outputTokens": 216,
        "totalTokens": 1757,
        "cacheReadInputTokens": 0,
        "cacheWriteInputTokens": 1537,
    }
    heard = facts([{"metadata": {"usage": usage, "metrics": {"latencyMs": 659}}}])
    assert heard.usage == Usage(
        input_tokens=1541,
        output_tokens=216,
        cache_read_input_tokens=0,
        cache_write_input_tokens=1537,
    )
    assert heard.reported.raw == {"latencyMs": 659}
