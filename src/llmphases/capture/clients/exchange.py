"""One use of an SDK's method: a request to a model, or several where the SDK tries again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CoroutineType
from typing import Any

from llmphases.capture.attempts import Attempts
from llmphases.capture.clients.contract import Method
from llmphases.capture.clients.raw_responses import body_of, has_arrived, is_raw, keep
from llmphases.capture.current import (
    begin_call,
    block_of,
    end_call,
    is_off_here,
    recorder_of,
    wired,
)
from llmphases.capture.flows import Flow
from llmphases.capture.marks import leave
from llmphases.capture.outcomes import outcome
from llmphases.capture.returned import named_as
from llmphases.capture.streams import is_stream, watched
from llmphases.capture.values import clean_text
from llmphases.observers import Frame, never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description


class Exchange(Attempts):
    """What was asked of a model: in the call that is open, else in a call of its own."""

    __slots__ = ("context", "is_over", "method", "owns")

    def __init__(self, method: Method, call: CallRecorder, base: object, *, owns: bool) -> None:
        super().__init__(call, base)
        self.method = method
        self.owns = owns
        """Whether the call is its own, and ends with it."""
        self.context: object = None
        """What the SDK's method is to run in."""
        self.is_over = False

    def begin(self) -> None:
        """The method is about to run."""
        self.ask()
        owner = self.request.phase if self.request is not None else None
        call = self.call
        inside = Frame(call=call, owner=owner or call, job=call.job, exchange=self)
        self.context = wired().carrier.enter(self._base, inside)

    @never_raises
    def failed(self, error: BaseException) -> None:
        """The method raised."""
        if isinstance(error, Exception):
            self.attempt_failed(outcome(error)[1])
        else:
            self.attempt_ended(wired().now())
        self._end(error)

    def answered(self, result: Any) -> Any:
        """The method's result: as it is, or a stream that is watched from now on."""
        handed_out = self._answered(result)
        return result if handed_out is None else handed_out

    @never_raises
    def _answered(self, result: Any) -> Any:
        facts = self.call.facts
        facts.provider = facts.provider or never_raises(self.method.answered_by)(result)
        at = self.method.stream_at
        if at is not None and isinstance(result, dict) and is_stream(result.get(at)):
            result[at] = self._watched(result[at])
            return result
        if is_stream(result):
            return self._watched(result)
        now_ns = wired().now()
        if is_raw(result):
            if not has_arrived(result):
                keep(self, result)
                return None
            result = body_of(result)
        self.tell(result)  # first: what a server says of its times decides what the request was
        self.attempt_ended(now_ns)
        self._end(None)
        return None

    def _watched(self, stream: Any) -> Any:
        return watched(stream, self.flow())

    def flow(self) -> Flow:
        """The answer is a stream, and the program has it now; its state."""
        self.is_over = True
        return Flow(call=self.call, is_own=False, finishes=self.owns)

    def tell(self, answer: Any) -> None:
        """Note what a whole answer says beside its text."""
        facts = wired().facts_of(answer)
        if facts is None:
            return
        known = self.call.facts
        known.response_model = facts.response_model or known.response_model
        known.provider = known.provider or facts.provider
        if facts.usage is not None:
            self.call.add_usage(facts.usage)
        if facts.reported is not None:
            self.report(facts.reported)

    def _end(self, error: BaseException | None) -> None:
        self.is_over = True
        if self.owns:
            end_call(self.call, error)


@never_raises
def begin_exchange(
    method: Method, client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Exchange | None:
    """Note that a method asks a model now.

    None where that is not to be seen: tracing is off, no model is asked by it, a block owns what
    happens in it, or the method was called by another one that is seen.
    """
    if is_off_here():
        return None
    told = method.operation
    operation = told if isinstance(told, str) else told(client, args, kwargs)
    if operation is None:
        return None
    wiring = wired()
    base = wiring.carrier.variable.get()
    frame = wiring.carrier.frame_of(base)
    around = frame.exchange if frame is not None else None
    if isinstance(around, Exchange) and around.is_over:
        around = None  # a task that it has left behind asks for itself
    if block_of(frame) is not None or (around is not None and not around.is_one):
        return None
    model, provider = _asked(method, client, args, kwargs)
    call = recorder_of(frame)
    owns = call is None
    if call is None:
        name = f"{operation} {model}" if model else operation
        what = Description(name=name, operation=operation, provider=provider, model=model)
        call = begin_call(what)
        if call is None:
            return None
        base = call.context
    else:
        call.facts.request_model = call.facts.request_model or model
        call.facts.provider = call.facts.provider or provider
    exchange = Exchange(method, call, base, owns=owns)
    if around is not None:
        exchange.take_over(around)
    exchange.begin()
    return exchange


def _asked(
    method: Method, client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[str | None, str | None]:
    """Model and provider, as far as they can be told."""
    model = never_raises(method.model)(client, args, kwargs)
    provider = never_raises(method.provider)(client)
    return clean_text(model) if isinstance(model, str) else None, provider


def run(exchange: Exchange, wrapped: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run a method in the context of its exchange."""
    variable = wired().carrier.variable
    token = variable.set(exchange.context)
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        leave(token)
        exchange.failed(error)
        raise
    leave(token)
    if isinstance(result, CoroutineType):  # a function that is a coroutine's if it is asked so
        return named_as(run_async(exchange, result), result)
    return exchange.answered(result)


async def run_async(exchange: Exchange, body: Any) -> Any:
    """Await the body of a method in the context of its exchange."""
    variable = wired().carrier.variable
    token = variable.set(exchange.context)
    try:
        result = await body
    except BaseException as error:
        leave(token)
        exchange.failed(error)
        raise
    leave(token)
    return exchange.answered(result)
