"""Chunks as OpenAI's SDK makes them, some without choices: no fault, and no token."""

from __future__ import annotations

import pytest
from openai.types.chat import ChatCompletionChunk

from llmphases import traced_stream
from llmphases.testing import FakeClock, recorded_calls

S = 1_000_000_000
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
FILTERED = {"prompt_filter_results": [{"prompt_index": 0}]}


def chunk(choices, **more):
    """Made as from the wire: without checks, so that anything may be in it."""
    about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return ChatCompletionChunk.construct(**about, choices=choices, **more)


def delta(value):
    return [{"index": 0, "delta": value, "finish_reason": None}]


def test_chunks_without_choices():
    """RC-028: as Azure begins, and as all end who were asked for the usage."""
    clock = FakeClock()
    given = [
        chunk([], **FILTERED),
        chunk(delta({"role": "assistant", "content": ""})),
        chunk(delta(None)),
        chunk(None),
        chunk(delta({"content": "Hi"})),
        chunk(delta({"content": " there"})),
        chunk(delta({}), usage=None),
        chunk([], usage=USAGE),
    ]

    def stream():
        for one in given:
            clock.tick(1)
            yield one

    with recorded_calls(clock) as calls:
        assert [id(one) for one in traced_stream(stream())] == list(map(id, given))
    (call,) = calls
    assert (call.chunks, call.first_chunk_ns, call.first_token_ns) == (8, 1 * S, 5 * S)
    assert (call.usage.input_tokens, call.usage.output_tokens) == (3, 2)
    assert [(s.phase.value, s.start_ns / S, s.end_ns / S) for s in call.stretches] == [
        ("time_to_first_token", 0, 5),
        ("generation", 5, 6),
    ]


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": None}, None),
        ({"prompt_tokens": "3", "completion_tokens": -4}, None),
        (USAGE | {"prompt_tokens": "three"}, (None, 2)),
        (USAGE | {"completion_tokens_details": None, "prompt_tokens_details": None}, (3, 2)),
    ],
)
def test_a_last_chunk_of_odd_usage(usage, told):
    """RC-028, RC-029"""
    with recorded_calls() as calls:
        list(traced_stream(iter([chunk(delta({"content": "a"})), chunk([], usage=usage)])))
    (call,) = calls
    assert call.error_type is None
    assert (call.usage and (call.usage.input_tokens, call.usage.output_tokens)) == told
