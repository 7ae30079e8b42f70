"""Which API a dict comes from."""

from __future__ import annotations

from collections import defaultdict

import pytest

from adapters.recorded import kinds
from llmphases.adapters.chunks import shape_of
from llmphases.adapters.contract import ANSWER, REASONING
from llmphases.adapters.dicts import shape_of_dict


@pytest.mark.parametrize(
    ("chunk", "name"),
    [
        ({"choices": []}, "openai_chat_dict"),
        ({"type": "response.created"}, "openai_responses_dict"),
        ({"type": "message_start"}, "anthropic_dict"),
        ({"usageMetadata": {}}, "google_genai_dict"),
        ({"message": {}, "done": False}, "ollama_dict"),
        ({"contentBlockDelta": {}}, "bedrock"),
        ({"type": []}, "plain_dict"),
        ({}, "plain_dict"),
    ],
)
def test_keys_tell_the_api(chunk, name):
    assert shape_of_dict(chunk).name == name


def test_a_stream_may_mix_dicts_of_several_apis():
    mixed = [
        {"choices": [{"delta": {"content": "Hi"}}]},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm"}},
        {"message": {"content": "Hi"}, "done": False},
    ]
    shape = shape_of(mixed[0])
    assert [shape.kind(chunk) for chunk in mixed] == [ANSWER, REASONING, ANSWER]


@pytest.mark.parametrize(
    "raw",
    [
        {"choices": [{"index": 0}]},
        {"type": "content_block_delta"},
        {"type": "content_block_start", "content_block": {"type": "text"}},
        {"type": "response.output_text.delta"},
        {"type": "response.completed", "response": {}},
        {"contentBlockDelta": {}},
        {"candidates": [{"content": {}}]},
        {"message": {}, "done": True},
        {"x": 1},
    ],
)
def test_rc_056_a_dict_that_fills_itself_is_left_as_it_was(raw):
    chunk = filling(raw)
    shape = shape_of(chunk)
    shape.kind(chunk)
    shape.facts(chunk)
    assert chunk == raw


def filling(value):
    if isinstance(value, dict):
        return defaultdict(dict, {name: filling(inner) for name, inner in value.items()})
    return [filling(inner) for inner in value] if isinstance(value, list) else value


def test_subclasses_of_dict_are_dicts():
    class Chunk(dict): ...

    assert kinds([Chunk(choices=[{"delta": {"content": "Hi"}}])]) == [ANSWER]
