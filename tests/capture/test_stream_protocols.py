"""Stream objects that a traced function returns are read as if we were not there."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import threading

import pytest

from capture.fake_streams import (
    AsyncFakeStreamManager,
    AsyncSelfIterating,
    BodyStream,
    FakeAsyncStream,
    FakeStream,
    FakeStreamManager,
    Poll,
    SelfIterating,
    TextStream,
)
from llmphases import Ended, Phase, traced_llm_call


def given(stream):
    """A traced function that gives this stream."""

    @traced_llm_call
    def ask():
        return stream

    return ask()


async def settled():
    """Let the event loop close what has been dropped."""
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)


# --- with -----------------------------------------------------------------------------------


def test_with_hands_out_a_stream_that_is_still_watched(calls):
    """RC-001"""
    raw = FakeStream()
    with given(raw) as stream:
        assert isinstance(stream, FakeStream)
        assert list(stream) == ["a", "b", "c"]
    (call,) = calls
    assert (call.chunks, call.ended) == (3, Ended.EXHAUSTED)
    assert call.first_token_ns is not None
    assert raw.response.closed


async def test_async_with_hands_out_a_stream_that_is_still_watched(calls):
    """RC-001"""
    async with given(FakeAsyncStream()) as stream:
        assert isinstance(stream, FakeAsyncStream)
        assert [chunk async for chunk in stream] == ["a", "b", "c"]
    (call,) = calls
    assert (call.chunks, call.ended) == (3, Ended.EXHAUSTED)
    assert call.first_token_ns is not None


def test_a_manager_hands_out_a_stream_that_is_watched(calls):
    with given(FakeStreamManager()) as stream:
        assert isinstance(stream, TextStream)
        assert list(stream.text_stream) == ["a", "b", "c"]
    assert [(call.chunks, call.ended) for call in calls] == [(3, Ended.EXHAUSTED)]


async def test_an_async_manager_hands_out_a_stream_that_is_watched(calls):
    async with given(AsyncFakeStreamManager()) as stream:
        assert isinstance(stream, FakeAsyncStream)
        assert [chunk async for chunk in stream] == ["a", "b", "c"]
    assert [(call.chunks, call.ended) for call in calls] == [(3, Ended.EXHAUSTED)]


def test_a_manager_left_without_reading_ends_the_call(calls):
    with given(FakeStreamManager()):
        pass
    assert [(call.chunks, call.ended) for call in calls] == [(0, Ended.CLOSED)]


def test_an_error_in_the_with_block_reaches_the_stream_and_the_caller(calls):
    raw = FakeStream()
    with pytest.raises(KeyError), given(raw) as stream:
        next(stream)
        raise KeyError
    assert raw.left == [KeyError]
    assert [call.ended for call in calls] == [Ended.CLOSED]


# --- ends -----------------------------------------------------------------------------------


def test_leaving_a_loop_leaves_the_stream_readable(calls):
    """A `break`, then another loop: the rest is there, and counts."""
    stream = given(FakeStream())
    for chunk in stream:
        assert chunk == "a"
        break
    assert calls == []
    assert list(stream) == ["b", "c"]
    assert [(call.chunks, call.ended) for call in calls] == [(3, Ended.EXHAUSTED)]


def test_leaving_a_loop_closes_the_iterator_at_once(calls):
    """As it does without us: a `finally` in `__iter__` does not wait for the stream to go."""
    raw = FakeStream()
    stream = given(raw)
    for _ in stream:
        break
    assert raw.left == ["iterator"]
    assert list(stream) == ["b", "c"]


def test_next_and_a_loop_read_the_same_stream(calls):
    stream = given(FakeStream("abcdef"))
    assert next(stream) == "a"
    for chunk in stream:
        assert chunk == "b"
        break
    assert next(stream) == "c"
    iterator = iter(stream)
    assert next(iterator) == "d"
    assert next(stream) == "e"
    assert next(iterator) == "f"
    del iterator, stream
    (call,) = calls
    assert call.ended is Ended.DROPPED
    assert call.chunks >= 5


def test_a_closed_iterator_does_not_close_the_stream():
    stream = given(FakeStream())
    with contextlib.closing(iter(stream)) as iterator:
        assert next(iterator) == "a"
    assert list(stream) == ["b", "c"]


def test_what_a_dropped_stream_left_is_kept(calls):
    """RC-011 a"""
    stream = given(FakeStream())
    for _ in stream:
        break
    del stream
    (call,) = calls
    assert (call.ended, call.chunks, call.error_type) == (Ended.DROPPED, 1, None)
    assert call.first_token_ns is not None


def test_a_stream_left_by_with_is_closed(calls):
    """RC-011 b"""
    with given(FakeStream()) as stream:
        for _ in stream:
            break
    (call,) = calls
    assert (call.ended, call.chunks, call.error_type) == (Ended.CLOSED, 1, None)


def test_a_closed_stream_is_closed(calls):
    """RC-011 c"""
    raw = FakeStream()
    stream = given(raw)
    next(stream)
    stream.close()
    (call,) = calls
    assert (call.ended, call.chunks, call.error_type) == (Ended.CLOSED, 1, None)
    assert raw.response.closed
    assert next(stream) == "b", "whatever the object itself does after close"


async def test_an_async_stream_ends_in_every_way(calls):
    """RC-011, async"""
    stream = given(FakeAsyncStream())
    async for _ in stream:
        break
    del stream
    await settled()
    async with given(FakeAsyncStream()) as stream:
        async for _ in stream:
            break
    stream = given(FakeAsyncStream())
    await anext(stream)
    await stream.close()
    stream = given(AsyncSelfIterating())
    await anext(stream)
    await stream.aclose()
    await settled()
    assert [call.ended for call in calls] == [
        Ended.DROPPED,
        Ended.CLOSED,
        Ended.CLOSED,
        Ended.CLOSED,
    ]
    assert [call.chunks for call in calls] == [1, 1, 1, 1]
    assert all(call.error_type is None for call in calls)


def test_a_stream_that_nobody_reads_ends_with_its_last_reference(calls):
    given(FakeStream())
    gc.collect()
    assert [(call.ended, call.chunks) for call in calls] == [(Ended.DROPPED, 0)]
    assert calls[0].first_token_ns is None


async def test_an_async_stream_that_nobody_reads_ends_with_its_last_reference(calls):
    given(FakeAsyncStream())
    gc.collect()
    assert [(call.ended, call.chunks) for call in calls] == [(Ended.DROPPED, 0)]


def test_an_exhausted_stream_stays_exhausted(calls):
    stream = given(FakeStream())
    assert list(stream) == ["a", "b", "c"]
    assert list(stream) == []
    with pytest.raises(StopIteration):
        next(stream)
    stream.close()
    assert [call.ended for call in calls] == [Ended.EXHAUSTED]


def test_an_error_of_the_stream_passes_and_ends_the_call(calls):
    error = ValueError("broken")
    stream = given(Poll(["a", error, "b"]))
    assert next(stream) == "a"
    with pytest.raises(ValueError, match="broken") as caught:
        next(stream)
    assert caught.value is error
    assert (error.__context__, error.__cause__) == (None, None)
    assert [(call.ended, call.error_type) for call in calls] == [(Ended.ERROR, "ValueError")]


def test_a_stream_that_goes_on_after_an_error_does_so():
    """As consumers of queues do: they time out, and are asked again."""
    stream = given(Poll(["a", TimeoutError(), "b", StopIteration(5), "c"]))
    assert next(stream) == "a"
    with pytest.raises(TimeoutError):
        next(stream)
    assert next(stream) == "b"
    with pytest.raises(StopIteration) as stop:
        next(stream)
    assert stop.value.value == 5
    assert next(stream) == "c"


# --- what an object is ----------------------------------------------------------------------


def test_an_iterator_that_is_the_stream_stays_it(calls):
    """What the stream knows is often asked of the iterator."""
    stream = given(SelfIterating())
    iterator = iter(stream)
    assert iterator is stream
    assert list(iterator) == ["a", "b", "c"]
    assert iterator.usage == 3
    assert [(call.chunks, call.ended) for call in calls] == [(3, Ended.EXHAUSTED)]


async def test_an_async_iterator_that_is_the_stream_stays_it(calls):
    stream = given(AsyncSelfIterating())
    assert aiter(stream) is stream
    assert [chunk async for chunk in stream] == ["a", "b", "c"]
    assert [(call.chunks, call.ended) for call in calls] == [(3, Ended.EXHAUSTED)]


def test_the_stream_keeps_its_type_and_attributes(calls):
    """RC-005"""
    raw = SelfIterating()
    stream = given(raw)
    assert isinstance(stream, SelfIterating)
    assert type(stream).__name__ == "SelfIterating"
    assert stream.chunks is raw.chunks
    stream.extra = 1
    assert raw.extra == 1
    assert list(stream) == ["a", "b", "c"]


async def test_closing_works_where_there_is_only_close_and_where_only_aclose():
    """RC-004"""
    raw = FakeAsyncStream()
    stream = given(raw)
    assert stream.response is raw.response
    assert hasattr(stream, "aclose") == hasattr(raw, "aclose") is False
    with pytest.raises(KeyError):
        async with stream:
            raise KeyError
    assert raw.response.closed
    await stream.response.aclose()
    other = given(AsyncSelfIterating())
    assert hasattr(other, "close") is False
    await other.aclose()
    sync = given(FakeStream())
    sync.close()
    assert sync.response.closed


def test_methods_answer_inspect_as_they_do_on_the_object():
    raw, stream = FakeAsyncStream(), given(FakeAsyncStream())
    for name in ("helper", "close", "__anext__", "__aexit__"):
        ours, theirs = getattr(stream, name), getattr(raw, name)
        assert inspect.iscoroutinefunction(ours) == inspect.iscoroutinefunction(theirs), name
    sync = given(FakeStream())
    assert inspect.ismethod(sync.helper)
    assert sync.helper.__name__ == "helper"
    assert sync.helper() == "fake"
    assert inspect.isgeneratorfunction(sync.iter_text)


async def test_a_step_of_an_async_stream_can_be_a_task():
    stream = given(FakeAsyncStream())
    assert await asyncio.create_task(stream.__anext__()) == "a"
    assert await asyncio.wait_for(anext(stream), 60) == "b"


async def test_a_step_that_times_out_does_to_the_stream_what_it_does_without_us():
    class Patient(AsyncSelfIterating):
        async def __anext__(self):
            if self.chunks[:1] == ["wait"]:
                self.chunks.pop(0)
                await asyncio.sleep(60)
            return await super().__anext__()

    stream = given(Patient(["a", "wait", "b"]))
    assert await anext(stream) == "a"
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(anext(stream), 0.001)
    assert [chunk async for chunk in stream] == ["b"]


def test_several_threads_may_read_a_stream_that_allows_it():
    taken, entered = [], threading.Barrier(2, timeout=60)

    class Shared:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 2:
                raise StopIteration
            entered.wait()
            return self.n

    stream = given(Shared())
    threads = [threading.Thread(target=lambda: taken.append(next(stream))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 2


async def test_several_tasks_may_read_a_stream_that_allows_it():
    class Shared:
        def __init__(self):
            self.waiting = asyncio.Event()
            self.n = 0

        def __aiter__(self):
            return self

        async def __anext__(self):
            self.n += 1
            if self.n == 2:
                self.waiting.set()
            await self.waiting.wait()
            return self.n

    stream = given(Shared())
    assert await asyncio.gather(anext(stream), anext(stream)) == [2, 2]


# --- other ways to read ---------------------------------------------------------------------


def test_a_generator_that_the_stream_holds_is_the_stream(calls):
    stream = given(TextStream())
    assert stream.text_stream is stream.text_stream
    for text in stream.text_stream:
        assert text == "a"
        break
    assert list(stream.text_stream) == ["b", "c"]
    assert [(call.chunks, call.ended) for call in calls] == [(3, Ended.EXHAUSTED)]


def test_a_generator_that_a_method_gives_is_the_stream(calls):
    assert list(given(TextStream()).iter_text()) == ["a", "b", "c"]
    assert [(call.chunks, call.ended) for call in calls] == [(3, Ended.EXHAUSTED)]


def test_what_a_method_reads_is_unobserved(calls):
    stream = given(TextStream())
    stream.until_done()
    del stream
    assert [(call.chunks, call.ended) for call in calls] == [(0, Ended.UNOBSERVED)]


@pytest.mark.parametrize("way", ["read", "readline", "iter_lines", "iter_chunks", "iter"])
def test_every_way_to_read_a_body_ends_the_call(calls, way):
    """RC-007"""
    stream = given(BodyStream())
    if way == "read":
        assert stream.read() == b"one\ntwo\n"
    elif way == "readline":
        assert [stream.readline(), stream.readline()] == [b"one\n", b"two\n"]
    else:
        lines = iter(stream) if way == "iter" else getattr(stream, way)()
        assert list(lines) == [b"one\n", b"two\n"]
    del stream
    gc.collect()
    expected = Ended.UNOBSERVED if way.startswith("read") else Ended.EXHAUSTED
    assert [call.ended for call in calls] == [expected]


# --- times ----------------------------------------------------------------------------------


def test_chunks_come_one_by_one_as_they_are_asked_for(timed_calls, clock):
    """RC-008: nothing is pulled ahead, and the consumer's time is its own."""
    pulled = []

    def source():
        for n in range(5):
            clock.tick(0.1)
            pulled.append(n)
            yield f"word{n}"

    class Lazy(SelfIterating):
        def __init__(self):
            self.source = source()

        def __next__(self):
            return next(self.source)

    stream = given(Lazy())
    assert pulled == []
    for n, _ in enumerate(stream):
        assert pulled == list(range(n + 1))
        clock.tick(1)
    (call,) = timed_calls
    assert call.exclusive_ns[Phase.TRANSMISSION] == 5_000_000_000
    assert call.exclusive_ns[Phase.GENERATION] == 400_000_000


def test_the_wait_between_two_loops_is_the_consumers(timed_calls, clock):
    stream = given(FakeStream("abc", clock, 0.1))
    for _ in stream:
        break
    clock.tick(2)
    assert list(stream) == ["b", "c"]
    (call,) = timed_calls
    assert call.exclusive_ns[Phase.TRANSMISSION] == 2_000_000_000
    assert call.exclusive_ns[Phase.GENERATION] == 200_000_000
