"""Chunks with choices, whichever SDK they come from."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmphases.adapters import choices
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN


@dataclass
class Part:
    """What an SDK without pydantic may hand out."""

    content: object = None
    delta: object = None
    choices: list = field(default_factory=list)


def test_objects_with_fewer_fields_than_openai_has_are_read_too():
    assert choices.kind(Part(choices=[Part(delta=Part(content="Hi"))])) == ANSWER
    assert choices.kind(Part(choices=[Part(delta=Part())])) == NOT_A_TOKEN
    assert choices.kind(object()) == NOT_A_TOKEN


def test_a_finished_answer_in_one_chunk_is_an_answer():
    raw = {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}
    assert choices.kind_of_dict(raw) == ANSWER


def test_a_chunk_that_says_nothing_has_no_facts():
    assert choices.facts({"choices": []}) is None
