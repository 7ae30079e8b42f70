"""A function that gives out what a model gave it says the tokens of that once more: told once."""

from __future__ import annotations

import asyncio

import pytest

from llmphases import current_call, llm_call, retrieval, traced_llm_call, traced_stream
from llmphases.calls import Usage
from llmphases.testing import recorded_calls

TOLD = Usage(input_tokens=3, output_tokens=2)
CHUNKS = [
    {"choices": [{"delta": {"content": "a"}}]},
    {"choices": [{"delta": {"content": "b"}}]},
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
]


def model():
    yield from CHUNKS


@traced_llm_call(name="inner")
def inner():
    yield from CHUNKS


@traced_llm_call(name="inner")
async def inner_async():
    for chunk in CHUNKS:
        yield chunk


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


def usages(calls):
    return {call.name: call.usage for call in calls}


def relays(*sources):
    @traced_llm_call(name="outer")
    def outer():
        for source in sources:
            yield from source()

    return outer


def test_of_calls_inside_each_other_the_innermost_tells_it(calls):
    """RC-088: totals over all spans count each token once."""
    list(traced_llm_call(relays(inner), name="outermost")())
    assert usages(calls) == {"inner": TOLD, "outer": None} or usages(calls) == {
        "inner": TOLD, "outermost": None,
    }  # fmt: skip
    calls.clear()

    @traced_llm_call(name="outermost")
    def outermost():
        yield from relays(inner)()

    list(outermost())
    assert usages(calls) == {"inner": TOLD, "outer": None, "outermost": None}


def test_nobody_but_the_output_tells_it(calls):
    list(relays(model)())
    assert usages(calls) == {"outer": TOLD}


def test_a_stream_that_is_traced_inside(calls):
    list(relays(lambda: traced_stream(model()))())
    list(relays(lambda: traced_stream(traced_stream(model())))())
    assert [call.usage for call in calls] == [TOLD, TOLD]


def test_two_streams_of_one_call_are_two_requests(calls):
    both = [lambda: traced_stream(model())] * 2
    list(relays(*both)())
    assert usages(calls) == {"outer": TOLD + TOLD}


def test_a_request_that_was_only_marked(calls):
    @traced_llm_call(name="marked")
    def ask():
        current_call().request_sent()
        yield from CHUNKS

    @traced_llm_call(name="told")
    def told():
        with current_call().request():
            chunks = list(CHUNKS)
        current_call().usage(chunks[-1])
        yield from chunks

    list(ask())
    list(told())
    assert usages(calls) == {"marked": TOLD, "told": TOLD}


def test_what_was_told_of_something_else_is_added(calls):
    @traced_llm_call(name="outer")
    def ask():
        current_call().usage(input_tokens=10)  # of embeddings, say
        yield from CHUNKS

    list(ask())
    assert usages(calls) == {"outer": TOLD + Usage(input_tokens=10)}


def test_a_call_in_a_block_says_nothing_of_the_output(calls):
    @traced_llm_call(name="outer")
    def ask():
        with retrieval():
            list(inner())
        yield from CHUNKS

    list(ask())
    assert usages(calls) == {"inner": TOLD, "outer": TOLD}


@pytest.mark.parametrize("ends", ["exhausted", "closed", "dropped"])
@pytest.mark.parametrize(
    "source", [lambda: traced_stream(model()), inner], ids=["stream", "inner call"]
)
def test_however_it_ends(calls, source, ends):
    stream = relays(source)()
    for _ in range(3):
        next(stream)
    if ends == "exhausted":
        assert next(stream, None) is None
    elif ends == "closed":
        stream.close()
    del stream
    assert sum((call.usage for call in calls if call.usage), Usage()) == TOLD


def test_the_same_awaited(calls):
    @traced_llm_call(name="outer")
    async def outer():
        async for chunk in inner_async():
            yield chunk

    async def main():
        return [chunk async for chunk in outer()]

    assert asyncio.run(main()) == CHUNKS
    assert usages(calls) == {"inner": TOLD, "outer": None}


def test_a_block_around_it_reads_no_usage_of_its_own(calls):
    with llm_call("block"):
        list(relays(inner)())
    assert usages(calls) == {"inner": TOLD, "outer": None, "block": None}
