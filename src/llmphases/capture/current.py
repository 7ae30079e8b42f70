"""The call that runs now, in whatever context, and the one slot that says how it is recorded."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Hashable, Mapping
from threading import get_ident
from typing import Any

from llmphases.calls import Ended
from llmphases.capture.contract import Wiring
from llmphases.capture.late import put_in_force
from llmphases.capture.outcomes import outcome
from llmphases.clock import anchored
from llmphases.conventions import ENV_DISABLED, is_switched_on
from llmphases.observers import Frame, OpenJob, OpenPhase, OpenSpan, never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.collected import forget
from llmphases.recorder.recorder import Description


class _Slot:
    def __init__(self) -> None:
        self.wiring: Wiring | None = None
        self.coming: Wiring | None = None  # what waited for it is done right now
        self.load: Callable[[], Wiring] | None = None
        self.hand_over: Callable[[], object] | None = None
        self.adopt: Callable[[Mapping[str, Any]], None] | None = None
        self.settings: Mapping[str, Any] | None = None
        self.lock = threading.RLock()
        self.open_blocks: set[OpenPhase] = set()  # outside any call
        self.open_calls: set[CallRecorder] = set()
        self.open_jobs: set[OpenJob] = set()


_slot = _Slot()


def set_loader(
    load: Callable[[], Wiring],
    *,
    hand_over: Callable[[], object],
    adopt: Callable[[Mapping[str, Any]], None],
) -> None:
    """Say who makes the wiring when it is first needed, hands over, and repeats a set-up."""
    _slot.load, _slot.hand_over, _slot.adopt = load, hand_over, adopt


def set_settings(given: Mapping[str, Any] | None) -> None:
    """Remember how this process was configured, for the workers it will start."""
    _slot.settings = given


def settings() -> Mapping[str, Any] | None:
    """How this process was configured; None if it was not."""
    return _slot.settings


@never_raises
def adopt_settings(given: Mapping[str, Any] | None) -> None:
    """Configure this worker as the process that sent it work, unless it is configured."""
    if given is not None and _slot.settings is None and _slot.adopt is not None:
        _slot.adopt(given)


@never_raises
def hand_over() -> None:
    """Have every finished span sent soon, without waiting for it."""
    if _slot.hand_over is not None:
        _slot.hand_over()


def wire(wiring: Wiring | None) -> Wiring | None:
    """Put another wiring in force (None: the default, when next needed); returns the old one."""
    with _slot.lock:
        old = _slot.wiring
        put_in_force(wiring, _slot)
    return old


def is_wired() -> bool:
    """Whether a wiring is in force already, or comes into force."""
    return _slot.wiring is not None or _slot.coming is not None


def wired() -> Wiring:
    """The wiring in force; the first use loads it, before any time is stamped."""
    wiring = _slot.wiring
    if wiring is None:
        with _slot.lock:
            wiring = _slot.wiring or _slot.coming
            if wiring is None:
                assert _slot.load is not None
                wiring = _slot.load()
                put_in_force(wiring, _slot)
    return wiring


def is_disabled() -> bool:
    """Whether LLMPHASES_DISABLED switches everything off."""
    return is_switched_on(os.environ.get(ENV_DISABLED))


def is_off_here() -> bool:
    """Whether nobody listens, or `is_disabled`."""
    return is_disabled() if _slot.wiring is None else standing() is None


def standing() -> tuple[Wiring, Any, Frame | None] | None:
    """The wiring, context value and frame in force; None where nobody listens or `is_disabled`."""
    wiring = _slot.wiring
    if wiring is None:
        if is_disabled():
            return None
        wiring = wired()
    if wiring.observers.is_empty:
        return None
    base = wiring.carrier.variable.get()
    frame = wiring.carrier.frame_of(base)
    if frame is None and is_disabled():  # asked last: the environment answers slowly
        return None
    return wiring, base, frame


def context_key() -> Hashable:
    """What tells this task (or thread) from the others of the same call."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:  # noqa: SLF001  # raises nothing, unlike the public one
        task = asyncio.current_task()
        if task is not None:
            return task  # type: ignore[no-any-return]  # a module taken from sys.modules is untyped
    return get_ident()


def frame_here() -> Frame | None:
    """Where the current context stands; None outside everything of ours."""
    carrier = wired().carrier
    return carrier.frame_of(carrier.variable.get())


def recorder_of(frame: Frame | None) -> CallRecorder | None:
    """The open call of a frame."""
    call = frame.call if frame is not None else None
    return call if isinstance(call, CallRecorder) and call.record is None else None


@never_raises
def begin_call(what: Description) -> CallRecorder | None:
    """Open a call here, whose body is to run in `call.context`; None if nobody listens."""
    wiring = wired()
    if wiring.observers.is_empty:
        return None
    carrier = wiring.carrier
    base = carrier.variable.get()
    frame = carrier.frame_of(base)
    outer = recorder_of(frame)
    job = frame.job if frame is not None else None
    parent = (frame.owner or job) if frame is not None else None
    at_ns, offset_ns = stamp(outer or job)
    call = CallRecorder(
        what, at_ns, offset_ns=offset_ns, observers=wiring.observers, outer=outer, parent=parent,
        inside_block=frame is not None and frame.block is not None and outer is not None,
    )  # fmt: skip
    call.base = base
    if frame is not None:
        call.queued_ns = _waited(frame)
        call.nested |= isinstance(frame.call, CallRecorder) and frame.call.is_elsewhere
    if job is not None:
        call.nested |= job.is_inside_call
        if outer is None or outer.job is not job:
            next(job.calls)
    call.started(job)
    call.context = carrier.enter(base, Frame(call=call, owner=call, job=job))
    _slot.open_calls.add(call)
    return call


def _waited(frame: Frame) -> int | None:
    """The wait for a worker belongs to the first call that the worker makes."""
    queued, frame.queued = frame.queued, None
    if queued is None or queued.end_ns is None:
        return None
    return queued.end_ns - queued.start_ns


@never_raises
def end_call(
    call: CallRecorder, error: BaseException | None = None, *, ended: Ended | None = None,
    at_ns: int | None = None, error_type: str | None = None,
) -> None:  # fmt: skip
    """Close a call with what became of it; `error_type` is for a failure that raises nothing."""
    if error is not None:
        how, raised = outcome(error)
        error_type = raised or error_type
        if ended is None and how in {Ended.INTERRUPTED, Ended.EXIT}:
            ended = how
    call.finish(wired().now() if at_ns is None else at_ns, ended, error_type)
    _slot.open_calls.discard(call)


def stamp(around: OpenSpan | None) -> tuple[int, int]:
    """The time, and the anchor to the wall clock: that of what is around, else one of its own."""
    wiring = wired()
    if around is not None:
        return wiring.now(), around.offset_ns
    return anchored(wiring.now, wiring.wall)


def begin_job(name: str, workers: int | None) -> OpenJob:
    """Open a job in the current context."""
    wiring = wired()
    base = wiring.carrier.variable.get()
    frame = wiring.carrier.frame_of(base)
    parent = (frame.owner or frame.job) if frame is not None else None
    at_ns, offset_ns = stamp(parent)
    drawn_us = parent.lane.begin(at_ns + offset_ns) if parent is not None else None
    job = OpenJob(name, workers, at_ns, offset_ns, drawn_us)
    job.base, job.parent = base, parent
    around = frame.job if frame is not None else None
    job.is_inside_call = bool(recorder_of(frame) or (around and around.is_inside_call))
    wiring.observers.job_started(job)
    _slot.open_jobs.add(job)
    return job


@never_raises
def end_job(job: OpenJob) -> None:
    """Close a job; a second time changes nothing."""
    if job.drawn_end_us is not None:
        return
    _slot.open_jobs.discard(job)
    wiring = wired()
    wall_ns = job.wall(wiring.now())
    job.chunks = next(job.pieces) or next(job.calls)
    if job.parent is not None:
        job.drawn_end_us = job.parent.lane.finish(job.drawn_start_us, wall_ns, job.lane.last_us)
    else:
        job.drawn_end_us = max(wall_ns // 1000, job.drawn_start_us + 1, job.lane.last_us)
    wiring.observers.job_ended(job)


@never_raises
def close_open_calls() -> None:
    """End the calls and jobs that are still open: the program is about to go."""
    at_ns = wired().now()
    for call in list(_slot.open_calls):
        call.finish(at_ns, Ended.EXIT)
    _slot.open_calls.clear()
    for job in list(_slot.open_jobs):
        end_job(job)


def block_of(frame: Frame | None) -> OpenPhase | None:
    """The innermost open block of a frame."""
    block = frame.block if frame is not None else None
    return block if block is not None and block.end_ns is None else None


def begin_block(block: OpenPhase) -> None:
    """Tell of a block outside any call."""
    wired().observers.phase_started(block)
    _slot.open_blocks.add(block)


def end_block(block: OpenPhase, error_type: str | None) -> None:
    """Close a block outside any call; a second time changes nothing."""
    if block.end_ns is not None:
        return
    _slot.open_blocks.discard(block)
    wiring = wired()
    block.end_ns = max(wiring.now(), block.start_ns)
    end_us = block.wall(block.end_ns) // 1000 - 1
    block.drawn_end_us = max(end_us, block.drawn_start_us + 1, block.lane.last_us)
    block.error_type = error_type
    wiring.observers.phase_ended(block)


@never_raises
def disown_what_is_open() -> None:
    """This is a forked child: what is open is the parent's to end, and nobody hears of it here."""
    _slot.lock, _slot.coming = threading.RLock(), None
    forget()
    if _slot.wiring is None:
        return
    at_ns = _slot.wiring.now()
    for call in _slot.open_calls:
        call.disown(at_ns)
    for job in _slot.open_jobs:
        job.drawn_end_us = job.drawn_start_us + 1
    for block in _slot.open_blocks:
        block.end_ns = max(at_ns, block.start_ns)
    for opened in (_slot.open_calls, _slot.open_jobs, _slot.open_blocks):
        opened.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=disown_what_is_open)
