"""One driven stream: what stands between the driver's loop and the recorder.

The drivers in `drivers` keep per-chunk state in local variables and call here only for what is
rare: the first chunk, a first token, a long stall, the end. `reading` looks into those variables
when the recorder asks in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from llmphases.calls import Ended, Usage
from llmphases.capture.current import (
    ChunkShape,
    Wiring,
    begin_call,
    context_key,
    end_call,
    outcome,
    wired,
)
from llmphases.observers import Frame, OpenSpan, complain_once, never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.streams import NEW_REQUEST, Reading, StreamTrack

NOTHING = Reading(0, None, None, 0, 0)


class Flow:
    """The state of one stream that is handed to a consumer."""

    __slots__ = (
        "_driver", "_facts_of", "_handed_ns", "_is_over", "_reported", "_shape", "_usage",
        "_wiring", "call", "closing", "context", "finishes", "is_object", "is_own", "key", "now",
        "shape", "touched_ns", "track", "variable", "what",
    )  # fmt: skip

    def __init__(
        self, *, what: Description | None = None, call: CallRecorder | None = None,
        shape: ChunkShape | None = None, is_own: bool = True, finishes: bool = True,
        is_object: bool = False,
    ) -> None:  # fmt: skip
        self.what = what
        """The call to begin at the first step; None if `call` is open already."""
        self.call = call
        self.is_own = is_own
        """Whether the stream is what the traced function itself gives out."""
        self.finishes = finishes
        """Whether the call ends with the stream."""
        self.is_object = is_object
        """Whether it is a stream object, where being dropped can be told from being closed."""
        self.shape = shape
        """What the program said about its chunks; None: found by looking at them."""
        self._wiring: Wiring = wired()
        self.now = self._wiring.now
        self.variable: Any = self._wiring.carrier.variable
        self.context: Any = None
        self.key: Any = None
        self.track: Any = None
        """Its `StreamTrack`, once it has one."""
        self.closing = False
        """Set before a close that the consumer asked for, so that it is no loss."""
        self.touched_ns: int | None = None
        """When the consumer last read by a way around us."""
        self._handed_ns: int | None = None
        self._driver: Callable[[], Any] | None = None
        self._facts_of: Callable[[Any], Any] | None = None
        self._usage: Usage | None = None
        self._reported: ReportedTimes | None = None
        self._is_over = False
        if call is not None:
            self._hand_over(call)

    @never_raises
    def _hand_over(self, call: CallRecorder) -> None:
        """The stream of a call that is open already: until its first step, the consumer has it."""
        at_ns = self.now()
        self._handed_ns = at_ns
        self.key = context_key()
        self.context = call.context
        self.track = call.stream_opened(at_ns, self.key, own=self.is_own)
        if self.track is not None:
            self.track.read = self.reading

    @never_raises
    def start(self, driver: Callable[[], Any]) -> bool | None:
        """The first step: True if the stream is traced."""
        if self._is_over:
            return False
        if self.what is not None:
            self.call = begin_call(self.what)
            if self.call is None:
                return False
            self.key = context_key()
            self.context = self.call.context
            self.track = self.call.stream_opened(self.call.start_ns, self.key, own=True)
        else:
            self._enter_here()
        if self.track is None or self.call is None:
            return False
        self._driver = driver
        self.track.read = self.reading
        return True

    def _enter_here(self) -> None:
        """Let the steps see what the consumer has set since the stream was handed over."""
        assert self.call is not None
        here = self.variable.get()
        frame = Frame(call=self.call, owner=self.call, job=self.call.job)
        self.context = self._wiring.carrier.enter(here, frame)

    def waited_ns(self) -> int:
        """The stall before the first step."""
        return 0 if self._handed_ns is None else max(0, self.now() - self._handed_ns)

    def reading(self) -> Reading:
        """The driver's sums right now."""
        driver = self._driver() if self._driver is not None else None
        if driver is None:
            return NOTHING._replace(held_since_ns=self._handed_ns)
        frame = getattr(driver, "gi_frame", None) or getattr(driver, "ag_frame", None)
        if frame is None:
            return NOTHING
        variables = frame.f_locals
        is_running = getattr(driver, "gi_running", False) or getattr(driver, "ag_running", False)
        count = variables.get("count", 0)
        return Reading(
            variables.get("stall", 0),
            None if is_running or not count else variables["arrived"],
            variables.get("last"),
            variables.get("at_last", 0),
            count,
        )

    def rule_for(self, chunk: Any) -> Callable[[Any], int]:
        """How to tell whether chunks of this type are tokens."""
        shape = self.shape or self._wiring.shape_of(chunk)
        self._facts_of = shape.facts
        return shape.kind

    def broken_rule(self) -> Callable[[Any], int]:
        """A rule raised: say so once, and take this stream's chunks for no tokens."""
        complain_once("a token rule failed")
        return no_token

    @never_raises
    def seen(self, at_ns: int, kind: int, context: Any) -> Any:
        """A chunk that the recorder waits for; gives the context for the steps from now on."""
        assert self.call is not None
        assert self.track is not None
        generation = self.call.chunk_seen(self.track, at_ns, kind, self.key)
        self.track.awaiting &= ~NEW_REQUEST if kind else -1
        if generation is None:
            return context
        return self._owned_by(generation, context)

    def _owned_by(self, span: OpenSpan, context: Any) -> Any:
        """`context` with another span of ours current; a user's own span stays current."""
        carrier = self._wiring.carrier
        frame = carrier.frame_of(context)
        if frame is None or frame.owner is not self.call or frame.block is not None:
            return context
        return carrier.enter(context, Frame(call=self.call, owner=span, job=frame.job))

    @never_raises
    def note(self, chunk: Any) -> None:
        """Keep what a chunk says beside its text; later chunks of a stream overrule earlier."""
        facts = self._facts_of(chunk) if self._facts_of is not None else None
        if facts is None or self.call is None:
            return
        if facts.usage is not None:
            self._usage = _overruled(self._usage, facts.usage)
        if facts.reported is not None:
            self._reported = facts.reported
        known = self.call.facts
        known.response_model = facts.response_model or known.response_model
        known.provider = known.provider or facts.provider

    def long_stall(self, since_ns: int, length_ns: int) -> int:
        """Remember a long stall; gives the length above which the next one is worth telling."""
        track: StreamTrack = self.track
        track.keep_stall(since_ns, length_ns)
        return track.limit_ns

    @never_raises
    def over(
        self, reading: Reading, error: BaseException | None = None, last_chunk: Any = None
    ) -> None:
        """The stream is over; with it, maybe, its call."""
        if self._is_over:
            return
        self._is_over = True
        self._driver = None
        call, track = self.call, self.track
        if call is None or track is None:
            return
        at_ns = self.now()
        if reading.chunks:
            self.note(last_chunk)
        if self._usage is not None:
            call.add_usage(self._usage)
        ended, error_type = outcome(error)
        if ended is Ended.CLOSED and self.is_object and not self.closing:
            ended = Ended.DROPPED
        failed = ended is Ended.ERROR
        call.stream_ended(
            track, at_ns, reading, failed=failed, key=self.key, reported=self._reported
        )
        if self.finishes:
            end_call(call, error, ended=ended, at_ns=at_ns)

    @never_raises
    def abandon(self, ended: Ended) -> None:
        """Nobody steps the stream any more: it was dropped, or read around us."""
        if self._is_over or (self.call is None and self.what is not None):
            self._is_over = True
            return
        self._is_over = True
        call, track = self.call, self.track
        if call is None or track is None:
            return
        at_ns = self.touched_ns if self.touched_ns is not None else self.now()
        if self.touched_ns is not None:
            ended = Ended.UNOBSERVED
        track.read = None
        call.stream_ended(track, at_ns, NOTHING, key=self.key)
        if self.finishes:
            end_call(call, ended=ended, at_ns=at_ns)

    def closed(self) -> None:
        """The consumer has closed the stream, and no step of ours will tell."""
        if not self._is_over:
            self.abandon(Ended.CLOSED)

    @never_raises
    def touch(self) -> None:
        """The consumer read by a way that we cannot follow."""
        self.touched_ns = self.now()

    def __del__(self) -> None:
        self.abandon(Ended.CLOSED if self.closing else Ended.DROPPED)


def no_token(chunk: Any) -> int:
    """The rule that replaces a broken one."""
    return 0


def _overruled(before: Usage | None, after: Usage) -> Usage:
    """Field by field, what the same stream said last."""
    if before is None:
        return after
    merged = {
        f.name: getattr(after, f.name) if getattr(after, f.name) is not None
        else getattr(before, f.name)
        for f in fields(Usage)
    }  # fmt: skip
    return Usage(**merged)
