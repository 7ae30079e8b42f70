"""Content that is a list of parts."""

from __future__ import annotations

import pytest

from llmphases.adapters.content_parts import kind_of_parts
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["Hi"], ANSWER),
        ([""], NOT_A_TOKEN),
        ([{"type": "text", "text": "Hi"}], ANSWER),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}], REASONING),
        ([{"type": "reasoning", "summary": [{"text": "Hm"}]}], REASONING),
        ([{"type": "reasoning_content", "reasoning_content": {"text": "Hm"}}], REASONING),
        ([{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Hi"}], ANSWER),
        ([{"type": "tool_use", "name": "f"}], ANSWER),
        ([{"type": "input_json_delta", "partial_json": "{"}], ANSWER),
        ([{"type": "tool_result", "text": "42"}], NOT_A_TOKEN),
        ([None, 5, {}], NOT_A_TOKEN),
        (None, NOT_A_TOKEN),
        ("Hi", NOT_A_TOKEN),
    ],
)
def test_what_a_list_of_parts_is(parts, expected):
    assert kind_of_parts(parts) == expected
