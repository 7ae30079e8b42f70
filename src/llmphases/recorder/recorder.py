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
from llmphases.phases import Cost, Origin, Phase
from llmphases.recorder.closing import close_call, pieces_so_far
from llmphases.recorder.facts import Facts
from llmphases.recorder.ledger import Inner
from llmphases.recorder.reported import ReportedTimes, fits, generation_start
from llmphases.recorder.requests import Request
from llmphases.recorder.streams import ANSWER, FIRST_CHUNK, NEW_REQUEST, Reading, StreamTrack
from llmphases.recorder.timeline import Timeline, next_sequence


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
        "_base_ns", "_inner", "_inner_open", "_is_inside_block", "_lock", "_newest", "_observers",
        "_of_track", "_requests", "_seen", "_spoken", "_stamps", "_tracks", "context", "facts",
        "parent", "queued_ns", "record", "retries", "timeline",
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
        self.parent = parent
        """The span of ours that it is drawn under."""
        self.outer = outer
        self.nested = outer is not None
        self.facts = Facts(what.provider, what.model)
        self.context: object = None
        """The context value in which the body of the call runs."""
        self.queued_ns: int | None = None
        self.record: Call | None = None
        """What happened, once the call is over."""
        self.retries = 0
        self.timeline = Timeline(self, observers)
        self._observers = observers
        self._lock: RLock = outer._lock if outer is not None else RLock()
        self._is_inside_block = inside_block
        self._base_ns = at_ns
        self._requests: list[Request] = []
        self._newest: dict[Hashable, Request] = {}
        self._tracks: list[StreamTrack] = []
        self._of_track: dict[StreamTrack, Request] = {}
        self._inner: list[Inner] = []
        self._inner_open: dict[CallRecorder, None] = {}
        self._spoken = False
        self._seen = False
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
            for track in self._tracks:
                track.refresh(at_ns)
            for request in self._requests:
                if request.is_open:
                    self._end_request(request, at_ns)
                elif request.failed_ns is not None and request.phase is not None:
                    self.timeline.end(request.phase, request.failed_ns, kind=Phase.RETRY)
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
        if isinstance(outer, CallRecorder) and self in outer._inner_open:
            del outer._inner_open[self]
            if outer.is_open:
                outer._adopt(self, at_ns)

    def _adopt(self, inner: CallRecorder, at_ns: int) -> None:
        """Count an inner call's stretches here as well, unless a block of ours owns them."""
        left = Inner(inner.start_ns, at_ns)
        if not inner._is_inside_block:
            left.pieces, left.tracks = pieces_so_far(inner, at_ns)
            self._seen = self._seen or inner._seen
        self._inner.append(left)

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
            self._checkpoint(at_ns)
            request = self._newest.get(key)
            if request is not None and request.is_open and not request.follows_a_stream:
                self._block_after(request, phase, at_ns)
            block = self.timeline.begin(phase, at_ns, parent)
            block.base = base
            self.timeline.announce(block)
            return block

    def _block_after(self, request: Request, phase: Phase, at_ns: int) -> None:
        """A delivery block may stand between two tokens; any other follows the answer."""
        if phase.cost is not Cost.DELIVERY:
            self._end_request(request, at_ns)
        elif request.track is None and request.soft_end_ns is None:
            request.soft_end_ns = at_ns

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
            self._checkpoint(at_ns)
            block.error_type = error_type
            self.timeline.end(block, at_ns)
            if not block.is_detail:
                self._base_ns = max(self._base_ns, at_ns)

    # --- requests --------------------------------------------------------------------------

    @never_raises
    def request_sent(
        self, at_ns: int, key: Hashable = None, base: object = None
    ) -> Request | None:
        """A request to a model goes out now."""
        with self._lock:
            if self.record is not None:
                return None
            self.speak(at_ns)
            request = self._issue(at_ns, key)
            request.phase = self.timeline.begin(
                Phase.TIME_TO_FIRST_TOKEN, at_ns, request=request.index
            )
            request.phase.base = base
            self.timeline.announce(request.phase)
            return request

    def _issue(self, at_ns: int, key: Hashable) -> Request:
        previous = self._newest.get(key)
        if previous is not None:
            if previous.is_open and not previous.follows_a_stream:
                self._end_request(previous, at_ns)
            if previous.failed_ns is not None and previous.resent_ns is None:
                self._resend(previous, at_ns)
        self._checkpoint(at_ns)
        request = Request(len(self._requests), key, at_ns, next_sequence())
        request.held_by = next((t for t in self._tracks if t.own and t.key == key), None)
        self._requests.append(request)
        self._newest[key] = request
        self._seen = True
        return request

    def _resend(self, failed: Request, at_ns: int) -> None:
        failed.resent_ns = at_ns
        self.retries += 1
        assert failed.failed_ns is not None
        if failed.first_ns is not None:
            self.timeline.write(Phase.RETRY, failed.failed_ns, at_ns, request=failed.index)
        elif failed.phase is not None:
            self.timeline.end(failed.phase, at_ns, kind=Phase.RETRY)
        else:
            self.timeline.write(
                Phase.RETRY, failed.issued_ns, at_ns, request=failed.index, sequence=failed.sequence
            )

    def _infer(self, at_ns: int, key: Hashable, track: StreamTrack | None) -> Request:
        """Nobody said when this request was issued: the latest instant that it can have been."""
        request = self._issue(min(self._base_ns, at_ns), key)
        if track is not None:
            self._bind(request, track)
        return request

    def _bind(self, request: Request, track: StreamTrack) -> None:
        request.track = request.held_by = track
        self._of_track[track] = request

    def speak(self, at_ns: int) -> None:
        """Something spoke of a request: what the function itself yields are no tokens any more."""
        if not self._spoken:
            self._spoken = True
            for track, request in self._of_track.items():
                if track.own and request.is_open:
                    track.refresh(at_ns)
                    self._end_request(request, at_ns)
        if isinstance(self.outer, CallRecorder) and not self._is_inside_block:
            self.outer.speak(at_ns)

    @never_raises
    def request_ended(self, request: Request, at_ns: int, *, failed: bool = False) -> None:
        """A request is over: its answer is complete, or it failed."""
        with self._lock:
            if self.record is None and request.is_open:
                self._end_request(request, at_ns, failed=failed)

    def _end_request(self, request: Request, at_ns: int, *, failed: bool = False) -> None:
        self._checkpoint(at_ns)
        end_ns = at_ns if request.soft_end_ns is None else request.soft_end_ns
        request.ended_ns = end_ns
        self._base_ns = max(self._base_ns, end_ns)
        track = request.track
        if failed:
            request.failed_ns = at_ns
        if track is not None and track.own:
            track.awaiting |= NEW_REQUEST
        if request.first_ns is not None:
            last_ns = request.last_token_ns(end_ns)
            if request.generation is not None:
                self.timeline.end(request.generation, last_ns, request.held_by)
            self._judge_report(request)
        elif not failed:
            self._end_without_token(request, end_ns)
        elif request.phase is not None:
            request.phase.phase = Phase.RETRY

    def _end_without_token(self, request: Request, end_ns: int) -> None:
        """Nothing tells first token and generation apart, unless a server did."""
        self._judge_report(request)
        split_ns = None
        if request.reported is not None:
            split_ns = generation_start(request.reported, request.issued_ns, end_ns)
        if split_ns is None:
            self._close_wait(request, end_ns, Phase.INFERENCE, reported=False)
            return
        self._close_wait(request, split_ns, Phase.TIME_TO_FIRST_TOKEN, reported=True)
        self.timeline.write(
            Phase.GENERATION, split_ns, end_ns, request.held_by, request=request.index,
            origin=Origin.REPORTED,
        )  # fmt: skip

    def _judge_report(self, request: Request) -> None:
        if request.reported is not None and request.ended_ns is not None:
            window_ns = request.ended_ns - request.issued_ns
            self.facts.trust(trusted=fits(request.reported, window_ns))

    def _close_wait(self, request: Request, end_ns: int, kind: Phase, *, reported: bool) -> None:
        """Close (or write) what lasts from a request's issue to its first token or its end."""
        if request.phase is not None:
            if reported:
                request.phase.origin = Origin.REPORTED
            self.timeline.end(request.phase, end_ns, request.held_by, kind=kind)
        else:
            self.timeline.write(
                kind, request.issued_ns, end_ns, request.held_by, request=request.index,
                origin=Origin.REPORTED if reported else Origin.MEASURED, sequence=request.sequence,
            )  # fmt: skip

    # --- tokens ----------------------------------------------------------------------------

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
            request = self._addressed(key)
            if request is None and inside_block:
                return None
            self.speak(at_ns)
            if request is None:
                request = self._infer(at_ns, key, None)
            request.soft_end_ns = None
            self._stamp(kind, at_ns)
            self._token(request, at_ns)
            return request.generation

    @never_raises
    def last_token(self, at_ns: int, key: Hashable = None, *, inside_block: bool = False) -> None:
        """The answer of the newest request is complete."""
        with self._lock:
            if self.record is not None:
                return
            request = self._addressed(key)
            if request is None:
                if inside_block or self._newest.get(key) is not None:
                    return
                self.speak(at_ns)
                request = self._infer(at_ns, key, None)
            request.soft_end_ns = None
            request.last_ns = at_ns
            self._end_request(request, at_ns)

    def _addressed(self, key: Hashable) -> Request | None:
        """The open request that a mark made in this context means."""
        request = self._newest.get(key)
        if request is not None:
            return request if request.is_open else None
        return next((r for r in reversed(self._requests) if r.is_open), None)

    def _token(self, request: Request, at_ns: int) -> None:
        if request.first_ns is not None:
            return
        self._checkpoint(at_ns)
        request.first_ns = at_ns
        self._close_wait(request, at_ns, Phase.TIME_TO_FIRST_TOKEN, reported=False)
        request.generation = self.timeline.begin(Phase.GENERATION, at_ns, request=request.index)
        request.generation.base = self.context
        self.timeline.announce(request.generation)

    def _stamp(self, kind: int, at_ns: int) -> None:
        self._stamps.setdefault(kind, at_ns - self.start_ns)

    # --- streams ---------------------------------------------------------------------------

    @never_raises
    def stream_opened(self, at_ns: int, key: Hashable = None, *, own: bool) -> StreamTrack | None:
        """A stream begins: the function's own output (`own`), or one it reads of a request."""
        with self._lock:
            if self.record is not None:
                return None
            self.facts.stream = True
            track = StreamTrack(at_ns, own=own, key=key)
            self._tracks.append(track)
            if not own:
                self.speak(at_ns)
                request = self._newest.get(key)
                if request is not None and request.is_open and request.track is None:
                    self._bind(request, track)
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
            if track.own and self._spoken:
                return None
            request = self._of_track.get(track)
            if request is None or not request.is_open:
                request = self._infer(at_ns, key, track)
            if request.first_ns is not None:
                return None
            self._token(request, at_ns)
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
            request = self._of_track.get(track)
            if request is None and reading.chunks and not (track.own and self._spoken):
                request = self._infer(at_ns, key, track)
            if request is not None and request.is_open:
                if reported is not None:
                    self._report(request, reported)
                self._end_request(request, at_ns, failed=failed and not track.own)

    # --- what is said ----------------------------------------------------------------------

    @never_raises
    def report(self, times: ReportedTimes, key: Hashable = None) -> None:
        """What the server says of the newest request's times."""
        with self._lock:
            request = self._newest.get(key)
            if request is not None and self.record is None:
                self._report(request, times)

    def _report(self, request: Request, times: ReportedTimes) -> None:
        request.reported = times
        self.facts.reported.update(times.raw)
        if not request.is_open:
            self._judge_report(request)

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
            self._seen = self._seen or result == "hit"

    # --- for the sums ----------------------------------------------------------------------

    def _checkpoint(self, at_ns: int) -> None:
        """Before anything divides time: how long has each running stream been held by now?"""
        for track in self._tracks:
            if track.read is not None:
                track.refresh(at_ns)

    @property
    def knows_something(self) -> bool:
        """Whether any request, token, child process or cache hit was seen."""
        return self._seen

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in the order of their issue."""
        return self._requests

    @property
    def tracks(self) -> list[StreamTrack]:
        """All streams so far."""
        return self._tracks

    @property
    def inner(self) -> list[Inner]:
        """What the traced calls inside have left."""
        return self._inner

    def interrupted_by(
        self, track: StreamTrack, start_ns: int, end_ns: int
    ) -> OpenPhase | None:
        """The phase inside which a stall of this stream lies; None: outside of all."""
        request = self._of_track.get(track)
        for phase in (request.generation, request.phase) if request is not None else ():
            if phase is None or phase.end_ns is None:
                continue
            if phase.start_ns <= start_ns and end_ns <= phase.end_ns:
                return phase
        return None

    def first_of(self, kind: int) -> int | None:
        """The first token of a kind, from the call's start."""
        return self._stamps.get(kind)
