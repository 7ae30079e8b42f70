"""Calls, phases and steps as blocks."""

from __future__ import annotations

import asyncio
import logging

import pytest
from opentelemetry import trace

from llmphases import (
    ArgumentError,
    Ended,
    Phase,
    cache_lookup,
    llm_call,
    post_processing,
    prompt_build,
    queue_wait,
    retrieval,
    step,
    tool,
    traced_llm_call,
    transmission,
)
from llmphases.capture import current

PHASES = [prompt_build, retrieval, cache_lookup, transmission, post_processing, tool, queue_wait]
phases = pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)


@phases
def test_a_block_is_a_phase_of_the_call_around_it(timed_calls, clock, phase):
    with llm_call("call"):
        clock.tick(1)
        with phase():
            clock.tick(2)
    (call,) = timed_calls
    assert call.exclusive_ns == {Phase(phase.__name__): 2_000_000_000}
    assert call.unattributed_ns == 1_000_000_000


@phases
async def test_a_block_is_asynchronous_too(timed_calls, clock, phase):
    async with llm_call("call"), phase():
        clock.tick(2)
    (call,) = timed_calls
    assert call.exclusive_ns == {Phase(phase.__name__): 2_000_000_000}


@phases
def test_a_block_outside_any_call_is_a_span(exported, phase):
    with phase(), step("rerank"):
        pass
    span, detail = exported.one(phase.__name__), exported.one("rerank")
    assert span.parent is None
    assert detail.parent.span_id == span.context.span_id
    assert detail.attributes["llmphases.detail"] is True
    assert exported.calls == []


def test_a_block_nests_under_the_programs_own_span(exported):
    tracer = exported.provider.get_tracer("program")
    with tracer.start_as_current_span("program") as own, retrieval():
        with tracer.start_as_current_span("search"):
            pass
        assert trace.get_current_span() is not own
    block = exported.one("retrieval")
    assert block.parent.span_id == own.context.span_id
    assert exported.one("search").parent.span_id == block.context.span_id


def test_an_error_in_a_block_is_its_type_and_passes(exported):
    with pytest.raises(KeyError), llm_call("call"), retrieval():
        raise KeyError("PII-MARKER")
    for name in ("call", "retrieval"):
        span = exported.one(name)
        assert span.attributes["error.type"] == "KeyError"
        assert not span.status.is_ok
        assert span.events == ()
    with pytest.raises(KeyError), post_processing():
        raise KeyError
    assert exported.one("post_processing").attributes["error.type"] == "KeyError"


@pytest.mark.parametrize(
    ("error", "ended", "error_type"),
    [
        (KeyboardInterrupt, Ended.INTERRUPTED, "KeyboardInterrupt"),
        (SystemExit, Ended.EXIT, None),
        (asyncio.CancelledError, None, "CancelledError"),
        (ValueError, None, "ValueError"),
    ],
)
def test_whatever_leaves_a_call_ends_it(calls, error, ended, error_type):
    """RC-013, RC-017"""
    with pytest.raises(error), llm_call("call"):
        raise error
    assert [(call.ended, call.error_type) for call in calls] == [(ended, error_type)]


async def test_a_cancelled_coroutine_ends_its_call_at_once(calls):
    """RC-013 a"""

    @traced_llm_call
    async def forever():
        await asyncio.Event().wait()

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(forever(), 0.01)
    assert [call.error_type for call in calls] == ["CancelledError"]


async def test_a_cancelled_stream_ends_its_call_at_once(calls):
    """RC-013 b"""

    @traced_llm_call
    async def stream():
        yield "word"
        await asyncio.Event().wait()

    async def consume():
        async for _ in stream():
            pass

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(consume(), 0.01)
    (call,) = calls
    assert (call.ended, call.error_type) == (Ended.CANCELLED, "CancelledError")
    assert call.first_token_ns is not None


def test_a_call_block_around_a_yield_is_the_programs_own(exported, caplog):
    """Left in another context than entered, it logs nothing."""

    def source():
        with llm_call("own"):
            yield 1

    async def async_source():
        with llm_call("async"):
            yield 1

    async def consume():
        stream = async_source()
        await anext(stream)
        await asyncio.create_task(stream.aclose())

    for _ in source():
        break
    asyncio.run(consume())
    assert len(exported.named("own")) == len(exported.named("async")) == 1
    assert caplog.records == []


def test_blocks_in_another_context_change_nothing_there(exported, caplog):
    from contextvars import copy_context

    call = llm_call("call")
    copy_context().run(call.__enter__)
    before = current.wired().carrier.variable.get()
    call.__exit__(None, None, None)
    assert current.wired().carrier.variable.get() is before
    assert len(exported.named("call")) == 1
    assert caplog.records == []


def test_a_step_is_a_detail_and_never_added_up(timed_calls, clock):
    with llm_call("call"), retrieval():
        with step("rerank"):
            clock.tick(1)
        clock.tick(1)
    (call,) = timed_calls
    assert call.exclusive_ns == {Phase.RETRIEVAL: 2_000_000_000}
    assert [detail.name for detail in call.details] == ["rerank"]


def test_a_cache_lookup_says_what_it_found(calls):
    for result in ("hit", "miss"):
        with llm_call("call"), cache_lookup() as lookup:
            lookup.cache(result)
    assert [call.cache_result for call in calls] == ["hit", "miss"]


def test_a_block_left_open_ends_with_its_call(calls):
    call = llm_call("call")
    with call:
        retrieval().__enter__()
    assert [s.phase for s in calls[0].stretches] == [Phase.RETRIEVAL]


def test_a_block_closed_after_its_call_does_no_harm(calls, caplog):
    block = retrieval()
    with llm_call("call"):
        block.__enter__()
    block.__exit__(None, None, None)
    with block:
        pass
    assert len(calls) == 1
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: llm_call(""), "llm_call: name=''; expected a text that is not empty"),
        (lambda: llm_call(5), "llm_call: name=5"),
        (lambda: llm_call("x", model=3), "llm_call: model=3; expected a text, or leave it out"),
        (lambda: step(""), "step"),
        (lambda: step(None), "expected a name, as in"),
        (lambda: retrieval("index"), "phases take no arguments, use step"),
    ],
)
def test_wrong_arguments_say_what_was_expected(make, message):
    with pytest.raises(ArgumentError) as caught:
        make()
    assert message in str(caught.value)


def test_a_phase_says_what_it_is():
    assert repr(retrieval) == "<phase retrieval>"
    assert retrieval.phase is Phase.RETRIEVAL


async def test_fifty_calls_at_once_are_siblings_with_phases_of_their_own(exported):
    """RC-034"""
    from llmphases import llm_job

    async def ask(n):
        async with llm_call("ask"):
            for _ in range(n % 3):
                await asyncio.sleep(0)
            with retrieval():
                await asyncio.sleep(0)

    for _ in range(20):
        exported.forget()
        async with llm_job("fanout"):
            await asyncio.gather(*[ask(n) for n in range(50)])
        (job,) = [span for span in exported.spans if span.name.startswith("fanout")]
        asks = exported.named("ask")
        assert {span.parent.span_id for span in asks} == {job.context.span_id}
        owners = [span.parent.span_id for span in exported.named("retrieval")]
        assert sorted(owners) == sorted(span.context.span_id for span in asks)
        assert len(asks) == 50


async def test_a_thread_nests_if_it_gets_the_context(exported):
    """RC-035: `asyncio.to_thread` takes the context along; `run_in_executor` never did."""

    @traced_llm_call
    def sync():
        return 1

    async with llm_call("outer"):
        await asyncio.to_thread(sync)
        await asyncio.get_running_loop().run_in_executor(None, sync)
    nested, root = exported.named("sync")
    assert nested.parent.span_id == exported.one("outer").context.span_id
    assert root.parent is None
    assert [call.nested for call in exported.calls] == [True, False, False]
