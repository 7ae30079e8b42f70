"""What docs/phases.md says about decorators in a row and about threads."""

from __future__ import annotations

import asyncio
import functools

import pytest

from llmphases import Phase, current_call, llm_call, traced_llm_call
from llmphases.testing import recorded_calls


def failing(times):
    """A function that fails so often, and then answers."""
    left = iter(range(times))

    def ask():
        for _ in left:
            raise ConnectionError
        return "answer"

    return ask


def retry(function):
    """Three attempts, by the library most people use."""
    tenacity = pytest.importorskip("tenacity")
    return tenacity.retry(stop=tenacity.stop_after_attempt(3))(function)


def test_retries_outside_make_a_call_of_every_attempt():
    """RC-049, first order."""
    with recorded_calls() as calls:
        answer = retry(traced_llm_call(failing(2)))()
    assert answer == "answer"
    assert [call.error_type for call in calls] == ["ConnectionError", "ConnectionError", None]


def test_retries_inside_are_one_call_without_an_error():
    """RC-049, second order."""
    with recorded_calls() as calls:
        traced_llm_call(retry(failing(2)))()
    assert [(call.error_type, call.retries) for call in calls] == [(None, 0)]


def test_marked_attempts_inside_are_told_apart():
    """RC-049: what the document advises for the second order."""
    ask = failing(2)

    def attempt():
        with current_call().request():
            return ask()

    with recorded_calls() as calls:
        traced_llm_call(retry(attempt))()
    (call,) = calls
    assert (call.requests, call.retries) == (3, 2)
    assert Phase.RETRY in call.exclusive_ns


def test_a_cache_outside_makes_no_call_of_a_hit():
    """RC-047: the cache above our decorator."""
    with recorded_calls() as calls:
        ask = functools.cache(traced_llm_call(str.upper))
        assert [ask("a"), ask("a")] == ["A", "A"]
    assert len(calls) == 1


def test_a_cache_inside_makes_a_call_of_a_hit():
    """RC-047: the cache below our decorator."""
    with recorded_calls() as calls:
        ask = traced_llm_call(functools.cache(str.upper))
        assert [ask("a"), ask("a")] == ["A", "A"]
    assert len(calls) == 2


@traced_llm_call
def inner():
    return 1


async def test_to_thread_keeps_the_call_and_a_bare_executor_does_not():
    """RC-035."""
    with recorded_calls() as calls:
        async with llm_call("outer"):
            await asyncio.to_thread(inner)
            await asyncio.get_running_loop().run_in_executor(None, inner)
    assert [(call.name, call.nested) for call in calls] == [
        ("inner", True),
        ("inner", False),
        ("outer", False),
    ]
