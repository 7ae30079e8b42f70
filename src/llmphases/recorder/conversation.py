"""The requests of one call: when each was issued, gave its first token, ended or failed.

Not locked and not guarded: the recorder, which calls this, does both.
"""

from __future__ import annotations

from collections.abc import Hashable

from llmphases.observers import OpenPhase
from llmphases.phases import Cost, Origin, Phase
from llmphases.recorder.facts import Facts
from llmphases.recorder.reported import ReportedTimes, fits, generation_start
from llmphases.recorder.requests import Request
from llmphases.recorder.streams import NEW_REQUEST, StreamTrack
from llmphases.recorder.timeline import Timeline, next_sequence


class Conversation:
    """All requests of a call, and the streams that their tokens come from."""

    __slots__ = (
        "_base_ns", "_facts", "_newest", "_of_track", "_stamps", "_start_ns", "_timeline",
        "is_seen", "requests", "retries", "tracks",
    )  # fmt: skip

    def __init__(self, start_ns: int, timeline: Timeline, facts: Facts) -> None:
        self._timeline = timeline
        self._facts = facts
        self._start_ns = self._base_ns = start_ns
        self._stamps: dict[int, int] = {}
        self._newest: dict[Hashable, Request] = {}
        self._of_track: dict[StreamTrack, Request] = {}
        self.requests: list[Request] = []
        self.tracks: list[StreamTrack] = []
        self.retries = 0
        self.is_seen = False
        """Whether any request, token, child process or cache hit is known of."""

    # --- issuing ---------------------------------------------------------------------------

    def issue(self, at_ns: int, key: Hashable, base: object) -> Request:
        """A request that somebody said is sent now: its wait is a live span."""
        self._close_previous(at_ns, key)
        request = self._new(at_ns, key)
        request.phase = self._timeline.begin(
            Phase.TIME_TO_FIRST_TOKEN, at_ns, base, request=request.index
        )
        return request

    def infer(self, at_ns: int, key: Hashable, track: StreamTrack | None = None) -> Request:
        """A request nobody announced: issued at the latest instant that it can have been."""
        self._close_previous(at_ns, key)
        request = self._new(min(self._base_ns, at_ns), key)
        if track is not None:
            self.bind(request, track)
        return request

    def for_track(self, track: StreamTrack, at_ns: int, key: Hashable) -> Request:
        """The open request that a stream tells of: its own, one sent since, or one inferred."""
        request = self._of_track.get(track)
        if request is not None and request.is_open:
            return request
        if request is None and self.claim(track, key):
            return self._of_track[track]
        return self.infer(at_ns, key, track)

    def claim(self, track: StreamTrack, key: Hashable) -> bool:
        """Let a stream tell of the newest request of its context, if no other does."""
        known = track.own or track in self._of_track
        request = None if known else self._newest.get(key)
        if request is None or not request.is_open or request.track is not None:
            return False
        self.bind(request, track)
        return True

    def bind(self, request: Request, track: StreamTrack) -> None:
        """From now on the stream tells of this request's tokens."""
        request.track = request.held_by = track
        self._facts.stream = True
        self._of_track[track] = request

    def _close_previous(self, at_ns: int, key: Hashable) -> None:
        """A context that asks again has got its answer."""
        previous = self._newest.get(key)
        if previous is not None and previous.is_open and not previous.follows_a_stream:
            self.end(previous, at_ns)

    def _new(self, issued_ns: int, key: Hashable) -> Request:
        failed = self._newest.get(key)
        if failed is None or failed.failed_ns is None or failed.resent_ns is not None:
            failed = None
        else:
            self._resend(failed, issued_ns)
        request = Request(len(self.requests), key, issued_ns, next_sequence())
        if failed is not None and failed.track is not None and failed.follows_a_stream:
            self.bind(request, failed.track)  # it is read already, and goes on with this one
        if self.tracks:
            request.held_by = next((t for t in self.tracks if t.own and t.key == key), None)
        self.requests.append(request)
        self._newest[key] = request
        self.is_seen = True
        return request

    def _resend(self, failed: Request, at_ns: int) -> None:
        """What follows a failure makes it a retry: the gap, and an attempt that gave no token."""
        failed.resent_ns = at_ns
        self.retries += 1
        assert failed.failed_ns is not None
        if failed.phase is not None and failed.phase.end_ns is None:
            self._timeline.end(failed.phase, at_ns, failed.held_by, kind=Phase.RETRY)
            return
        cut = failed.first_ns is not None
        self._timeline.write(
            Phase.RETRY, failed.failed_ns if cut else failed.issued_ns, at_ns, failed.held_by,
            request=failed.index, sequence=None if cut else failed.sequence,
            error_type=failed.error_type,
        )  # fmt: skip

    # --- finding ---------------------------------------------------------------------------

    def newest(self, key: Hashable) -> Request | None:
        """The last request of a task or thread."""
        return self._newest.get(key)

    def of_track(self, track: StreamTrack) -> Request | None:
        """The request that a stream tells of."""
        return self._of_track.get(track)

    def addressed(self, key: Hashable) -> Request | None:
        """The open request that a mark made in this context means."""
        request = self._newest.get(key)
        if request is not None:
            return request if request.is_open else None
        return next((r for r in reversed(self.requests) if r.is_open), None)

    # --- tokens ----------------------------------------------------------------------------

    def token(self, request: Request, at_ns: int, context: object) -> None:
        """The first token of a request ends the wait and opens the generation."""
        if request.first_ns is not None:
            return
        request.first_ns = at_ns
        self._close_wait(request, at_ns, Phase.TIME_TO_FIRST_TOKEN, Origin.MEASURED)
        request.generation = self._timeline.begin(
            Phase.GENERATION, at_ns, context, request=request.index
        )

    def stamp(self, kind: int, at_ns: int) -> None:
        """A token of a kind arrived; the first one counts."""
        self._stamps.setdefault(kind, max(0, at_ns - self._start_ns))

    def first_of(self, kind: int, duration_ns: int) -> int | None:
        """The first token of a kind, from the call's start; never after its end."""
        first_ns = self._stamps.get(kind)
        return None if first_ns is None else min(first_ns, duration_ns)

    # --- ending ----------------------------------------------------------------------------

    def block_begins(self, phase: Phase, at_ns: int, key: Hashable) -> None:
        """A block follows the answer that the same context had asked for.

        A delivery block may stand between two tokens, so it ends a request only if no more come.
        """
        request = self._newest.get(key)
        if request is None or not request.is_open or request.follows_a_stream:
            return
        if phase.cost is not Cost.DELIVERY:
            self.end(request, at_ns)
        elif request.track is None and request.soft_end_ns is None:
            request.soft_end_ns = at_ns

    def block_ends(self, at_ns: int) -> None:
        """What is asked next was not asked before this."""
        self._base_ns = max(self._base_ns, at_ns)

    def end(
        self, request: Request, at_ns: int, *, failed: bool = False, error_type: str | None = None
    ) -> None:
        """The request's answer is complete, or it failed, because of `error_type`."""
        end_ns = at_ns if request.soft_end_ns is None else request.soft_end_ns
        request.ended_ns = end_ns
        self._base_ns = max(self._base_ns, end_ns)
        if failed:
            self._fail(request, at_ns, error_type)
        if request.track is not None and request.track.own:
            request.track.awaiting |= NEW_REQUEST
        if request.first_ns is not None:
            last_ns = request.last_token_ns(end_ns)
            if request.generation is not None:
                self._timeline.end(request.generation, last_ns, request.held_by)
            self._judge(request)
        elif not failed:
            self._end_without_token(request, end_ns)

    def _fail(self, request: Request, at_ns: int, error_type: str | None) -> None:
        """The phase that is open when it fails tells why: the attempt, or what it broke."""
        request.failed_ns, request.error_type = at_ns, error_type
        if request.phase is not None and request.phase.end_ns is None:
            self._timeline.next_step(request.phase, at_ns, None)
        broken = request.phase if request.first_ns is None else request.generation
        if broken is not None:
            broken.error_type = error_type

    def end_own(self, at_ns: int) -> None:
        """End the requests that were inferred from what the function itself yields."""
        for request in self.requests:
            if request.is_open and request.track is not None and request.track.own:
                self.end(request, at_ns)

    def end_all(self, at_ns: int, error_type: str | None = None) -> None:
        """The call is over, and so is every request; a failure that nothing followed stays one.

        `error_type` is how the call failed: what was open then got no answer for that reason.
        """
        for request in self.requests:
            if request.is_open:
                request.error_type = error_type
                self.end(request, at_ns)
            elif request.failed_ns is not None and request.first_ns is None:
                self._close_wait(request, request.failed_ns, Phase.RETRY, Origin.MEASURED)

    def _end_without_token(self, request: Request, end_ns: int) -> None:
        """Nothing tells first token and generation apart, unless a server did."""
        self._judge(request)
        split_ns = None
        if request.reported is not None:
            split_ns = generation_start(request.reported, request.issued_ns, end_ns)
        if split_ns is None:
            self._close_wait(request, end_ns, Phase.INFERENCE, Origin.MEASURED)
            return
        self._close_wait(request, split_ns, Phase.TIME_TO_FIRST_TOKEN, Origin.REPORTED)
        self._timeline.write(
            Phase.GENERATION, split_ns, end_ns, request.held_by, request=request.index,
            origin=Origin.REPORTED,
        )  # fmt: skip

    def _close_wait(self, request: Request, end_ns: int, kind: Phase, origin: Origin) -> None:
        """Close (or write) what lasts from a request's issue to its first token or its end."""
        if request.phase is None:
            if request.resent_ns is None:
                request.phase = self._timeline.write(
                    kind, request.issued_ns, end_ns, request.held_by, request=request.index,
                    origin=origin, sequence=request.sequence,
                    error_type=request.error_type if kind is Phase.RETRY else None,
                )  # fmt: skip
            return
        request.phase.origin = origin
        self._timeline.end(request.phase, end_ns, request.held_by, kind=kind)

    # --- what servers say ------------------------------------------------------------------

    def report(self, request: Request, times: ReportedTimes) -> None:
        """Keep what the server says of a request's times; it is judged at the request's end."""
        if times.has_durations or request.reported is None:
            request.reported = times
        self._facts.reported.update(times.raw)
        if not request.is_open:
            self._judge(request)

    def _judge(self, request: Request) -> None:
        said = request.reported
        if said is not None and said.has_durations and request.ended_ns is not None:
            self._facts.trust(trusted=fits(said, request.ended_ns - request.issued_ns))

    # --- for the sums ----------------------------------------------------------------------

    def checkpoint(self, at_ns: int) -> None:
        """Before anything divides time: note how long each running stream was held by now."""
        for track in self.tracks:
            if track.read is not None:
                track.refresh(at_ns)

    def let_go(self) -> None:
        """The call is over, and all of this is in its record."""
        self.requests.clear()
        self.tracks.clear()
        self._newest.clear()
        self._of_track.clear()

    def interrupted_by(self, track: StreamTrack, start_ns: int, end_ns: int) -> OpenPhase | None:
        """The phase inside which a stall of this stream lies; None: outside of all."""
        for request in self.requests:
            if request.held_by is not track:
                continue
            for phase in (request.generation, request.phase):
                if phase is None or phase.end_ns is None:
                    continue
                if phase.start_ns <= start_ns and end_ns <= phase.end_ns:
                    return phase
        return None
