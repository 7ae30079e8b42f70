"""Programs made from a seed: a generator's body, and a consumer that does everything to it.

The same seed gives the same program, so it can be run undecorated and decorated, and what the two
saw can be compared: items, return values, exceptions with their chains, context variables.
"""

# ruff: noqa: B904, BLE001, PLR0911, PLR0912, PLR0915, PLR1708  # a program that does everything

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from contextvars import ContextVar
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

import llmphases

SCALE = int(os.environ.get("LLMPHASES_TEST_PROGRAMS", "1"))
"""Set to 10 or 100 for a longer search; read before any fixture takes it away."""

VARIABLES = [ContextVar(f"variable{n}", default="default") for n in range(3)]
UNSET: ContextVar[Any] = ContextVar("without default")
KEY = "a value of the program's own"


class Boom(Exception):
    """An error of the program's own."""


class Stray(BaseException):
    """One that is no `Exception`."""


def chain(error: BaseException | None, depth: int = 0) -> Any:
    """An exception and all that hangs on it."""
    if error is None or depth > 5:
        return None
    return (
        type(error).__name__,
        [arg if not isinstance(arg, BaseException) else type(arg).__name__ for arg in error.args],
        error.__suppress_context__,
        chain(error.__cause__, depth + 1),
        chain(error.__context__, depth + 1),
    )


def variables() -> list[Any]:
    """What every variable of the program's own is."""
    return [*(variable.get() for variable in VARIABLES), UNSET.get("unset")]


def fresh_span(number: int) -> NonRecordingSpan:
    return NonRecordingSpan(SpanContext(1, number + 1, is_remote=False, trace_flags=TraceFlags(1)))


class Touches:
    """What a body or a consumer does to context variables, and undoes later or never."""

    def __init__(self, rng: random.Random, who: str) -> None:
        self.rng = rng
        self.who = who
        self.tokens: list[Any] = []

    def one(self, step: int) -> None:
        what = self.rng.randrange(8)
        variable = self.rng.choice(VARIABLES)
        if what == 0:
            variable.set((self.who, step))
        elif what == 1:
            self.tokens.append((variable, variable.set((self.who, "token", step))))
        elif what == 2 and self.tokens:
            changed, token = self.tokens.pop()
            with contextlib.suppress(ValueError):
                changed.reset(token)
        elif what == 3:
            UNSET.set((self.who, step))


class OtelTouches:
    """What a body does to OpenTelemetry's context: kept to itself, as `with` around `yield` is."""

    def __init__(self, rng: random.Random, log: list[Any]) -> None:
        self.rng = rng
        self.log = log
        self.open: list[Any] = []
        self.number = 0

    def one(self) -> None:
        what = self.rng.randrange(9)
        if what == 0:
            self.number += 1
            self.open.append(
                otel_context.attach(otel_context.set_value(KEY, f"attached {self.number}"))
            )
        elif what == 1:
            self.number += 1
            span = trace.use_span(fresh_span(self.number))
            span.__enter__()
            self.open.append(span)
        elif what == 2 and self.open:
            self.close_one()
        elif what == 3:
            with llmphases.retrieval():
                self.see("in a block")
        self.see("now")

    def close_one(self) -> None:
        last = self.open.pop()
        if hasattr(last, "__exit__"):
            last.__exit__(None, None, None)
        else:
            otel_context.detach(last)

    def see(self, when: str) -> None:
        """Of the body's own: the value it set, and the span it made current, if it did."""
        span = trace.get_current_span().get_span_context()
        own = span.span_id if span.trace_id == 1 and self.open and when == "now" else None
        self.log.append((when, otel_context.get_value(KEY), own))

    def close_all(self) -> None:
        while self.open:
            self.close_one()


def body(seed: int, log: list[Any], *, otel: bool) -> Any:
    """A generator that behaves the same for the same seed."""
    rng = random.Random(seed)
    return _body(rng, log, OtelTouches(rng, log) if otel else None)


def _body(rng: random.Random, log: list[Any], spans: OtelTouches | None) -> Any:
    touches = Touches(rng, "body")
    try:
        step = -1
        for step in range(rng.randrange(7)):
            touches.one(step)
            if spans is not None:
                spans.one()
            log.append(("see", variables()))
            if rng.random() < 0.05:
                raise Boom(step)
            if rng.random() < 0.03:
                raise StopIteration("from the body")
            got = None
            try:
                got = yield rng.choice([step, f"word{step}", "", None, {"text": "x"}, b"raw"])
            except GeneratorExit as error:
                log.append(("closing", chain(error)))
                how = rng.random()
                if how < 0.15:
                    yield "ignored"
                if how < 0.3:
                    return "returned in close"
                if how < 0.4:
                    raise Boom("in close") from None
                if how < 0.7:
                    raise
            except Boom as error:
                log.append(("boom", chain(error)))
                how = rng.random()
                if how < 0.3:
                    raise
                if how < 0.45:
                    raise KeyError("because") from error
                if how < 0.6:
                    raise KeyError("while")
                if how < 0.7:
                    return "returned after boom"
            except (ValueError, KeyboardInterrupt, StopIteration, Stray) as error:
                log.append(("met", chain(error)))
            log.append(("got", got))
            if rng.random() < 0.05:
                raise LookupError("later")
        return ("value", step)
    finally:
        log.append("finally")
        if spans is not None:
            spans.close_all()


def consume(seed: int, generator: Any, log: list[Any]) -> None:
    """Do everything to a generator that a program can do."""
    rng = random.Random(seed)
    touches = Touches(rng, "consumer")
    ops = [
        "next",
        "send",
        "throw",
        "exit",
        "stop",
        "close",
        "interrupt",
        "stray",
        "inside",
        "drain",
    ]
    for step in range(14):
        touches.one(step)
        operation = rng.choices(ops, [10, 5, 2, 0.3, 0.3, 0.4, 0.3, 0.2, 0.6, 0.2])[0]
        try:
            log.append((operation, _do(operation, generator, rng, step)))
        except StopIteration as stop:
            log.append((operation, "stop", stop.value, chain(stop)))
        except BaseException as error:
            log.append((operation, "raised", chain(error)))
        log.append(variables())
        log.append((generator.gi_frame is None, generator.gi_running))


def _do(operation: str, generator: Any, rng: random.Random, step: int) -> Any:
    if operation == "next":
        return next(generator)
    if operation == "send":
        return generator.send(step if step % 3 else None)
    if operation == "throw":
        return generator.throw(rng.choice([Boom(step), ValueError(step), OSError(step)]))
    if operation == "exit":
        return generator.throw(GeneratorExit)
    if operation == "stop":
        return generator.throw(StopIteration(5))
    if operation == "interrupt":
        return generator.throw(KeyboardInterrupt())
    if operation == "stray":
        return generator.throw(Stray(step))
    if operation == "inside":
        return _inside_an_error(generator, step)
    if operation == "drain":
        return list(generator)
    return generator.close()


def _inside_an_error(generator: Any, step: int) -> Any:
    """While the consumer handles an error of its own: it becomes the context of others."""
    try:
        raise LookupError("the consumer's")
    except LookupError:
        return generator.throw(Boom(step)) if step % 2 else next(generator)


def async_body(seed: int, log: list[Any], *, otel: bool) -> Any:
    """An async generator that behaves the same for the same seed."""
    rng = random.Random(seed)
    return _async_body(rng, log, OtelTouches(rng, log) if otel else None)


async def _async_body(rng: random.Random, log: list[Any], spans: OtelTouches | None) -> Any:
    touches = Touches(rng, "body")
    try:
        for step in range(rng.randrange(7)):
            touches.one(step)
            if spans is not None:
                spans.one()
            if rng.random() < 0.4:
                await asyncio.sleep(0)
            if rng.random() < 0.1:
                await asyncio.create_task(asyncio.sleep(0))
            log.append(("see", variables()))
            if rng.random() < 0.05:
                raise Boom(step)
            if rng.random() < 0.03:
                raise StopAsyncIteration("from the body")
            got = None
            try:
                got = yield rng.choice([step, f"word{step}", "", None, {"text": "x"}])
            except GeneratorExit as error:
                log.append(("closing", chain(error)))
                how = rng.random()
                if rng.random() < 0.5:
                    await asyncio.sleep(0)
                    log.append("awaited while closing")
                if how < 0.15:
                    yield "ignored"
                if how < 0.3:
                    return
                if how < 0.4:
                    raise Boom("in close") from None
                if how < 0.7:
                    raise
            except Boom as error:
                log.append(("boom", chain(error)))
                how = rng.random()
                await asyncio.sleep(0)
                if how < 0.3:
                    raise
                if how < 0.45:
                    raise KeyError("because") from error
                if how < 0.6:
                    raise KeyError("while")
                if how < 0.7:
                    return
            except (ValueError, StopAsyncIteration, Stray) as error:
                log.append(("met", chain(error)))
            log.append(("got", got))
            if rng.random() < 0.05:
                raise LookupError("later")
    except asyncio.CancelledError:
        log.append("cancelled")
        if rng.random() < 0.3:
            yield "after the cancellation"
        raise
    finally:
        log.append("finally")
        if spans is not None:
            spans.close_all()


async def consume_async(seed: int, generator: Any, log: list[Any], *, otel: bool) -> None:
    """Do everything to an async generator that a program can do.

    A body that makes something current around a `yield` is stepped in one task only: in another
    one, undecorated, it would not find it.
    """
    rng = random.Random(seed)
    touches = Touches(rng, "consumer")
    ops = ["next", "asend", "athrow", "exit", "stop", "aclose", "cancel", "stray", "task", "early"]
    weights = [10, 5, 2, 0.3, 0.3, 0.4, 0.5, 0.2, *((0, 0) if otel else (0.5, 0.2))]
    for step in range(12):
        touches.one(step)
        operation = rng.choices(ops, weights)[0]
        try:
            log.append((operation, await _do_async(operation, generator, rng, step)))
        except StopAsyncIteration as stop:
            log.append((operation, "stop", chain(stop)))
        except BaseException as error:
            log.append((operation, "raised", chain(error)))
        if asyncio.current_task().cancelling():
            asyncio.current_task().uncancel()
        try:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            log.append("late")
        log.append(variables())
        log.append((generator.ag_frame is None, generator.ag_running))


async def _do_async(operation: str, generator: Any, rng: random.Random, step: int) -> Any:
    if operation == "next":
        return await anext(generator)
    if operation == "asend":
        return await generator.asend(step if step % 3 else None)
    if operation == "athrow":
        return await generator.athrow(rng.choice([Boom(step), ValueError(step), OSError(step)]))
    if operation == "exit":
        return await generator.athrow(GeneratorExit)
    if operation == "stop":
        return await generator.athrow(StopAsyncIteration(5))
    if operation == "stray":
        return await generator.athrow(Stray(step))
    if operation == "cancel":
        awaitable = anext(generator)
        asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)
        return await awaitable
    if operation == "task":
        return await asyncio.create_task(_in_another_task(generator))
    if operation == "early":
        return _by_hand(generator)
    return await generator.aclose()


async def _in_another_task(generator: Any) -> Any:
    VARIABLES[0].set("another task")
    return await anext(generator)


def _by_hand(generator: Any) -> Any:
    """Begin a step as an event loop of another kind does, and drop it where it waits."""
    step = generator.asend(None)
    try:
        waited = step.send(None)
    except StopIteration as done:
        return ("at once", done.value)
    step.close()
    if asyncio.isfuture(waited):
        waited.cancel()
    return "waited"
