"""What a program may say about the call it is in. Nothing here ever raises into it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Literal, NoReturn, Self

from llmphases.calls import Call, Usage
from llmphases.capture.attempts import Attempts
from llmphases.capture.current import (
    block_of,
    context_key,
    frame_here,
    recorder_of,
    wired,
)
from llmphases.capture.outcomes import outcome
from llmphases.capture.values import clean_text, clean_value
from llmphases.conventions import is_ours
from llmphases.observers import Frame, complain_once, never_raises, note_once
from llmphases.recorder import CallRecorder
from llmphases.recorder.streams import ANSWER, REASONING
from llmphases.records import assembler

_usage = assembler(Usage)


class LlmCall:
    """A handle on one traced call: marks its moments and says what is known about it.

    Outside any call, with tracing switched off, or after the call's end, every method does
    nothing. `bool(call)` tells whether there is a call that is still open.
    """

    __slots__ = ("_recorder",)

    def __init__(self, recorder: CallRecorder | None) -> None:
        self._recorder = recorder

    def __bool__(self) -> bool:
        """Whether a call is open behind this handle."""
        return self._recorder is not None and self._recorder.is_open

    @property
    def record(self) -> Call | None:
        """What happened, once the call has ended; None before."""
        return self._recorder.record if self._recorder is not None else None

    @never_raises
    def request_sent(self) -> None:
        """A request to a model goes out now. The one before it in this task or thread is over."""
        if self._recorder is not None and not _is_in_block():
            self._recorder.request_sent(wired().now(), context_key(), _base())

    def request(self) -> RequestBlock:
        """A block (sync or async) around one attempt: an exception makes it a failed one.

        When another request follows in the same task or thread, the failed attempt and the
        back-off are the phase `retry`.
        """
        return RequestBlock(self._recorder)

    @never_raises
    def first_token(self, kind: Literal["answer", "reasoning"] = "answer") -> None:
        """The newest request of this task or thread has given its first token now."""
        if self._recorder is not None:
            self._recorder.first_token(
                wired().now(),
                context_key(),
                kind=REASONING if kind == "reasoning" else ANSWER,
                inside_block=_is_in_block(),
            )

    @never_raises
    def last_token(self) -> None:
        """The newest request of this task or thread has given its last token now."""
        if self._recorder is not None:
            now_ns = wired().now()
            self._recorder.last_token(now_ns, context_key(), inside_block=_is_in_block())

    @never_raises
    def usage(
        self,
        source: object = None,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cache_read_input_tokens: int | None = None,
        cache_write_input_tokens: int | None = None,
        reasoning_output_tokens: int | None = None,
    ) -> None:
        """Tokens of one request, added to those of the call's other requests.

        `source` may be a provider's usage object, a dict of one, or a response that holds one; it
        is counted as the GenAI conventions say (input includes cached tokens). Numbers that are
        no whole, non-negative ones are ignored.
        """
        if self._recorder is None:
            return
        given = _usage(
            input_tokens=_count(input_tokens),
            output_tokens=_count(output_tokens),
            cache_read_input_tokens=_count(cache_read_input_tokens),
            cache_write_input_tokens=_count(cache_write_input_tokens),
            reasoning_output_tokens=_count(reasoning_output_tokens),
        )
        self._recorder.add_usage(given)
        if source is not None:
            found = wired().usage_of(source)
            if found is None:
                note_once(f"no usage in a {type(source).__name__}")
            else:
                self._recorder.add_usage(found)

    @never_raises
    def cache(self, result: Literal["hit", "miss"]) -> None:
        """The program's own cache had the answer, or had not."""
        if self._recorder is None:
            return
        if result in {"hit", "miss"}:
            self._recorder.cache(result)
        else:
            _ignored("call.cache", result, "'hit' or 'miss'")

    @never_raises
    def model(
        self,
        request: str | None = None,
        *,
        response: str | None = None,
        provider: str | None = None,
    ) -> None:
        """The model that was asked for, the one that answered, and whose it is."""
        if self._recorder is None:
            return
        facts = self._recorder.facts
        if request is not None:
            facts.request_model = clean_text(str(request))
        if response is not None:
            facts.response_model = clean_text(str(response))
        if provider is not None:
            facts.provider = clean_text(str(provider))

    @never_raises
    def units(self, n: int) -> None:
        """How many work items this call handles: what one call could have in common."""
        if self._recorder is not None:
            if _count(n) is None:
                _ignored("call.units", n, "a whole number, 0 or more")
            else:
                self._recorder.facts.units = n

    @never_raises
    def batch_size(self, n: int) -> None:
        """How many requests of the program were put together in this call."""
        if self._recorder is not None:
            if _count(n) is None:
                _ignored("call.batch_size", n, "a whole number, 0 or more")
            else:
                self._recorder.facts.batch_size = n

    @never_raises
    def set_attribute(self, key: str, value: Any) -> None:
        """An attribute of the program's own, for the call's span only (never for metrics).

        Kept are the kinds that `llmphases.capture.values.clean_value` lists; others are ignored,
        and so are keys under `llmphases.`, which are ours, and those that we write ourselves
        (`gen_ai.usage.input_tokens`: say `usage`, `model` and so on). Others of `gen_ai.` are
        yours, such as `gen_ai.conversation.id`.
        """
        if self._recorder is None:
            return
        cleaned = clean_value(value)
        if not _is_key(key):
            _ignored("call.set_attribute", key, "a name that we do not write")
        elif cleaned is None:
            note_once(f"no attribute value: a {type(value).__name__}")
        else:
            self._recorder.facts.attributes[key] = cleaned


class RequestBlock:
    """One attempt at a request, as a block; made by `LlmCall.request`."""

    __slots__ = ("_asked", "_recorder", "_token")

    def __init__(self, recorder: CallRecorder | None) -> None:
        self._recorder = recorder
        self._asked: Attempts | None = None
        self._token: Any = None

    @never_raises
    def _begin(self) -> None:
        frame = frame_here()
        recorder = self._recorder
        if recorder is None or block_of(frame) is not None:
            return
        wiring = wired()
        variable = wiring.carrier.variable
        base = variable.get()
        asked = self._asked = Attempts(recorder, base, is_one=True)
        asked.ask()
        if asked.request is not None and asked.request.phase is not None:
            job = frame.job if frame else None
            inside = Frame(call=recorder, owner=asked.request.phase, job=job, exchange=asked)
            self._token = variable.set(wiring.carrier.enter(base, inside))

    @never_raises
    def _end(self, error: BaseException | None) -> None:
        token, self._token = self._token, None
        if token is not None:
            leave(token)
        if self._asked is not None:
            if isinstance(error, Exception):
                self._asked.attempt_failed(outcome(error)[1])
            else:
                self._asked.attempt_ended(wired().now())

    def __enter__(self) -> Self:
        """Sent now."""
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete now, or failed."""
        self._end(error)

    async def __aenter__(self) -> Self:
        """Sent now."""
        self._begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete now, or failed."""
        self._end(error)


def current_call() -> LlmCall:
    """The traced call that the current context is in; outside any, a handle that does nothing."""
    return LlmCall(_recorder_here())


@never_raises
def _recorder_here() -> CallRecorder | None:
    return recorder_of(frame_here())


def leave(token: Any) -> None:
    """Make current what was current before; a block left in another context changes nothing."""
    try:
        wired().carrier.variable.reset(token)
    except ValueError:
        return


def _is_in_block() -> bool:
    return block_of(frame_here()) is not None


def _base() -> object:
    return wired().carrier.variable.get()


def _count(n: object) -> int | None:
    if n is None or isinstance(n, bool) or not isinstance(n, int) or n < 0:
        return None
    return n


def _ignored(what: str, given: object, expected: str) -> None:
    try:
        _refuse(what, given, expected)
    except ValueError:
        complain_once(f"{what} was given something it cannot use")


def _refuse(what: str, given: object, expected: str) -> NoReturn:
    """Caught at once; of a long text only the beginning, for it may be a prompt gone astray."""
    raise ValueError(f"{what}({repr(given)[:40]}): expected {expected}")


def _is_key(key: object) -> bool:
    return isinstance(key, str) and bool(key) and not is_ours(key)
