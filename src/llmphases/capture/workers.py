"""Work handed to a worker, in a thread or another process: it begins where it was sent from."""

from __future__ import annotations

import contextvars
import functools
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from llmphases.capture.current import adopt_settings, hand_over, is_disabled, settings, stamp, wired
from llmphases.capture.decoration import traced_llm_call
from llmphases.capture.marks import leave
from llmphases.observers import Frame, OpenJob, OpenPhase, OpenSpan, never_raises
from llmphases.phases import Phase

_LONGEST_WAIT_NS = 24 * 3600 * 10**9


class Piece:
    """A piece of a job's work as executors take it: call it with the arguments.

    It needs no word of what kind of executor that is. Where it stays in this process, it runs in a
    copy of the sender's context variables. Where it is pickled, a `Parcel` goes in its place.
    """

    def __init__(self, job: OpenJob, context: Any, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function
        # Some executors label their work by this.
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self._job = job
        self._context = context
        self._variables = contextvars.copy_context()
        self._submitted_ns = wired().now()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the work under the job's span."""
        return self._variables.run(self._run, args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        parcel = _pack(self._job, self._context, self._submitted_ns, self.__wrapped__)
        if parcel is None:
            return functools.partial, (self.__wrapped__,)
        return functools.partial, (run_parcel, parcel, self.__wrapped__)

    def _run(self, args: Any, kwargs: Any) -> Any:
        token = arrive(self._job, self._context, self._submitted_ns)
        try:
            return self.__wrapped__(*args, **kwargs)
        finally:
            if token is not None:
                leave(token)


def is_async(function: Any) -> bool:
    """Whether a function is work for an event loop: no worker can take that."""
    while isinstance(function, functools.partial):
        function = function.func
    called = getattr(type(function), "__call__", None)  # noqa: B004  # the method itself is wanted
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


@never_raises
def arrive(job: OpenJob, context: Any, submitted_ns: int) -> Any:
    """A worker in this process has taken the work: note the wait, and stand in the job.

    Gives the token to leave with.
    """
    carrier = wired().carrier
    waited = _waited(job, context, submitted_ns, parent=job)
    there = carrier.frame_of(context)
    # Without an owner the current span stays what it was for the sender: the job's, or a span of
    # the program's own inside of it.
    frame = Frame(
        call=there.call if there is not None else None,
        block=there.block if there is not None else None,
        job=job,
        queued=waited,
    )
    return carrier.variable.set(carrier.enter(context, frame))


def _waited(job: OpenJob, context: Any, submitted_ns: int, *, parent: OpenSpan | None) -> OpenPhase:
    """The wait for a worker that ends now; drawn, if it is long enough to be seen."""
    wiring = wired()
    at_ns = wiring.now()
    waited = OpenPhase(Phase.QUEUE_WAIT, submitted_ns, parent, offset_ns=job.offset_ns)
    waited.job = job
    waited.base = context
    waited.end_ns = max(at_ns, submitted_ns)
    place = job.lane.fit(job.wall(submitted_ns), job.wall(at_ns))
    if place is not None:
        waited.drawn_start_us, waited.drawn_end_us = place
        wiring.observers.phase_written(waited)
    return waited


# --- in another process ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """What a worker in another process needs to go on in the job."""

    job: str
    workers: int | None
    is_inside_call: bool
    started_ns: int
    """When the job began, on the sender's clock, as the next two."""
    offset_ns: int
    submitted_ns: int
    machine: str
    """Only there do the sender's monotonic times mean anything."""
    headers: Mapping[str, str]
    settings: Mapping[str, Any] | None
    """How the sender was configured, for workers that were not forked from it; no secrets."""
    decoration: Mapping[str, Any] | None
    """How the function is decorated: what pickles a function by its code loses that."""


@never_raises
def _pack(job: OpenJob, context: Any, submitted_ns: int, function: object) -> Parcel:
    return Parcel(
        job=job.name,
        workers=job.workers,
        is_inside_call=job.is_inside_call,
        started_ns=job.start_ns,
        offset_ns=job.offset_ns,
        submitted_ns=submitted_ns,
        machine=_machine(),
        headers=wired().carrier.inject(context),
        settings=_portable(settings()),
        decoration=getattr(function, "_self_options", None),
    )


def run_parcel(parcel: Parcel, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """In the worker process: run the work under the job's span, then send what it left."""
    if is_disabled():
        return function(*args, **kwargs)
    if parcel.decoration is not None and not hasattr(function, "_self_options"):
        function = traced_llm_call(**parcel.decoration)(function)
    token = _unpack(parcel)
    try:
        return function(*args, **kwargs)
    finally:
        if token is not None:
            leave(token)
        hand_over()


@never_raises
def _unpack(parcel: Parcel) -> Any:
    adopt_settings(parcel.settings)
    wiring = wired()
    context = wiring.carrier.extract(parcel.headers)
    at_ns, offset_ns = stamp(None)
    same_clock = (
        parcel.machine == _machine() and 0 <= at_ns - parcel.submitted_ns < _LONGEST_WAIT_NS
    )
    start_ns = at_ns
    if same_clock:
        start_ns, offset_ns = parcel.started_ns, parcel.offset_ns
    job = OpenJob(parcel.job, parcel.workers, start_ns, offset_ns)
    job.is_inside_call = parcel.is_inside_call
    waited = _waited(job, context, parcel.submitted_ns, parent=None) if same_clock else None
    frame = Frame(job=job, queued=waited)
    return wiring.carrier.variable.set(wiring.carrier.enter(context, frame))


def _machine() -> str:
    import socket  # noqa: PLC0415  # only where work leaves this process

    return socket.gethostname()


def _portable(given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The settings, if all of them can travel: a provider of the program's own cannot.

    Headers stay here, for what is pickled may be stored or sent in the clear, and they hold keys.
    """
    told = {key: value for key, value in (given or {}).items() if key != "headers"}
    return told if given is not None and all(map(_is_portable, told.values())) else None


def _is_portable(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int, float, os.PathLike))
