"""Decorated generators differ from undecorated ones in nothing that a program can see."""

from __future__ import annotations

import asyncio
import functools
import itertools
from contextvars import copy_context

import pytest
from opentelemetry import context as otel_context

from capture.random_programs import (
    SCALE,
    async_body,
    body,
    consume,
    consume_async,
)
from capture.wirings import WIRINGS, forget
from llmphases import retrieval, traced_llm_call, traced_stream
from llmphases.observers import logger

PROGRAMS = 3_000 * SCALE
"""Decorated calls, with each wiring; with the SDK half of them touch OpenTelemetry's context."""
FEWER = 200 * SCALE
"""All other ways to the same drivers."""

DECORATED = {
    "call": lambda function: traced_llm_call(function),
    "phase": lambda function: retrieval(function),
    "returned": lambda function: traced_llm_call(lambda *args, **named: function(*args, **named)),
    "watched": lambda function: lambda *args, **named: traced_stream(function(*args, **named)),
    "both": lambda function: traced_llm_call(retrieval(function)),
}

wirings = pytest.mark.parametrize("wiring", WIRINGS)
ways = pytest.mark.parametrize("way", DECORATED)


@pytest.fixture(autouse=True)
def _no_complaints(caplog):
    """Zero differences, and not because a fault of ours was swallowed."""
    yield
    ours = [record.getMessage() for record in caplog.records if record.name == logger.name]
    assert ours == []


def difference(plain, ours):
    """Where two logs part, for the message of a failing test."""
    for number, (one, other) in enumerate(itertools.zip_longest(plain, ours)):
        if one != other:
            return f"entry {number}: undecorated {one}, decorated {other}"
    return ""


def run(seed, function, *, otel):
    """One program in a context of its own: what it saw, and whether the context is as it was."""
    log = []

    def program():
        before = otel_context.get_current()
        generator = function(seed, log, otel=otel)
        consume(seed + 1, generator, log)
        del generator
        return otel_context.get_current() is before

    is_restored = copy_context().run(program)
    return list(map(repr, log)), is_restored


async def run_async(seed, function, *, otel):
    """The same for async generators, in a task of its own."""
    log = []

    async def program():
        before = otel_context.get_current()
        generator = function(seed, log, otel=otel)
        await consume_async(seed + 1, generator, log, otel=otel)
        try:
            await generator.aclose()
        except BaseException as error:  # noqa: BLE001  # whatever it is, both must see it
            log.append(type(error).__name__)
        return otel_context.get_current() is before

    is_restored = await asyncio.create_task(program())
    # A step that is dropped where it waits takes its context along, whoever made it.
    return list(map(repr, log)), is_restored or ("early", "waited") in log


@functools.cache
def undecorated(seed, *, otel):
    return run(seed, body, otel=otel)[0]


_undecorated_async = {}


async def undecorated_async(seed, *, otel):
    known = _undecorated_async.get((seed, otel))
    if known is None:
        known, _ = await run_async(seed, async_body, otel=otel)
        _undecorated_async[seed, otel] = known
    return known


def seeds(wiring, way):
    if way != "call":
        return range(FEWER)
    return range(PROGRAMS if wiring == "plain" else PROGRAMS // 2)


@wirings
@ways
def test_random_programs_do_not_differ(wiring, way):
    """Items, sent values, exceptions and their chains, return values, context variables."""
    decorated = DECORATED[way](body)
    with WIRINGS[wiring]() as sink:
        for seed in seeds(wiring, way):
            ours, is_restored = run(seed, decorated, otel=False)
            assert difference(undecorated(seed, otel=False), ours) == "", f"seed {seed}"
            assert is_restored, f"seed {seed}"
            forget(sink)


@ways
def test_what_a_body_makes_current_stays_its_own(way):
    """attach and detach, and a span around a `yield`: the body finds them again at its next step,
    and the consumer never sees them."""
    decorated = DECORATED[way](body)
    with WIRINGS["otel"]() as sink:
        for seed in seeds("otel", way):
            ours, is_restored = run(seed, decorated, otel=True)
            assert difference(undecorated(seed, otel=True), ours) == "", f"seed {seed}"
            assert is_restored, f"seed {seed}"
            forget(sink)


@wirings
@ways
async def test_random_async_programs_do_not_differ(wiring, way):
    """The same for asend, athrow, aclose, cancellation, other tasks and half-done steps."""
    decorated = DECORATED[way](async_body)
    with WIRINGS[wiring]() as sink:
        for seed in seeds(wiring, way):
            ours, is_restored = await run_async(seed, decorated, otel=False)
            plain = await undecorated_async(seed, otel=False)
            assert difference(plain, ours) == "", f"seed {seed}"
            assert is_restored, f"seed {seed}"
            forget(sink)


@ways
async def test_what_an_async_body_makes_current_stays_its_own(way):
    decorated = DECORATED[way](async_body)
    with WIRINGS["otel"]() as sink:
        for seed in seeds("otel", way):
            ours, is_restored = await run_async(seed, decorated, otel=True)
            plain = await undecorated_async(seed, otel=True)
            assert difference(plain, ours) == "", f"seed {seed}"
            assert is_restored, f"seed {seed}"
            forget(sink)
