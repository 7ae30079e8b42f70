"""The registry of shapes, and functions that a program brings along."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.recorded import kinds
from llmphases.adapters.chunks import UNKNOWN, shape_from_predicate, shape_of
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING

KNOWN_CLASSES = [
    ("openai.types.chat", "ChatCompletionChunk"),
    ("openai.types.responses", "ResponseTextDeltaEvent"),
    ("openai.lib.streaming.chat", "ChunkEvent"),
    ("anthropic.types", "RawContentBlockDeltaEvent"),
    ("google.genai.types", "GenerateContentResponse"),
    ("ollama._types", "ChatResponse"),
    ("ollama._types", "GenerateResponse"),
    ("mistralai.client.models", "CompletionEvent"),
    ("langchain_core.messages.ai", "AIMessageChunk"),
    ("app", "Unknown"),
]


@pytest.mark.parametrize("chunk", [object(), 5, None, 1.5, [], ("Hi",), memoryview(b"Hi")])
def test_rc_022_what_nobody_knows_is_never_a_token(chunk):
    assert shape_of(chunk) is UNKNOWN
    assert (UNKNOWN.kind(chunk), UNKNOWN.facts(chunk)) == (NOT_A_TOKEN, None)


def test_the_same_type_gets_the_same_shape():
    assert shape_of({"a": 1}) is shape_of({"choices": []})
    assert shape_of("Hi") is shape_of(b"there")


def test_classes_made_on_the_way_do_not_pile_up():
    for n in range(2_000):
        assert shape_of(type(f"Chunk{n}", (), {})()) is UNKNOWN
    assert shape_of({}).name == "dict"


def test_rc_055_looking_at_a_chunk_runs_no_code_of_its_own():
    class Sly:
        def __getattribute__(self, name):
            raise AssertionError(name)

        def __eq__(self, other):
            raise AssertionError

        def __bool__(self):
            raise AssertionError

        __hash__ = None

    assert shape_of(Sly()) is UNKNOWN


def test_rc_055_a_class_that_cannot_be_hashed_is_known_too():
    class Meta(type):
        def __eq__(cls, other):
            raise AssertionError

        __hash__ = None

    assert shape_of(Meta("Chunk", (), {})()) is UNKNOWN


@pytest.mark.parametrize("fault", [AttributeError, KeyError, TypeError, RuntimeError, ValueError])
@pytest.mark.parametrize(("module", "name"), KNOWN_CLASSES)
def test_attributes_that_raise_are_no_tokens_and_no_faults(module, name, fault):
    def refuse(self, name):
        raise fault(name)

    sly = type(name, (), {"__module__": module, "__getattr__": refuse})()
    shape = shape_of(sly)
    assert (shape.kind(sly), shape.facts(sly)) == (NOT_A_TOKEN, None)


@pytest.mark.parametrize(("module", "name"), KNOWN_CLASSES)
def test_objects_that_have_none_of_the_fields_are_no_tokens(module, name):
    bare = type(name, (), {"__module__": module})()
    shape = shape_of(bare)
    assert (shape.kind(bare), shape.facts(bare)) == (NOT_A_TOKEN, None)


KEYS = st.sampled_from(
    [
        "choices", "delta", "content", "tool_calls", "function", "reasoning", "type", "index",
        "message", "response", "done", "candidates", "parts", "text", "thought", "usage",
        "usageMetadata", "contentBlockDelta", "metadata", "content_block", "timings", "model",
        "audio", "x_groq", "id", "metrics", "thinking",
    ]
)  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "Hi", "text_delta", "content_block_delta", "message_start", "[DONE]"])
    | st.sampled_from(["response.output_text.delta", "response.completed", "content_block_start"])
)
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5)
)


def objects_of(value, module, name):
    """The same data as objects of a class with an SDK's name."""
    if isinstance(value, dict):
        made = type(name, (), {"__module__": module})()
        vars(made).update({k: objects_of(v, "app", "Part") for k, v in value.items()})
        return made
    return [objects_of(v, "app", "Part") for v in value] if isinstance(value, list) else value


@given(st.dictionaries(KEYS, JSON, max_size=6))
def test_no_dict_is_a_fault(chunk):
    shape = shape_of(chunk)
    assert shape.kind(chunk) in (NOT_A_TOKEN, ANSWER, REASONING)
    shape.facts(chunk)


@given(st.dictionaries(KEYS, JSON, max_size=6), st.sampled_from(KNOWN_CLASSES))
def test_no_object_is_a_fault(raw, known):
    chunk = objects_of(raw, *known)
    shape = shape_of(chunk)
    assert shape.kind(chunk) in (NOT_A_TOKEN, ANSWER, REASONING)
    shape.facts(chunk)


@given(st.text() | st.text("data: {}[]\"\n:'DONE"))
def test_no_text_is_a_fault(text):
    for chunk in (text, text.encode("utf-8", "replace")):
        shape = shape_of(chunk)
        assert shape.kind(chunk) in (NOT_A_TOKEN, ANSWER)
        shape.facts(chunk)


def test_a_fault_while_reading_facts_is_logged_once_and_gives_none(caplog):
    def burst(self):
        raise ZeroDivisionError

    chunk = type("ChatCompletionChunk", (), {"__module__": "openai", "__dict__": property(burst)})()
    with caplog.at_level(logging.ERROR, logger="llmphases"):
        assert [shape_of(chunk).facts(chunk) for _ in range(3)] == [None, None, None]
    assert len(caplog.records) == 1


def test_rc_020_a_program_tells_its_own_tokens():
    shape = shape_from_predicate(lambda chunk: chunk[0] == "token")
    chunks = [("status", "x"), ("token", "Hi"), ("token", "")]
    assert [shape.kind(chunk) for chunk in chunks] == [NOT_A_TOKEN, ANSWER, ANSWER]


def test_a_predicate_that_raises_is_logged_once_and_not_asked_again(caplog):
    asked = []

    def broken(chunk):
        asked.append(chunk)
        raise ValueError(chunk)

    shape = shape_from_predicate(broken)
    assert [shape.kind(chunk) for chunk in "abc"] == [NOT_A_TOKEN] * 3
    assert asked == ["a"]
    assert len(caplog.records) == 1


def test_facts_of_known_chunks_are_heard_beside_a_predicate():
    shape = shape_from_predicate(bool)
    assert shape.facts({"choices": [], "model": "m"}).response_model == "m"


def test_a_truth_that_cannot_be_told_is_no_token():
    class Ambiguous:
        def __bool__(self):
            raise ValueError

    assert shape_from_predicate(lambda _: Ambiguous()).kind("x") == NOT_A_TOKEN
    assert kinds(["x"]) == [ANSWER]
