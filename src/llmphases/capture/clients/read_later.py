"""Generators that ask a model only when they are first advanced, as some SDKs hand them out."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from llmphases.calls import Ended
from llmphases.capture.clients.contract import Method
from llmphases.capture.clients.exchange import Exchange, begin_exchange
from llmphases.capture.current import context_key
from llmphases.capture.flows import Flow
from llmphases.capture.streams import watched
from llmphases.observers import Frame, never_raises
from llmphases.recorder.streams import Reading


def watched_from_first_read(
    method: Method, given_out: Any, client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """What a method gave out; a generator is a request from its first step on, never before."""
    if type(given_out) not in (types.GeneratorType, types.AsyncGeneratorType):
        return given_out
    ask = partial(begin_exchange, method, client, args, kwargs)
    return watched(given_out, AskedWhenRead(ask, partial(method.said_after, client)))


class AskedWhenRead(Flow):
    """The state of a stream whose request goes out with its first step."""

    __slots__ = ("_ask", "_said")

    def __init__(self, ask: Callable[[], Exchange | None], said: Callable[[], Any]) -> None:
        super().__init__(is_own=False)
        self._ask = ask
        self._said = said

    def _begin(self) -> None:
        exchange = self._ask()
        if exchange is None:
            return
        self.call, self.finishes = exchange.call, exchange.owns
        self.context, self.key = exchange.context, context_key()
        track = self.call.stream_opened(self.now(), self.key, own=False, is_answer=True)
        self._tracked_by(track)

    @never_raises
    def seen(self, at_ns: int, kind: int, context: Any) -> Any:
        """As for any stream; the first chunk ends what was to happen within the exchange."""
        frame = self._wiring.carrier.frame_of(context)
        if frame is not None and frame.exchange is not None:
            inside = Frame(call=self.call, owner=self.call, job=frame.job)
            context = self._wiring.carrier.move(context, inside)
        return super().seen(at_ns, kind, context)

    def _end(
        self, reading: Reading, at_ns: int, ended: Ended, error: BaseException | None = None
    ) -> None:
        self._note_what_was_said()
        super()._end(reading, at_ns, ended, error)

    @never_raises
    def _note_what_was_said(self) -> None:
        facts = self._wiring.facts_of(self._said())
        if facts is not None:
            self._facts = facts if self._facts is None else self._facts.then(facts)
