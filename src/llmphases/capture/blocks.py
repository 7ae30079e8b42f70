"""Calls, phases and steps as blocks (sync and async) and as decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from llmphases.capture.current import (
    begin_block,
    begin_call,
    block_of,
    context_key,
    end_block,
    end_call,
    is_disabled,
    is_off_here,
    recorder_of,
    stamp,
    standing,
    wired,
)
from llmphases.capture.marks import LlmCall, leave
from llmphases.capture.outcomes import outcome
from llmphases.capture.scopes import Scope
from llmphases.errors import ArgumentError
from llmphases.observers import Frame, OpenPhase, never_raises
from llmphases.phases import Phase
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description

F = TypeVar("F", bound=Callable[..., Any])


class PhaseBlock(Scope["PhaseBlock"]):
    """One phase or step, from its entry to its exit; also a decorator for functions."""

    __slots__ = ("_name", "_open", "_phase", "_recorder", "_token")

    def __init__(self, phase: Phase | None, name: str | None = None) -> None:
        super().__init__()
        self._phase = phase
        self._name = name
        self._open: OpenPhase | None = None
        self._recorder: CallRecorder | None = None
        self._token: Any = None

    def __call__(self, function: F) -> F:
        """Put this block around every call of `function`, of whatever kind it is."""
        if is_disabled():
            return function
        from llmphases.capture.decorators import phase_around  # noqa: PLC0415  # loads wrapt, at decoration

        return phase_around(function, self.again)

    def again(self) -> PhaseBlock:
        """Another block of the same kind, for one more run."""
        return PhaseBlock(self._phase, self._name)

    def cache(self, result: str) -> None:
        """For `cache_lookup`: the cache had the answer (`hit`) or had not (`miss`)."""
        LlmCall(self._recorder).cache(result)  # type: ignore[arg-type]  # checked there

    def _begin(self) -> PhaseBlock:
        context = self.open()
        if context is not None:
            self._token = wired().carrier.variable.set(context)
        return self

    @never_raises
    def open(self) -> Any:
        """Begin without making it current; gives the context for what is inside, None if off."""
        here = standing()
        if here is None:
            return None
        wiring, base, frame = here
        recorder = self._recorder = recorder_of(frame)
        if recorder is None:
            opened: OpenPhase | None = _lone(self._phase, self._name, block_of(frame), base)
        elif self._phase is None:
            assert self._name is not None
            opened = recorder.open_step(self._name, wiring.now(), block_of(frame), base)
        else:
            opened = recorder.open_block(
                self._phase, wiring.now(), block_of(frame), context_key(), base
            )
        self._open = opened
        if opened is None:
            return None
        call, job = (None, None) if frame is None else (frame.call, frame.job)
        return wiring.carrier.enter(base, Frame(call=call, block=opened, owner=opened, job=job))

    def _end(self, error: BaseException | None) -> None:
        token, self._token = self._token, None
        if token is not None:
            leave(token)
        self.close(error)

    @never_raises
    def close(self, error: BaseException | None = None) -> None:
        """End what `open` began."""
        opened, self._open = self._open, None
        if opened is None:
            return
        error_type = None if error is None else outcome(error)[1]
        if self._recorder is not None:
            self._recorder.close_block(opened, wired().now(), error_type)
        else:
            end_block(opened, error_type)


def _lone(
    phase: Phase | None, name: str | None, around: OpenPhase | None, base: object
) -> OpenPhase:
    """A block outside any call still gives a span."""
    at_ns, offset_ns = stamp(around)
    kind = phase or (around.phase if around is not None else Phase.INFERENCE)
    opened = OpenPhase(kind, at_ns, around, offset_ns=offset_ns)
    if phase is None:
        opened.is_detail = True
        opened.name = name or kind.value
    opened.base = base
    begin_block(opened)
    return opened


class BlockPhase:
    """A phase that a program opens itself: `with prompt_build():`, `@prompt_build`."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.__name__ = phase.value
        self.__doc__ = f"The phase `{phase.value}`, as a block (sync or async) or a decorator."

    @overload
    def __call__(self, function: None = None, /) -> PhaseBlock: ...
    @overload
    def __call__(self, function: F, /) -> F: ...
    def __call__(self, function: Callable[..., Any] | None = None, /) -> Any:
        """Without an argument a block, or a decorator; with a function, that function decorated."""
        block = PhaseBlock(self.phase)
        if function is None:
            return block
        if not callable(function) and not isinstance(function, (classmethod, staticmethod)):
            name = self.phase.value
            raise ArgumentError(
                f"{name}({function!r}): expected nothing (with {name}(): ...) or a function "
                f"(@{name}); phases take no arguments, use step('...') to name a detail"
            )
        return block(function)

    def __repr__(self) -> str:
        return f"<phase {self.phase.value}>"


prompt_build = BlockPhase(Phase.PROMPT_BUILD)
retrieval = BlockPhase(Phase.RETRIEVAL)
cache_lookup = BlockPhase(Phase.CACHE_LOOKUP)
transmission = BlockPhase(Phase.TRANSMISSION)
post_processing = BlockPhase(Phase.POST_PROCESSING)
tool = BlockPhase(Phase.TOOL)
queue_wait = BlockPhase(Phase.QUEUE_WAIT)


def step(name: str) -> PhaseBlock:
    """A named detail inside a phase (or a call): a span of its own, never added up."""
    if not is_name(name):
        raise ArgumentError(f"step({name!r}): expected a name, as in `with step('rerank'):`")
    return PhaseBlock(None, name)


class CallBlock(Scope[LlmCall]):
    """A call as a block; entering it gives the handle."""

    __slots__ = ("_recorder", "_token", "_what")

    def __init__(self, what: Description) -> None:
        super().__init__()
        self._what = what
        self._recorder: CallRecorder | None = None
        self._token: Any = None

    def again(self) -> CallBlock:
        """Another call of the same kind."""
        return CallBlock(self._what)

    def _begin(self) -> LlmCall:
        if not is_off_here():
            self._recorder = begin_call(self._what)
        if self._recorder is not None:
            self._token = wired().carrier.variable.set(self._recorder.context)
        return LlmCall(self._recorder)

    @never_raises
    def _end(self, error: BaseException | None) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            leave(self._token)
            end_call(recorder, error)


def llm_call(
    name: str,
    *,
    model: str | None = None,
    provider: str | None = None,
    operation: str = "chat",
) -> CallBlock:
    """A call as a block: ``with llm_call("boxes") as call:`` (or ``async with``).

    `name` groups calls in reports; `model`, `provider` and `operation` become `gen_ai.*`
    attributes and are left out where unknown.
    """
    return CallBlock(describe("llm_call", name, model, provider, operation))


def describe(
    what: str, name: str, model: str | None, provider: str | None, operation: str
) -> Description:
    """The description of a call, checked; raises `ArgumentError`."""
    if not is_name(name):
        raise ArgumentError(f"{what}: name={name!r}; expected a text that is not empty")
    for key, value in (("model", model), ("provider", provider), ("operation", operation)):
        if value is not None and not isinstance(value, str):
            raise ArgumentError(f"{what}: {key}={value!r}; expected a text, or leave it out")
    return Description(name=name, model=model, provider=provider, operation=operation)


def is_name(value: object) -> bool:
    """Whether a value can name a call, a step or a job."""
    return isinstance(value, str) and bool(value)
