"""Message chunks of LangChain, from the real package."""

from __future__ import annotations

import pytest

from adapters.recorded import facts, kinds
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.calls import Usage

pytestmark = pytest.mark.real


@pytest.fixture
def message():
    return pytest.importorskip("langchain_core.messages").AIMessageChunk


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"content": "Hi"}, ANSWER),
        ({"content": ""}, NOT_A_TOKEN),
        ({"content": []}, NOT_A_TOKEN),
        ({"content": [{"type": "text", "text": "Hi", "index": 0}]}, ANSWER),
        ({"content": [{"type": "text", "text": "", "index": 0}]}, NOT_A_TOKEN),
        ({"content": [{"type": "thinking", "thinking": "Hm", "index": 0}]}, REASONING),
        ({"content": "", "additional_kwargs": {"reasoning_content": "Hm"}}, REASONING),
        ({"content": "", "response_metadata": {"model_name": "m"}}, NOT_A_TOKEN),
    ],
)
def test_what_a_message_chunk_is(message, given, expected):
    assert kinds([message(**given)]) == [expected]


def test_a_tool_call_is_an_answer(message):
    call = {"name": "f", "args": "", "id": "c", "index": 0, "type": "tool_call_chunk"}
    assert kinds([message(content="", tool_call_chunks=[call])]) == [ANSWER]


def test_usage_comes_in_increments_and_adds_up(message):
    def says(given, made):
        counts = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
        return message(content="", usage_metadata=counts, response_metadata={"model_name": "m"})

    chunks = [says(12, 0), message(content="Hi"), says(0, 5)]
    assert facts(chunks).usage == Usage(input_tokens=12, output_tokens=5)
    total = (chunks[0] + chunks[1] + chunks[2]).usage_metadata
    assert (total["input_tokens"], total["output_tokens"]) == (12, 5)
