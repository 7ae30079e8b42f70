"""What a stream tells the call it belongs to: when, how it ended, and at what price."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import weakref

import pytest
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context

from capture.fake_streams import FakeStream, SelfIterating, token
from llmphases import Ended, Phase, current_call, llm_call, traced_llm_call, traced_stream

S = 1_000_000_000


@traced_llm_call
def words(n=3):
    for number in range(n):
        yield f"word{number}"


@traced_llm_call
async def async_words(n=3):
    for number in range(n):
        yield f"word{number}"


# --- ends -----------------------------------------------------------------------------------


def test_a_generator_ends_its_call_in_every_way(calls):
    """RC-011; a generator cannot tell being closed from being dropped."""
    list(words())
    for _ in words():
        break
    stream = words()
    next(stream)
    stream.close()
    with contextlib.closing(words()) as stream:
        next(stream)
    stream = words()
    next(stream)
    with pytest.raises(KeyError):
        stream.throw(KeyError)
    stream = words()
    next(stream)
    with pytest.raises(KeyboardInterrupt):
        stream.throw(KeyboardInterrupt)
    words()
    assert [(call.ended, call.chunks) for call in calls] == [
        (Ended.EXHAUSTED, 3),
        (Ended.CLOSED, 1),
        (Ended.CLOSED, 1),
        (Ended.CLOSED, 1),
        (Ended.ERROR, 1),
        (Ended.INTERRUPTED, 1),
    ]
    assert all(call.first_token_ns is not None for call in calls)


# --- whether the answer streams --------------------------------------------------------------


def test_what_a_generator_yields_is_a_streamed_answer_if_nothing_speaks_of_a_request(calls):
    list(words())
    assert [call.stream for call in calls] == [True]


def test_a_generator_around_an_answer_that_does_not_stream_has_no_stream(calls):
    """Its items are its own, however they come."""

    @traced_llm_call
    def sentences():
        with current_call().request():
            answer = "One. Two."
        yield from answer.split()

    @traced_llm_call
    def around():
        with llm_call("inside") as call:
            call.request_sent()
        yield "word"

    list(sentences())
    list(around())
    assert [(call.name, call.stream, call.chunks) for call in calls] == [
        ("sentences", False, 2), ("inside", False, None), ("around", False, 1),
    ]  # fmt: skip


def test_a_generator_without_tokens_has_no_stream(calls):
    @traced_llm_call
    def nothing():
        yield from ()

    list(nothing())
    assert [call.stream for call in calls] == [False]


def test_a_stream_that_is_returned_or_watched_is_a_streamed_answer(calls):
    @traced_llm_call
    def returned():
        return iter(["a", "b"])

    @traced_llm_call
    def watched():
        current_call().request_sent()
        for chunk in traced_stream(iter(["a", "b"])):
            yield chunk.upper()

    list(returned())
    list(watched())
    assert [(call.name, call.stream) for call in calls] == [("returned", True), ("watched", True)]


# --- more ends ------------------------------------------------------------------------------


def test_a_body_that_returns_when_it_is_closed_was_closed(calls):
    @traced_llm_call
    def polite():
        try:
            yield "a"
        except GeneratorExit:
            return

    for _ in polite():
        break
    assert [call.ended for call in calls] == [Ended.CLOSED]


async def test_an_async_generator_ends_its_call_in_every_way(calls):
    """RC-011"""
    assert [word async for word in async_words()] == ["word0", "word1", "word2"]
    stream = async_words()
    await anext(stream)
    await stream.aclose()
    async with contextlib.aclosing(async_words()) as stream:
        await anext(stream)
    async for _ in async_words():
        break
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    assert [(call.ended, call.chunks) for call in calls] == [
        (Ended.EXHAUSTED, 3),
        (Ended.CLOSED, 1),
        (Ended.CLOSED, 1),
        (Ended.CLOSED, 1),
    ]


def test_an_event_loop_that_ends_closes_streams_without_complaint(calls):
    """It closes all async generators at the same time; the driver is the only one it knows."""
    complaints, cleaned, kept = [], [], []

    async def source():
        try:
            yield "word"
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            cleaned.append(1)

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, about: complaints.append(about))
        for decorated in (
            traced_llm_call(source),
            traced_llm_call(lambda: source()),
            lambda: traced_stream(source()),
        ):
            stream = decorated()
            await anext(stream)
            kept.append(stream)

    asyncio.run(main())
    assert complaints == []
    assert len(cleaned) == 3
    assert len(calls) == 3


def test_a_step_dropped_in_another_context_raises_nothing(exported):
    """As when a loop that nobody runs any more is collected: the token is of another context."""
    from contextvars import copy_context

    left = []

    @traced_llm_call
    async def source():
        try:
            await Forever()
            yield 1
        except GeneratorExit:
            left.append("closed")
            raise

    class Forever:
        def __await__(self):
            yield

    stream = source()
    step = copy_context().run(lambda: _begun(anext(stream)))
    before = otel_context.get_current()
    with pytest.raises(GeneratorExit):
        step.throw(GeneratorExit())
    assert left == ["closed"]
    assert otel_context.get_current() is before
    assert len(exported.calls) == 1


def _begun(step):
    step.send(None)
    return step


def test_a_suspended_stream_at_exit_is_exported_and_says_nothing(tmp_path):
    """RC-019"""
    program = f"""
        import llmphases
        llmphases.configure(file={str(tmp_path / "spans.jsonl")!r})

        @llmphases.traced_llm_call
        def words():
            yield "a"
            yield "b"

        stream = words()
        for _ in stream:
            break
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "rror" not in done.stderr
    assert (tmp_path / "spans.jsonl").read_text().count('"name":"words"') == 1


# --- context --------------------------------------------------------------------------------


async def test_closing_in_another_task_logs_nothing(exported, caplog):
    """RC-031"""
    before = otel_context.get_current()
    stream = async_words()
    await anext(stream)
    await asyncio.create_task(stream.aclose())
    async for _ in async_words():
        break
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    assert caplog.records == []
    assert len(exported.named("async_words")) == 2
    assert otel_context.get_current() is before


@pytest.mark.parametrize("first", ["a", "b"])
def test_interleaved_streams_are_siblings(exported, first):
    """RC-032"""
    tracer = exported.provider.get_tracer("program")
    with tracer.start_as_current_span("program") as own:
        before = otel_context.get_current()
        streams = {"a": words(), "b": words()}
        for _ in range(2):
            for stream in streams.values():
                next(stream)
                assert otel_context.get_current() is before
        list(streams.pop(first))
        for stream in streams.values():
            list(stream)
        assert otel_context.get_current() is before
    parents = {span.parent.span_id for span in exported.named("words")}
    assert parents == {own.context.span_id}


def test_a_suspended_stream_is_nobodys_parent(exported):
    """RC-017"""
    kept = words()
    next(kept)
    tracer = exported.provider.get_tracer("program")
    with tracer.start_as_current_span("unrelated"):
        pass
    assert exported.one("unrelated").parent is None


def test_an_interrupt_inside_a_chunk_ends_the_call_and_passes(exported):
    """RC-017"""

    @traced_llm_call
    def interrupted():
        yield "a"
        raise KeyboardInterrupt

    stream = interrupted()
    next(stream)
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    span = exported.one("interrupted")
    assert span.attributes["llmphases.stream.ended"] == "interrupted"
    assert span.attributes["error.type"] == "KeyboardInterrupt"


def test_foreign_spans_nest_under_the_phase_that_runs(exported):
    tracer = exported.provider.get_tracer("program")

    @traced_llm_call
    def ask():
        for n in range(3):
            with tracer.start_as_current_span(f"step{n}"):
                pass
            yield f"word{n}"

    list(ask())
    owner = {span.context.span_id: span.name for span in exported.spans}
    assert owner[exported.one("step0").parent.span_id] == "ask"
    assert owner[exported.one("step1").parent.span_id] == "generation"
    assert owner[exported.one("step2").parent.span_id] == "generation"


def test_a_span_of_the_programs_own_around_a_yield_stays_current_in_the_body(exported):
    """Also where the first token makes us put another span of ours in place."""
    tracer = exported.provider.get_tracer("program")

    @traced_llm_call
    def ask():
        with tracer.start_as_current_span("own") as own:
            for n in range(3):
                assert trace.get_current_span() is own
                yield f"word{n}"

    for _ in ask():
        assert not trace.get_current_span().is_recording()
    assert len(exported.named("own")) == 1


def test_what_a_body_attaches_stays_with_the_body(exported):
    seen = []

    @traced_llm_call
    def ask():
        attached = otel_context.attach(baggage.set_baggage("who", "body"))
        for n in range(2):
            seen.append(baggage.get_baggage("who"))
            yield f"word{n}"
        otel_context.detach(attached)
        seen.append(baggage.get_baggage("who"))

    for _ in ask():
        assert baggage.get_baggage("who") is None
    assert seen == ["body", "body", None]


def test_a_stream_sees_what_was_set_before_it_is_read(exported):
    stream = traced_llm_call(lambda: (baggage.get_baggage("who") for _ in range(1)))()
    attached = otel_context.attach(baggage.set_baggage("who", "consumer"))
    assert list(stream) == ["consumer"]
    otel_context.detach(attached)


def test_a_call_starts_when_its_stream_does(timed, clock):
    """RC-016"""
    tracer = timed.provider.get_tracer("program")

    @traced_llm_call
    def ask():
        clock.tick(1)
        yield "a"
        clock.tick(2)
        yield "b"

    with tracer.start_as_current_span("program"):
        stream = ask()
        clock.tick(10)
        list(stream)
    call, wait, generation = map(timed.one, ("ask", "time_to_first_token", "generation"))
    start_ns = clock.wall() - 3 * S
    assert call.start_time == wait.start_time == start_ns
    assert wait.end_time < generation.start_time <= generation.end_time <= call.end_time


def test_threads_may_pass_a_stream_on(exported):
    stream, got = words(), []
    next(stream)
    thread = threading.Thread(target=lambda: got.extend(stream))
    thread.start()
    thread.join()
    assert got == ["word1", "word2"]
    assert exported.calls[0].chunks == 3


# --- price ----------------------------------------------------------------------------------


class Chunk(dict):
    """A dict that can be referred to weakly."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def many(count, alive):
    for _ in range(count):
        chunk = Chunk(token())
        alive.add(chunk)
        yield chunk
        del chunk


WAYS = {
    "generator": lambda source: traced_llm_call(lambda: source)(),
    "decorated": lambda source: traced_llm_call(lambda: (yield from source))(),
    "iterator": lambda source: traced_llm_call(lambda: itertools.chain(source))(),
    "object": lambda source: traced_llm_call(lambda: Wrapped(source))(),
}


class Wrapped(FakeStream):
    def __init__(self, source):
        self.iterator = source
        self.left = []


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_keeps_no_chunk(calls, way):
    """Memory does not grow with the number of chunks: 100,000 of them in all."""
    alive = weakref.WeakSet()
    stream = WAYS[way](many(25_000, alive))
    tracemalloc.start()
    try:
        for _ in itertools.islice(stream, 1_000):
            pass
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        most = 0
        for n, _chunk in enumerate(stream):
            if n % 1_000 == 0:
                most = max(most, len(alive))
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most <= 3
    # A reference to each would be 200,000; the longest stalls, of which a busy machine makes some,
    # are kept.
    assert after - before < 100_000
    del _chunk
    assert len(alive) == 0
    assert calls[0].chunks == 25_000


def test_the_chunk_before_is_not_kept_while_its_consumer_waits():
    """One at most: the last, until the next has come."""
    alive = weakref.WeakSet()
    stream = traced_stream(many(5, alive))
    for _ in range(3):
        next(stream)
        assert len(alive) <= 1


def test_long_stalls_are_kept_up_to_a_number_and_counted_without_end(timed_calls, clock):
    for _ in words(200):
        clock.tick(0.02)
    (call,) = timed_calls
    assert len(call.stalls) == 32
    assert call.exclusive_ns[Phase.TRANSMISSION] == 200 * 20_000_000


def test_an_exception_that_was_thrown_in_is_not_kept(calls):
    class Marked(Exception):
        pass

    @traced_llm_call
    def deaf():
        while True:
            with contextlib.suppress(Marked):
                yield "a"

    stream = deaf()
    next(stream)
    error = Marked()
    gone = weakref.ref(error)
    stream.throw(error)
    error.__traceback__ = None
    del error
    assert gone() is None


def test_a_stream_of_a_call_that_has_ended_is_read_untraced(calls):
    with llm_call("call"):
        stream = traced_stream(SelfIterating())
    assert list(stream) == ["a", "b", "c"]
    assert len(calls) == 1
