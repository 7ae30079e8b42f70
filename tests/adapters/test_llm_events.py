"""Events of `llm`, from the real package."""

from __future__ import annotations

import pytest
from llm.parts import StreamEvent

from llmphases.adapters.chunks import shape_of
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (StreamEvent(type="text", chunk="Hi"), ANSWER),
        (StreamEvent(type="text", chunk=""), NOT_A_TOKEN),
        (StreamEvent(type="reasoning", chunk="Well"), REASONING),
        (StreamEvent(type="reasoning", chunk="", redacted=True), NOT_A_TOKEN),
        (StreamEvent(type="tool_call_name", chunk="look_up"), ANSWER),
        (StreamEvent(type="tool_call_args", chunk="{"), ANSWER),
        (StreamEvent(type="tool_result", chunk="42"), NOT_A_TOKEN),
        (StreamEvent(type=["odd"], chunk="Hi"), NOT_A_TOKEN),
    ],
)
def test_what_is_a_token(event, kind):
    shape = shape_of(event)
    assert (shape.name, shape.kind(event), shape.facts(event)) == ("llm", kind, None)
