"""One driven stream: what stands between the driver's loop and the recorder.

The drivers in `drivers` keep per-chunk state in local variables and call here only for what is
rare: the first chunk, a first token, a long stall, the end. `reading` looks into those variables
when the recorder asks in between.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from llmphases.calls import Ended
from llmphases.capture.contract import ChunkFacts, ChunkShape, Wiring
from llmphases.capture.current import begin_call, context_key, end_call, wired
from llmphases.capture.outcomes import outcome
from llmphases.capture.untraced import NOTHING, no_token
from llmphases.observers import Frame, OpenSpan, complain_once, never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description
from llmphases.recorder.streams import NEW_REQUEST, Reading, StreamTrack


class Flow:
    """The state of one stream that is handed to a consumer."""

    __slots__ = (
        "__weakref__", "_before", "_closed_ns", "_driver", "_facts", "_facts_of", "_is_over",
        "_wiring", "call", "closing", "context", "finishes", "is_object", "is_own", "key",
        "now", "shape", "touched_ns", "track", "variable", "what",
    )  # fmt: skip

    def __init__(
        self, *, what: Description | None = None, call: CallRecorder | None = None,
        shape: ChunkShape | None = None, is_own: bool = True, finishes: bool = True,
    ) -> None:  # fmt: skip
        self.what = what
        """The call to begin at the first step; None if `call` is open already."""
        self.call = call
        self.is_own = is_own
        """Whether the stream is what the traced function itself gives out."""
        self.finishes = finishes
        """Whether the call ends with the stream."""
        self.is_object = False
        """Whether it is a stream object: it outlives the iterators that it gives out."""
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
        self._before = NOTHING
        """The sums of the drivers that are gone, and since when no other has begun."""
        self._closed_ns: int | None = None
        self._driver: Callable[[], Any] | None = None
        self._facts_of: Callable[[Any], Any] | None = None
        self._facts: ChunkFacts | None = None
        self._is_over = False
        if call is not None:
            self._hand_over(call)

    @never_raises
    def _hand_over(self, call: CallRecorder) -> None:
        """The stream of a call that is open already: until its first step, the consumer has it."""
        at_ns = self.now()
        self._before = NOTHING._replace(held_since_ns=at_ns)
        self.key = context_key()
        self.context = call.context
        self._tracked_by(call.stream_opened(at_ns, self.key, own=self.is_own, is_answer=True))

    def _tracked_by(self, track: StreamTrack | None) -> None:
        self.track = track
        if track is None:
            return
        # Weakly, for the call holds its tracks: a stream that nobody has any more must go.
        itself = weakref.ref(self)

        def read() -> Reading:
            flow = itself()
            return NOTHING if flow is None else flow.reading()

        track.read = read

    @never_raises
    def start(self, driver: Callable[[], Any]) -> Reading | None:
        """The first step of a driver: the sums it goes on from; None if it is not traced."""
        if self._is_over:
            return None
        if self.call is None:
            self._begin()
        else:
            self._enter_here()
        if self.track is None:
            return None
        before = self.reading()
        stall_ns = before.stall_ns
        if before.held_since_ns is not None:
            stall_ns += max(0, self.now() - before.held_since_ns)
        self._driver = driver
        return before._replace(stall_ns=stall_ns, held_since_ns=None)

    def _begin(self) -> None:
        if self.what is None:
            return
        self.call = begin_call(self.what)
        if self.call is not None:
            self.key = context_key()
            self.context = self.call.context
            self._tracked_by(self.call.stream_opened(self.call.start_ns, self.key, own=True))

    def _enter_here(self) -> None:
        """Let the steps see what the consumer has set since the stream was handed over."""
        assert self.call is not None
        here = self.variable.get()
        frame = Frame(call=self.call, owner=self.call, job=self.call.job)
        self.context = self._wiring.carrier.enter(here, frame)

    @property
    def is_over(self) -> bool:
        """Whether nothing is told of this stream any more."""
        return self._is_over

    def is_driven_by(self, driver: Any) -> bool:
        """Whether this is the driver that tells of the stream now."""
        return driver is not None and self._driver is not None and self._driver() is driver

    def reading(self) -> Reading:
        """The sums right now."""
        driver = self._driver() if self._driver is not None else None
        frame = getattr(driver, "gi_frame", None) or getattr(driver, "ag_frame", None)
        if frame is None:
            return self._before
        variables = frame.f_locals
        is_running = getattr(driver, "gi_running", False) or getattr(driver, "ag_running", False)
        if type(variables) is dict:  # Python 3.11 and 3.12 keep this copy; it must keep no chunk
            for name in ("item", "sent", "thrown"):
                variables.pop(name, None)
        count = variables.get("count", 0)
        holds_one = not is_running and count > self._before.chunks
        return Reading(
            variables.get("stall", 0),
            variables["arrived"] if holds_one else None,
            variables.get("last"),
            variables.get("at_last", 0),
            count,
        )

    @never_raises
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
        return carrier.move(context, Frame(call=self.call, owner=span, job=frame.job))

    @never_raises
    def note(self, chunk: Any) -> None:
        """Keep what a chunk says beside its text, joined with what came before."""
        facts = self._facts_of(chunk) if self._facts_of is not None else None
        if facts is not None:
            self._facts = facts if self._facts is None else self._facts.then(facts)

    def long_stall(self, since_ns: int, length_ns: int) -> int:
        """Remember a long stall; gives the length above which the next one is worth telling."""
        track: StreamTrack = self.track
        track.keep_stall(since_ns, length_ns)
        return track.limit_ns

    @never_raises
    def over(
        self, driver: Callable[[], Any], reading: Reading, error: BaseException | None,
        last_chunk: Any,
    ) -> None:  # fmt: skip
        """A driver is at its end; with it the stream, and maybe its call."""
        if self._is_over or driver is not self._driver or self.call is None:
            return
        at_ns = self.now() if self._closed_ns is None else self._closed_ns
        if reading.chunks:
            self.note(last_chunk)
        ended = outcome(error)[0]
        if ended is Ended.CLOSED and self.is_object and not self.closing:
            # Only an iterator is gone. Who still has the stream can go on reading it.
            self._driver = None
            self._before = reading._replace(held_since_ns=at_ns)
            return
        self._end(reading, at_ns, ended, error)

    @never_raises
    def abandon(self, ended: Ended) -> None:
        """Nobody steps the stream any more: it was closed or dropped, or read around us."""
        if self._is_over:
            return
        if self.call is None or self.track is None:
            self._is_over = True
            return
        reading, at_ns = self.reading(), self.now()
        if self.touched_ns is not None and not reading.chunks:
            ended, at_ns = Ended.UNOBSERVED, self.touched_ns
        if reading.held_since_ns is not None:
            held_ns = max(0, at_ns - reading.held_since_ns)
            reading = reading._replace(stall_ns=reading.stall_ns + held_ns, held_since_ns=None)
        self._end(reading, at_ns, ended)

    def _end(
        self, reading: Reading, at_ns: int, ended: Ended, error: BaseException | None = None
    ) -> None:
        self._is_over = True
        self._driver = None
        assert self.call is not None
        facts = self._facts
        if facts is not None:
            known = self.call.facts
            known.response_model = facts.response_model or known.response_model
            known.provider = known.provider or facts.provider
            if facts.usage is not None:
                self.call.add_usage(facts.usage, own=self.is_own)
        failed = ended is Ended.ERROR
        self.call.stream_ended(
            self.track, at_ns, reading, failed=failed, key=self.key,
            error_type=outcome(error)[1] if failed else None,
            reported=None if facts is None else facts.reported,
        )  # fmt: skip
        if self.finishes:
            end_call(self.call, error, ended=ended, at_ns=at_ns)

    def closed(self) -> None:
        """The consumer has closed the stream."""
        if self._driver is not None and self._driver() is None and not self._is_over:
            # An async iterator was dropped: the event loop closes it soon, and it has the sums.
            self._closed_ns = self.now()
        else:
            self.abandon(Ended.CLOSED)

    @never_raises
    def touch(self) -> None:
        """The consumer read by a way that we cannot follow."""
        self.touched_ns = self.now()

    def __del__(self) -> None:
        self.abandon(Ended.CLOSED if self.closing else Ended.DROPPED)
