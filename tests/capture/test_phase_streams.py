"""Generators that are one phase as a whole."""

from __future__ import annotations

import pytest
from opentelemetry import trace

from llmphases import Phase, llm_call, prompt_build, retrieval, traced_llm_call

S = 1_000_000_000


def test_a_phase_lasts_from_the_first_step_to_the_end(timed_calls, clock):
    @retrieval
    def documents():
        clock.tick(1)
        yield "one"
        clock.tick(1)

    with llm_call("call"):
        stream = documents()
        clock.tick(5)
        for _ in stream:
            clock.tick(2)
    (call,) = timed_calls
    assert call.exclusive_ns == {Phase.RETRIEVAL: 4 * S}
    assert call.first_token_ns is None, "documents are no tokens"


def test_a_generator_that_is_never_advanced_is_no_phase(calls):
    @retrieval
    def documents():
        yield

    with llm_call("call"):
        documents()
    assert calls[0].stretches == ()


@pytest.mark.parametrize("way", ["closed", "dropped", "failed"])
def test_a_phase_ends_whichever_way_its_generator_does(exported, way):
    @retrieval
    def documents():
        yield 1
        raise KeyError

    stream = documents()
    next(stream)
    if way == "closed":
        stream.close()
    elif way == "dropped":
        del stream
    else:
        with pytest.raises(KeyError):
            next(stream)
    span = exported.one("retrieval")
    assert span.attributes.get("error.type") == ("KeyError" if way == "failed" else None)


def test_the_phase_is_current_in_the_steps_only(exported):
    seen = []

    @retrieval
    def documents():
        seen.append(trace.get_current_span().get_span_context().span_id)
        yield
        seen.append(trace.get_current_span().get_span_context().span_id)

    for _ in documents():
        assert not trace.get_current_span().is_recording()
    assert seen == [exported.one("retrieval").context.span_id] * 2


async def test_an_async_generator_is_a_phase_as_well(timed_calls, clock):
    @prompt_build
    async def pieces():
        clock.tick(1)
        yield "one"
        clock.tick(1)

    @traced_llm_call
    async def ask():
        return [piece async for piece in pieces()]

    assert await ask() == ["one"]
    assert timed_calls[0].exclusive_ns == {Phase.PROMPT_BUILD: 2 * S}
