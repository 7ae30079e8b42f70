"""Work sent to another process: the context travels along, and the worker hands over its spans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from llmphases.capture.current import adopt_settings, flush, is_disabled, settings, wired
from llmphases.capture.marks import leave
from llmphases.observers import Frame, OpenJob, OpenPhase, never_raises
from llmphases.phases import Phase

R = TypeVar("R")
_LONGEST_WAIT_NS = 24 * 3600 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """What a worker needs: when the work was handed over, in which job, under which span."""

    submitted_ns: int
    job: str
    workers: int | None
    headers: Mapping[str, str]
    settings: Mapping[str, Any] | None
    """How the sending process was configured, for workers that were not forked from it."""


def pack(job: OpenJob, context: Any) -> Parcel:
    """The parcel for one piece of work, handed over now."""
    wiring = wired()
    return Parcel(
        submitted_ns=wiring.now(),
        job=job.name,
        workers=job.workers,
        headers=wiring.carrier.inject(context),
        settings=settings(),
    )


def run_parcel(parcel: Parcel, function: Callable[..., R], args: Any, kwargs: Any) -> R:
    """In the worker process: run the work under the job's span, then hand over what it left."""
    if is_disabled():
        return function(*args, **kwargs)
    token = _arrive(parcel)
    try:
        return function(*args, **kwargs)
    finally:
        if token is not None:
            leave(token)
        flush()


@never_raises
def _arrive(parcel: Parcel) -> Any:
    adopt_settings(parcel.settings)
    wiring = wired()
    context = wiring.carrier.extract(parcel.headers)
    at_ns = wiring.now()
    offset_ns = wiring.wall() - at_ns
    job = OpenJob(parcel.job, parcel.workers, at_ns, offset_ns)
    frame = Frame(job=job, queued=_waited(parcel, context, at_ns, offset_ns))
    return wiring.carrier.variable.set(wiring.carrier.enter(context, frame))


def _waited(parcel: Parcel, context: Any, at_ns: int, offset_ns: int) -> OpenPhase | None:
    """The wait for this worker, if both processes read the same monotonic clock."""
    if not 0 <= at_ns - parcel.submitted_ns < _LONGEST_WAIT_NS:
        return None
    waited = OpenPhase(Phase.QUEUE_WAIT, parcel.submitted_ns, None, offset_ns=offset_ns)
    waited.base = context
    waited.end_ns = at_ns
    waited.drawn_end_us = (at_ns + offset_ns) // 1000 - 1
    if waited.drawn_end_us <= waited.drawn_start_us:
        return None
    wired().observers.phase_written(waited)
    return waited
