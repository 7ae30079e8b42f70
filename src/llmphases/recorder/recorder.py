"""A call as a state machine: moments come in, and at its end a frozen `Call` comes out.

Every method takes the time as an argument, in monotonic nanoseconds, and none ever raises into
the program that is traced. Calls inside calls share one lock, so an outer call can look at what
an inner one has so far.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from threading import RLock

from llmphases.calls import Call, Ended, Usage
from llmphases.observers import Observers, OpenCall, OpenJob, OpenPhase, OpenSpan, never_raises
from llmphases.phases import Phase
from llmphases.recorder.closing import close_call, pieces_so_far
from llmphases.recorder.conversation import Conversation
from llmphases.recorder.facts import Facts
from llmphases.recorder.ledger import Inner
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.requests import Request
from llmphases.recorder.streams import ANSWER, FIRST_CHUNK, NEW_REQUEST, Reading, StreamTrack
from llmphases.recorder.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What the program says of a call before it begins."""

    name: str
    operation: str = "chat"
    provider: str | None = None
    model: str | None = None


class CallRecorder(OpenCall):
    """Takes the moments of one call."""

    __slots__ = (
        "_inner_open", "_is_inside_block", "_is_spoken", "_lock", "_observers", "_stamps",
        "context", "conversation", "facts", "inner", "parent", "queued_ns", "record", "timeline",
    )  # fmt: skip

    def __init__(
        self,
        what: Description,
        at_ns: int,
        *,
        offset_ns: int,
        observers: Observers,
        outer: CallRecorder | None = None,
        parent: OpenSpan | None = None,
        inside_block: bool = False,
    ) -> None:
        wall_ns = at_ns + offset_ns
        drawn = parent.lane.begin(wall_ns) if parent is not None else wall_ns // 1000
        super().__init__(what.name, at_ns, offset_ns, drawn)
        self.operation = what.operation
        self.provider = what.provider
        self.request_model = what.model
        self.outer = outer
        self.nested = outer is not None
        self.parent = parent
        """The span of ours that it is drawn under."""
        self.context: object = None
        """The context value in which the body of the call runs."""
        self.facts = Facts(what.provider, what.model)
        self.timeline = Timeline(self, observers)
        self.conversation = Conversation(at_ns, self.timeline, self.facts)
        self.inner: list[Inner] = []
        """What the traced calls inside have left."""
        self.queued_ns: int | None = None
        self.record: Call | None = None
        """What happened, once the call is over."""
        self._observers = observers
        self._lock: RLock = outer._lock if outer is not None else RLock()
        self._is_inside_block = inside_block
        self._is_spoken = False
        self._inner_open: dict[CallRecorder, None] = {}
        self._stamps: dict[int, int] = {}
        if outer is not None:
            with self._lock:
                outer._inner_open[self] = None

    # --- beginning and end -----------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it has not ended yet."""
        return self.record is None

    @never_raises
    def started(self, job: OpenJob | None = None) -> None:
        """Tell the observers that the call has begun."""
        self.job = job
        self._observers.call_started(self)

    @never_raises
    def finish(
        self, at_ns: int, ended: Ended | None = None, error_type: str | None = None
    ) -> Call | None:
        """End the call. Later moments and a second end change nothing."""
        with self._lock:
            if self.record is not None:
                return self.record
            at_ns = max(at_ns, self.start_ns)
            self.conversation.checkpoint(at_ns)
            self.conversation.end_all(at_ns)
            for phase in reversed(list(self.timeline.open)):
                self.timeline.end(phase, at_ns)
            for inner in self._inner_open:
                self._adopt(inner, at_ns)
            record = close_call(self, at_ns, ended, error_type)
            self.record = record
            self._leave_outer(at_ns)
        self._observers.call_ended(self, record)
        return record

    def _leave_outer(self, at_ns: int) -> None:
        outer = self.outer
        if not isinstance(outer, CallRecorder) or self not in outer._inner_open:
            return
        del outer._inner_open[self]
        if outer.is_open:
            outer._adopt(self, at_ns)

    def _adopt(self, inner: CallRecorder, at_ns: int) -> None:
        """Count an inner call's stretches here as well, unless a block of ours owns them."""
        left = Inner(inner.start_ns, at_ns)
        if not inner._is_inside_block:
            left.pieces, left.tracks = pieces_so_far(inner, at_ns)
            self.conversation.is_seen |= inner.conversation.is_seen
        self.inner.append(left)

    # --- blocks ----------------------------------------------------------------------------

    @never_raises
    def open_block(
        self, phase: Phase, at_ns: int, *, parent: OpenPhase | None = None,
        key: Hashable = None, base: object = None,
    ) -> OpenPhase | None:  # fmt: skip
        """A block of the program begins; it ends what the same context had asked before."""
        with self._lock:
            if self.record is not None:
                return None
            self.conversation.checkpoint(at_ns)
            self.conversation.block_begins(phase, at_ns, key)
            block = self.timeline.begin(phase, at_ns, parent)
            block.base = base
            self.timeline.announce(block)
            return block

    @never_raises
    def open_step(
        self, name: str, at_ns: int, *, parent: OpenPhase | None = None, base: object = None
    ) -> OpenPhase | None:
        """A detail inside a phase begins."""
        with self._lock:
            if self.record is not None:
                return None
            phase = parent.phase if parent is not None else Phase.INFERENCE
            step = self.timeline.begin(phase, at_ns, parent)
            step.name = name
            step.is_detail = True
            step.base = base
            self.timeline.announce(step)
            return step

    @never_raises
    def close_block(self, block: OpenPhase, at_ns: int, error_type: str | None = None) -> None:
        """A block or step ends, by whatever way."""
        with self._lock:
            if block.end_ns is not None:
                return
            self.conversation.checkpoint(at_ns)
            block.error_type = error_type
            self.timeline.end(block, at_ns)
            if not block.is_detail:
                self.conversation.block_ends(at_ns)

    # --- child processes, and what is known only afterwards --------------------------------

    @never_raises
    def open_process(self, at_ns: int, base: object = None) -> OpenPhase | None:
        """A child process is spawned."""
        with self._lock:
            if self.record is not None:
                return None
            self.conversation.checkpoint(at_ns)
            phase = self.timeline.begin(Phase.PROCESS_STARTUP, at_ns)
            phase.base = base
            self.timeline.announce(phase)
            return phase

    @never_raises
    def close_process(self, phase: OpenPhase, at_ns: int, kind: Phase | None = None) -> None:
        """The child is ready, or its start turns out to be something else."""
        with self._lock:
            self.timeline.end(phase, at_ns, kind=kind)
            self.conversation.block_ends(at_ns)

    @never_raises
    def write_phase(
        self, phase: Phase, start_ns: int, end_ns: int, *, token: bool = False
    ) -> None:
        """A phase that is known only now."""
        with self._lock:
            if self.record is None:
                self.timeline.write(phase, start_ns, end_ns)
                if token:
                    self._stamp(ANSWER, start_ns)

    # --- requests and tokens ---------------------------------------------------------------

    @never_raises
    def request_sent(
        self, at_ns: int, key: Hashable = None, base: object = None
    ) -> Request | None:
        """A request to a model goes out now."""
        with self._lock:
            if self.record is not None:
                return None
            self._speak(at_ns)
            return self.conversation.issue(at_ns, key, base)

    @never_raises
    def request_ended(self, request: Request, at_ns: int, *, failed: bool = False) -> None:
        """A request is over: its answer is complete, or it failed."""
        with self._lock:
            if self.record is None and request.is_open:
                self.conversation.end(request, at_ns, failed=failed)

    @never_raises
    def first_token(
        self, at_ns: int, key: Hashable = None, *, kind: int = ANSWER, inside_block: bool = False
    ) -> OpenPhase | None:
        """A token arrived that no stream of ours saw; the first one of its request ends the wait.

        Returns the generation phase that is open now.
        """
        with self._lock:
            if self.record is not None:
                return None
            request = self.conversation.addressed(key)
            if request is None and inside_block:
                return None
            self._speak(at_ns)
            if request is None:
                request = self.conversation.infer(at_ns, key)
            request.soft_end_ns = None
            self._stamp(kind, at_ns)
            self.conversation.token(request, at_ns, self.context)
            return request.generation

    @never_raises
    def last_token(self, at_ns: int, key: Hashable = None, *, inside_block: bool = False) -> None:
        """The answer of the newest request is complete."""
        with self._lock:
            if self.record is not None:
                return
            request = self.conversation.addressed(key)
            if request is None:
                if inside_block or self.conversation.newest(key) is not None:
                    return
                self._speak(at_ns)
                request = self.conversation.infer(at_ns, key)
            request.soft_end_ns = None
            request.last_ns = at_ns
            self.conversation.end(request, at_ns)

    def _speak(self, at_ns: int) -> None:
        """Something spoke of a request: what the function itself yields are no tokens any more."""
        if not self._is_spoken:
            self._is_spoken = True
            for request in self.conversation.requests:
                if request.is_open and request.track is not None and request.track.own:
                    self.conversation.end(request, at_ns)
        self._speak_outside(at_ns)

    def _speak_outside(self, at_ns: int) -> None:
        """What was asked in here was asked in the outer call as well, unless a block owns it."""
        if isinstance(self.outer, CallRecorder) and not self._is_inside_block:
            self.outer._speak(at_ns)

    def _stamp(self, kind: int, at_ns: int) -> None:
        self._stamps.setdefault(kind, at_ns - self.start_ns)

    def first_of(self, kind: int) -> int | None:
        """The first token of a kind, from the call's start."""
        return self._stamps.get(kind)

    # --- streams ---------------------------------------------------------------------------

    @never_raises
    def stream_opened(self, at_ns: int, key: Hashable = None, *, own: bool) -> StreamTrack | None:
        """A stream begins: the function's own output (`own`), or one it reads of a request."""
        with self._lock:
            if self.record is not None:
                return None
            self.facts.stream = True
            track = StreamTrack(at_ns, own=own, key=key)
            self.conversation.tracks.append(track)
            if not own:
                self._speak(at_ns)
                request = self.conversation.newest(key)
                if request is not None and request.is_open and request.track is None:
                    self.conversation.bind(request, track)
            return track

    @never_raises
    def chunk_seen(
        self, track: StreamTrack, at_ns: int, kind: int, key: Hashable = None
    ) -> OpenPhase | None:
        """A chunk that the driver of a stream was asked to tell of (`track.awaiting`).

        Returns the generation phase if this chunk opened one.
        """
        with self._lock:
            if track.awaiting & FIRST_CHUNK:
                track.awaiting &= ~FIRST_CHUNK
                track.first_chunk_ns = at_ns
            if not kind or self.record is not None:
                return None
            track.awaiting &= ~(kind | NEW_REQUEST)
            self._stamp(kind, at_ns)
            if track.own and self._is_spoken:
                return None
            request = self.conversation.of_track(track)
            if request is None or not request.is_open:
                self._speak_outside(at_ns)
                request = self.conversation.infer(at_ns, key, track)
            if request.first_ns is not None:
                return None
            self.conversation.token(request, at_ns, self.context)
            return request.generation

    @never_raises
    def stream_ended(
        self, track: StreamTrack, at_ns: int, reading: Reading, *, failed: bool = False,
        key: Hashable = None, reported: ReportedTimes | None = None,
    ) -> None:  # fmt: skip
        """A stream is over: exhausted, closed, or broken (`failed`)."""
        with self._lock:
            track.close(at_ns, reading)
            if self.record is not None:
                return
            request = self.conversation.of_track(track)
            if request is None and reading.chunks and not (track.own and self._is_spoken):
                request = self.conversation.infer(at_ns, key, track)
            if request is not None and request.is_open:
                if reported is not None:
                    self.conversation.report(request, reported)
                self.conversation.end(request, at_ns, failed=failed and not track.own)

    # --- what is said ----------------------------------------------------------------------

    @never_raises
    def report(self, times: ReportedTimes, key: Hashable = None) -> None:
        """What the server says of the newest request's times."""
        with self._lock:
            request = self.conversation.newest(key)
            if request is not None and self.record is None:
                self.conversation.report(request, times)

    @never_raises
    def add_usage(self, usage: Usage) -> None:
        """Tokens of one more request."""
        with self._lock:
            self.facts.add_usage(usage)

    @never_raises
    def cache(self, result: str) -> None:
        """The answer did, or did not, come from a cache."""
        with self._lock:
            self.facts.cache_result = result
            self.conversation.is_seen |= result == "hit"
