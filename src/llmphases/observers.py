"""Who hears of calls as they happen, who carries them from context to context, and the guard.

Nothing here knows OpenTelemetry. This is also the only module that swallows errors: a fault of
ours, of an observer, or of a function that a user or an adapter gave us, is logged once, and the
program goes on.
"""

from __future__ import annotations

import functools
import itertools
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from llmphases.calls import AttributeValue, Call
from llmphases.drawing import Lane
from llmphases.phases import Cost, Origin, Phase

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger("llmphases")

# Found through its class, a member (or its value) costs 0.3 us in Python 3.11.
_MEASURED = Origin.MEASURED
_NAMES = {phase: phase.value for phase in Phase}


class OpenSpan:
    """Something that has begun and will be drawn as one span. Times are monotonic nanoseconds."""

    __slots__ = (
        "_lane", "base", "drawn_end_us", "drawn_start_us", "offset_ns", "start_ns", "state",
    )  # fmt: skip

    def __init__(self, start_ns: int, offset_ns: int, drawn_start_us: int | None = None) -> None:
        self.start_ns = start_ns
        self.offset_ns = offset_ns
        """Wall clock minus monotonic clock: the one anchor of its call."""
        if drawn_start_us is None:
            drawn_start_us = (start_ns + offset_ns) // 1000
        self.drawn_start_us = drawn_start_us
        self.drawn_end_us: int | None = None
        self._lane: Lane | None = None
        self.base: Any = None
        """The context value that was current when it began, as the carrier made it."""
        self.state: Any = None
        """For the observer that draws it."""

    @property
    def lane(self) -> Lane:
        """Where its children are drawn; made with the first, for most spans have none."""
        if self._lane is None:
            self._lane = Lane(self.drawn_start_us)
        return self._lane

    @property
    def last_inside_us(self) -> int:
        """Where its last child is drawn to; it may not end earlier itself."""
        return self.drawn_start_us - 1 if self._lane is None else self._lane.last_us

    def wall(self, at_ns: int) -> int:
        """The wall-clock time of a monotonic one."""
        return at_ns + self.offset_ns


class OpenJob(OpenSpan):
    """Calls that belong together."""

    __slots__ = ("calls", "chunks", "is_inside_call", "name", "parent", "pieces", "workers")

    def __init__(
        self,
        name: str,
        workers: int | None,
        start_ns: int,
        offset_ns: int,
        drawn_start_us: int | None = None,
    ) -> None:
        super().__init__(start_ns, offset_ns, drawn_start_us)
        self._lane = Lane(self.drawn_start_us)  # at once: many threads may ask for it
        self.name = name
        self.workers = workers
        """How many work at once; None where nobody said, as for a plain `asyncio.gather`."""
        self.chunks = 0
        """Pieces of work handed over, else calls made in it; known once the job is over."""
        self.pieces = itertools.count()
        """Advanced by one for each piece: one step, whatever thread takes it, and no lock that a
        fork could find taken."""
        self.calls = itertools.count()
        """Advanced by one for each call that begins in it, not inside another call of it."""
        self.is_inside_call = False
        """Whether it runs inside a traced call, maybe of another process: its calls are nested."""
        self.parent: OpenSpan | None = None
        """The span of ours that it is drawn under."""

    @property
    def waves(self) -> int | None:
        """How often all workers together had to go, had every piece taken equally long."""
        return -(-self.chunks // self.workers) if self.workers else None


class Asked(NamedTuple):
    """One request of a call that is over."""

    duration_ns: int
    """From its issue to the end of its answer, or to its failure."""
    first_chunk_ns: int | None
    """From its issue to the first chunk of a stream; None without one."""
    error_type: str | None
    """Why it failed (`_OTHER`: nobody said); None if it did not."""
    is_resent: bool
    """Whether another one followed because it failed."""


class OpenCall(OpenSpan):
    """A call that has begun; what the start of its span may say."""

    __slots__ = (
        "asked", "job", "name", "nested", "operation", "others", "outer", "provider",
        "request_model", "timeouts", "told_elsewhere",
    )  # fmt: skip

    def __init__(self, name: str, start_ns: int, offset_ns: int, drawn_start_us: int) -> None:
        super().__init__(start_ns, offset_ns, drawn_start_us)
        self.name = name
        self.operation = "chat"
        self.provider: str | None = None
        self.request_model: str | None = None
        self.nested = False
        self.job: OpenJob | None = None
        self.outer: OpenCall | None = None
        self.asked: tuple[Asked, ...] = ()
        """Its own requests, in the order of their issue; known once the call is over."""
        self.timeouts = 0
        """How many of its child processes were ended since they took too long."""
        self.others: list[Any] | None = None
        """Spans that other libraries have begun inside it, as far as an observer notes them."""
        self.told_elsewhere: Any = None
        """What an observer found those to tell of it; for the other observers."""


class OpenPhase(OpenSpan):
    """A phase, a detail inside one (`name` is then its own), or a consumer's stall.

    `phase` may still change while it is open: a request turns out to be a `retry` or `inference`.
    """

    __slots__ = (
        "attributes", "call", "end_ns", "error_type", "is_detail", "is_stall", "job", "name",
        "origin", "parent", "phase", "request", "sequence",
    )  # fmt: skip

    def __init__(
        self,
        phase: Phase,
        start_ns: int,
        parent: OpenSpan | None,
        *,
        offset_ns: int,
        drawn_start_us: int | None = None,
    ) -> None:
        # What OpenSpan does, without the call: several of these are made in every traced call.
        self.start_ns = start_ns
        self.offset_ns = offset_ns
        if drawn_start_us is None:
            drawn_start_us = (start_ns + offset_ns) // 1000
        self.drawn_start_us = drawn_start_us
        self.drawn_end_us = self._lane = self.base = self.state = None
        self.phase = phase
        self.parent = parent
        """What its span is a child of; None: of whatever span is current in `base`."""
        self.call: OpenCall | None = None
        self.job: OpenJob | None = None
        self.name = _NAMES[phase]
        self.end_ns: int | None = None
        self.request: int | None = None
        self.origin = _MEASURED
        self.error_type: str | None = None
        self.attributes: dict[str, AttributeValue] = {}
        self.is_detail = False
        self.is_stall = False
        self.sequence = 0

    @property
    def cost(self) -> Cost:
        """The bucket it is paid in."""
        return self.phase.cost


class Observer:
    """Hears of everything as it happens. Every method does nothing by default.

    Called on the thread where it happens, inside the user's program: be quick. An observer that
    raises is logged once and hears nothing any more.
    """

    hears_on = False
    """Whether it hears of the next event even so: what it calls is the program's, as processors of
    spans are, and one fault there is no end of all tracing."""

    def job_started(self, job: OpenJob) -> None:
        """A job begins."""

    def job_ended(self, job: OpenJob) -> None:
        """A job is over: `drawn_end_us` and `chunks` are known."""

    def call_started(self, call: OpenCall) -> None:
        """A call begins."""

    def phase_started(self, phase: OpenPhase) -> None:
        """A phase or detail begins; `phase.call` is None for a block outside any call."""

    def phase_ended(self, phase: OpenPhase) -> None:
        """It is over: `end_ns` and `drawn_end_us` are set, `phase` and `name` are final."""

    def phase_written(self, phase: OpenPhase) -> None:
        """A phase, detail or stall known only afterwards: both of its ends are in the past."""

    def call_ended(self, call: OpenCall, record: Call) -> None:
        """The call is over, and this is what happened."""


class Frame:
    """Where in the traced program the current context stands."""

    __slots__ = ("block", "call", "exchange", "job", "owner", "queued")

    def __init__(
        self,
        *,
        call: OpenCall | None = None,
        block: OpenPhase | None = None,
        job: OpenJob | None = None,
        owner: OpenSpan | None = None,
        queued: OpenPhase | None = None,
        exchange: Any = None,
    ) -> None:
        self.call = call
        self.block = block
        """The innermost open block or step."""
        self.job = job
        self.owner = owner
        """Whose span is the current one."""
        self.queued = queued
        """The wait for a worker that the next call in this context is to name; used up once."""
        self.exchange = exchange
        """The method of a client library, or the block, that asks a model here; what it calls is
        part of that (`capture.attempts.Attempts`)."""


class Carrier(Protocol):
    """Takes a frame from context to context. A context value is opaque outside the carrier."""

    variable: ContextVar[Any]
    """What is set and reset around each step: `get()` gives the current context value."""

    def enter(self, base: Any, frame: Frame) -> Any:
        """`base` with `frame` in it and the span of `frame.owner` current."""
        ...

    def move(self, context: Any, frame: Frame) -> Any:
        """`context` with another frame in place of its own.

        The span of the new owner is current in it only if that of the old one was: what the
        program itself has made current stays.
        """
        ...

    def frame_of(self, context: Any) -> Frame | None:
        """The frame in a context value."""
        ...

    def inject(self, context: Any) -> dict[str, str]:
        """What another process needs to go on in this context (`traceparent` and the like)."""
        ...

    def extract(self, headers: Mapping[str, str]) -> Any:
        """The context value that another process injected."""
        ...


class PlainCarrier:
    """A carrier without OpenTelemetry: the context value is the frame itself."""

    def __init__(self) -> None:
        self.variable: ContextVar[Any] = ContextVar("llmphases", default=None)

    def enter(self, base: Any, frame: Frame) -> Any:
        """The frame."""
        return frame

    def move(self, context: Any, frame: Frame) -> Any:
        """The frame."""
        return frame

    def frame_of(self, context: Any) -> Frame | None:
        """The value itself."""
        return context if isinstance(context, Frame) else None

    def inject(self, context: Any) -> dict[str, str]:
        """Nothing: there is no span to name."""
        return {}

    def extract(self, headers: Mapping[str, str]) -> Any:
        """Nothing."""
        return None


class Observers(Observer):
    """Tells every observer, and drops one that raises."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._changing = threading.Lock()
        self._listen(tuple(observers))

    def _listen(self, observers: tuple[Observer, ...]) -> None:
        """From now on it is these; each hears only of what it has a method of its own for."""
        self._observers = observers
        self.is_empty = not observers
        """Whether nobody listens: then nothing needs to be recorded."""
        self._of_jobs_started = _hearing(observers, "job_started")
        self._of_jobs_ended = _hearing(observers, "job_ended")
        self._of_calls_started = _hearing(observers, "call_started")
        self._of_phases_started = _hearing(observers, "phase_started")
        self._of_phases_ended = _hearing(observers, "phase_ended")
        self._of_phases_written = _hearing(observers, "phase_written")
        self._of_calls_ended = _hearing(observers, "call_ended")

    def add(self, observer: Observer) -> None:
        """Let one more observer listen from now on."""
        with self._changing:
            self._listen((*self._observers, observer))

    def remove(self, observer: Observer) -> bool:
        """Let an observer listen no more; False if it did not."""
        with self._changing:
            before = self._observers
            self._listen(tuple(o for o in before if o is not observer))
            return len(self._observers) < len(before)

    def __iter__(self) -> Any:
        return iter(self._observers)

    def _drop(self, observer: Observer) -> None:
        if observer.hears_on:
            complain_once(f"a fault below {type(observer).__name__}")
            return
        _let_through_what_a_signal_raised()
        if self.remove(observer):
            _complain("llmphases: %s failed and is switched off", type(observer).__name__)

    def job_started(self, job: OpenJob) -> None:
        for observer in self._of_jobs_started:
            try:
                observer.job_started(job)
            except Exception:
                self._drop(observer)

    def job_ended(self, job: OpenJob) -> None:
        for observer in self._of_jobs_ended:
            try:
                observer.job_ended(job)
            except Exception:
                self._drop(observer)

    def call_started(self, call: OpenCall) -> None:
        for observer in self._of_calls_started:
            try:
                observer.call_started(call)
            except Exception:
                self._drop(observer)

    def phase_started(self, phase: OpenPhase) -> None:
        for observer in self._of_phases_started:
            try:
                observer.phase_started(phase)
            except Exception:
                self._drop(observer)

    def phase_ended(self, phase: OpenPhase) -> None:
        for observer in self._of_phases_ended:
            try:
                observer.phase_ended(phase)
            except Exception:
                self._drop(observer)

    def phase_written(self, phase: OpenPhase) -> None:
        for observer in self._of_phases_written:
            try:
                observer.phase_written(phase)
            except Exception:
                self._drop(observer)

    def call_ended(self, call: OpenCall, record: Call) -> None:
        for observer in self._of_calls_ended:
            try:
                observer.call_ended(call, record)
            except Exception:
                self._drop(observer)


def _hearing(observers: tuple[Observer, ...], event: str) -> tuple[Observer, ...]:
    return tuple(observer for observer in observers if _hears(observer, event))


def _hears(observer: Observer, event: str) -> bool:
    """Whether it does anything about an event; decided by its class, without asking it."""
    kind = type(observer)
    answers_itself = kind.__getattribute__ is not object.__getattribute__
    return answers_itself or getattr(kind, event) is not getattr(Observer, event)


_said: dict[str, object] = {}


def complain_once(what: str) -> None:
    """Log the exception being handled, the first time for each `what`."""
    _let_through_what_a_signal_raised()
    mine = object()
    if _said.setdefault(what, mine) is mine:
        _complain("llmphases: %s; the program goes on, this is logged once", what)


def note_once(what: str) -> None:
    """Say at level DEBUG what is no fault, the first time for each `what`."""
    mine = object()
    if logger.isEnabledFor(logging.DEBUG) and _said.setdefault(what, mine) is mine:
        logger.debug("llmphases: %s", what)


def _let_through_what_a_signal_raised() -> None:
    """A handler of the program's that raises, as time-outs do, means the program and not us."""
    error = sys.exception()
    if error is None or threading.current_thread() is not threading.main_thread():
        return
    import signal  # noqa: PLC0415  # loaded when first needed

    handlers = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    frames = traceback.walk_tb(error.__traceback__)
    if any(frame.f_code in handlers for frame, _ in frames):
        raise error


def _code_of(handler: Any) -> CodeType | None:
    handler = getattr(handler, "func", handler)  # a partial one
    handler = getattr(handler, "__func__", handler)  # a method
    code = getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _complain(message: str, *about: object) -> None:
    """Log the exception being handled; whatever the program's own logging does about it."""
    with suppress(Exception):
        logger.exception(message, *about)


def never_raises(function: Callable[P, R]) -> Callable[P, R | None]:
    """Around everything of ours that runs inside the user's program: a fault gives None."""
    if _takes_one(function):
        return _guarded_of_one(function)

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except Exception:
            complain_once(f"a fault in {function.__qualname__}")
            return None

    return guarded


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether it has one parameter (`self`, mostly), which has no default and is given by place."""
    if type(function) is not FunctionType:  # a bound method counts its `self` as well
        return False
    code = function.__code__
    is_plain = not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS) and not code.co_kwonlyargcount
    return code.co_argcount == 1 and is_plain and not function.__defaults__


def _guarded_of_one(function: Any) -> Callable[P, R | None]:
    """The same, in a fifth of the time: to take any arguments and hand them on costs 0.2 us."""

    @functools.wraps(function)
    def guarded(one: Any, /) -> Any:
        try:
            return function(one)
        except Exception:
            complain_once(f"a fault in {function.__qualname__}")
            return None

    return guarded  # type: ignore[return-value]  # one parameter, seen at run time


def guard(function: Callable[P, R], default: R, what: str) -> Callable[P, R]:
    """A function that a user or an adapter gave us: a fault gives `default`, from then on."""
    broken = False

    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal broken
        if broken:
            return default
        try:
            return function(*args, **kwargs)
        except Exception:
            complain_once(f"{what} failed and is not asked again")
            broken = True
            return default

    return guarded


def forget_complaints() -> None:
    """Say everything again; for tests."""
    _said.clear()
