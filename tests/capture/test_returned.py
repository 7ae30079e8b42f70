"""A call goes on while what its function returned is read or awaited."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import types
import warnings

import pytest

from llmphases import Ended, Phase, retrieval, traced_llm_call
from llmphases.capture import returned


async def answer():
    await asyncio.sleep(0)
    return "answer"


def test_a_coroutine_function_is_one_call(calls):
    assert asyncio.run(traced_llm_call(answer)()) == "answer"
    assert [(call.name, call.stream) for call in calls] == [("answer", False)]


async def test_a_returned_coroutine_is_the_calls(timed_calls, clock):
    """RC-043"""

    async def slow():
        clock.tick(2)
        return "answer"

    coroutine = traced_llm_call(lambda: slow())()
    assert isinstance(coroutine, types.CoroutineType)
    assert coroutine.__name__ == "slow"
    assert timed_calls == []
    assert await coroutine == "answer"
    with pytest.raises(RuntimeError, match="cannot reuse"):
        await coroutine
    assert [call.duration_ns for call in timed_calls] == [2_000_000_000]


@pytest.mark.parametrize("decorator", [traced_llm_call, retrieval])
@pytest.mark.parametrize("kind", ["coroutine function", "returns one"])
def test_a_coroutine_that_nobody_awaits_gives_one_warning(calls, decorator, kind):
    """RC-043"""
    decorated = decorator(answer if kind == "coroutine function" else lambda: answer())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        decorated()
        gc.collect()
    assert [str(w.message) for w in caught] == ["coroutine 'answer' was never awaited"]
    del caught  # the warning holds the coroutine
    has_begun = decorator is traced_llm_call and kind == "returns one"
    assert [call.ended for call in calls] == ([Ended.DROPPED] if has_begun else [])


async def test_returned_futures_and_tasks_are_handed_out_and_timed(calls):
    """RC-043"""
    future = asyncio.get_running_loop().create_future()
    assert traced_llm_call(lambda: future, name="future")() is future
    task = traced_llm_call(lambda: asyncio.ensure_future(answer()), name="task")()
    assert isinstance(task, asyncio.Task)
    assert calls == []
    future.set_result(1)
    assert await future == 1
    assert await task == "answer"
    await asyncio.sleep(0)
    assert {call.name for call in calls} == {"future", "task"}


async def test_a_failed_and_a_cancelled_task_end_their_calls(calls):
    async def fail():
        raise KeyError

    failed = traced_llm_call(lambda: asyncio.ensure_future(fail()), name="failed")()
    with pytest.raises(KeyError):
        await failed
    cancelled = traced_llm_call(lambda: asyncio.ensure_future(answer()), name="gone")()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await asyncio.sleep(0)
    assert [call.error_type for call in calls] == ["KeyError", "CancelledError"]


async def test_an_error_that_nobody_looks_at_is_still_complained_of(calls):
    """As asyncio does for tasks: asking a future for its error would take that away."""
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about))

    async def fail():
        raise KeyError

    task = traced_llm_call(lambda: asyncio.ensure_future(fail()))()
    for _ in range(3):
        await asyncio.sleep(0)
    assert [call.error_type for call in calls] == ["KeyError"]
    del task
    gc.collect()
    assert [about["message"] for about in complaints] == ["Task exception was never retrieved"]


class Promise:
    """Something that can be awaited, and is no coroutine."""

    def __init__(self):
        self.extra = 1

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return "kept"


async def test_a_returned_awaitable_object_is_timed_until_it_was_awaited(calls):
    promise = traced_llm_call(Promise)()
    assert isinstance(promise, Promise)
    assert promise.extra == 1
    assert calls == []
    assert await promise == "kept"
    assert len(calls) == 1
    assert await promise == "kept", "as often as the object allows"


async def test_an_awaitable_object_that_nobody_awaits_ends_its_call(calls):
    traced_llm_call(Promise)()
    gc.collect()
    assert len(calls) == 1


async def test_a_generator_based_coroutine_can_still_be_awaited(calls):
    @traced_llm_call
    @types.coroutine
    def old():
        yield from asyncio.sleep(0).__await__()
        return "old"

    assert await old() == "old"
    assert [call.name for call in calls] == ["old"]


async def test_what_another_decorator_made_of_a_function_is_handed_out_untouched(calls):
    """Proxies say of themselves what the function inside is: look at what really comes out."""
    wrapt = pytest.importorskip("wrapt")

    @wrapt.decorator
    def collected(wrapped, instance, args, kwargs):
        return list(wrapped(*args, **kwargs))

    @wrapt.decorator
    def scheduled(wrapped, instance, args, kwargs):
        return asyncio.ensure_future(wrapped(*args, **kwargs))

    @traced_llm_call
    @collected
    def items():
        yield 1

    @retrieval
    @collected
    def more():
        yield 2

    assert items() == [1]
    assert more() == [2]
    task = traced_llm_call(scheduled(answer))()
    assert isinstance(task, asyncio.Task)
    assert await task == "answer"
    await asyncio.sleep(0)
    assert [call.name for call in calls] == ["items", "answer"]


async def test_all_kinds_of_generators_cover_their_whole_consumption(timed_calls, clock):
    """RC-044, RC-014"""

    def source():
        for n in range(3):
            clock.tick(0.3)
            yield f"word{n}"

    async def async_source():
        for word in source():
            yield word

    async def gives():
        return async_source()

    def consumed(stream):
        return list(stream)

    traced_llm_call(source, name="generator")
    consumed(traced_llm_call(source, name="generator")())
    [_ async for _ in traced_llm_call(async_source, name="async generator")()]
    consumed(traced_llm_call(lambda: source(), name="returned")())
    [_ async for _ in await traced_llm_call(gives, name="awaited, then read")()]
    for call in timed_calls:
        assert call.duration_ns == 900_000_000, call.name
        assert call.first_token_ns == 300_000_000, call.name
        assert call.exclusive_ns[Phase.GENERATION] == 600_000_000, call.name
        assert call.ended is Ended.EXHAUSTED
    assert len(timed_calls) == 4


def test_a_lazy_generator_read_later_keeps_its_call_open(timed, clock, caplog):
    """RC-014"""

    def lazy():
        for n in range(3):
            clock.tick(0.3)
            yield f"word{n}"

    stream = traced_llm_call(lambda: lazy(), name="lazy")()
    clock.tick(0.2)
    assert len(list(stream)) == 3
    (call,) = timed.calls
    assert call.duration_ns == 1_100_000_000
    assert call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] == 300_000_000
    assert call.exclusive_ns[Phase.TRANSMISSION] == 200_000_000
    assert call.first_token_ns == 500_000_000
    assert caplog.records == []
    span = timed.one("lazy")
    assert span.end_time - span.start_time == 1_100_000_000


def test_context_managers_work_above_and_below(calls):
    """RC-010"""
    ended = []

    def managed():
        try:
            yield "resource"
        finally:
            ended.append(1)

    for manager in (
        contextlib.contextmanager(traced_llm_call(managed)),
        traced_llm_call(contextlib.contextmanager(managed)),
        contextlib.contextmanager(retrieval(managed)),
    ):
        with manager() as resource:
            assert resource == "resource"
        with pytest.raises(KeyError), manager():
            raise KeyError
        with manager(), contextlib.suppress(ValueError):
            raise ValueError
    assert len(ended) == 9
    assert len(calls) == 6


async def test_async_context_managers_work_above_and_below(calls):
    """RC-010"""

    async def managed():
        yield "resource"

    for manager in (
        contextlib.asynccontextmanager(traced_llm_call(managed)),
        traced_llm_call(contextlib.asynccontextmanager(managed)),
    ):
        async with manager() as resource:
            assert resource == "resource"
        with pytest.raises(KeyError):
            async with manager():
                raise KeyError
    assert len(calls) == 4


def test_what_is_known_of_a_class_is_not_taken_for_another_and_does_not_pile_up(calls):
    """Classes that are gone leave their ids to others."""
    for number in range(1500):
        members = {"__iter__": iter, "__next__": next} if number % 2 else {}
        kind = type("Made", (), members)
        expected = "stream" if number % 2 else None
        assert returned._read_on_as(kind()) == expected == returned._read_on_as(kind())
    assert len(returned._ways) <= 1000
