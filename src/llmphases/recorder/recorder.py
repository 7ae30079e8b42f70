"""A call as a state machine: moments come in, and at its end a frozen `Call` comes out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from llmphases.calls import Scalar, Usage
from llmphases.observers import OpenPhase, never_raises
from llmphases.recorder.collected import is_collecting, later
from llmphases.recorder.lifetime import CallLifetime, Description
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.requests import Request
from llmphases.recorder.streams import ANSWER, FIRST_CHUNK, NEW_REQUEST, Reading, StreamTrack

__all__ = ["CallRecorder", "Description"]


class CallRecorder(CallLifetime):
    """Takes the moments of one call: its requests, tokens and streams as well."""

    __slots__ = ()

    # --- requests and tokens ---------------------------------------------------------------

    def request_sent(self, at_ns: int, key: Hashable = None, base: object = None) -> Request | None:
        """A request to a model goes out now."""
        with self._lock:
            if self.record is not None:
                return None
            self.nesting.checkpoint(at_ns)
            self.nesting.ask(at_ns)
            return self.conversation.issue(at_ns, key, base)

    def request_ended(
        self, request: Request, at_ns: int, *, failed: bool = False, error_type: str | None = None
    ) -> None:
        """A request is over: its answer is complete, or it failed, because of `error_type`."""
        if is_collecting():
            later(self.request_ended, request, at_ns, failed=failed, error_type=error_type)
            return
        with self._lock:
            if self.record is None and request.is_open:
                self.nesting.checkpoint(at_ns)
                self.conversation.end(request, at_ns, failed=failed, error_type=error_type)

    def waits_for(
        self, request: Request, at_ns: int, what: str | None, error_type: str | None = None
    ) -> OpenPhase | None:
        """What a request waits for from now on: a detail of its wait, and the end of the last one.

        None: nothing that has a name. `error_type` is why the last one failed, if it did.
        """
        if is_collecting():
            later(self.waits_for, request, at_ns, what, error_type)
            return None
        with self._lock:
            wait = request.phase
            if self.record is not None or wait is None or not request.is_open:
                return None
            if wait.end_ns is not None:
                return None
            return self.timeline.next_step(wait, at_ns, what, error_type)

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
            self.nesting.checkpoint(at_ns)
            self.nesting.ask(at_ns)
            if request is None or not request.is_open:
                request = self.conversation.infer(at_ns, key)
            request.soft_end_ns = None
            self.conversation.stamp(kind, at_ns)
            self.conversation.token(request, at_ns, self.context)
            return request.generation

    def last_token(self, at_ns: int, key: Hashable = None, *, inside_block: bool = False) -> None:
        """The answer of the newest request is complete."""
        with self._lock:
            if self.record is not None:
                return
            request = self.conversation.addressed(key)
            if request is None and (inside_block or self.conversation.newest(key) is not None):
                return
            self.nesting.checkpoint(at_ns)
            self.nesting.ask(at_ns)
            if request is None:
                request = self.conversation.infer(at_ns, key)
            elif not request.is_open:  # it was the function's own output, which is over now
                return
            request.soft_end_ns = None
            request.last_ns = at_ns
            self.conversation.end(request, at_ns)

    # --- streams ---------------------------------------------------------------------------

    @never_raises
    def stream_opened(
        self, at_ns: int, key: Hashable = None, *, own: bool, is_answer: bool = False
    ) -> StreamTrack | None:
        """A stream begins: the function's own output (`own`), or one it reads of a request.

        The output of a function that yields is the answer of a request (`is_answer`) only if it
        turns out that nothing else is.
        """
        with self._lock:
            if self.record is not None:
                return None
            self.facts.stream |= is_answer or not own
            track = StreamTrack(at_ns, own=own, key=key)
            self.conversation.tracks.append(track)
            if not own:
                self.nesting.checkpoint(at_ns)
                self.nesting.ask(at_ns)
                self.conversation.claim(track, key)
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
            if not (track.own and self.nesting.has_asked):
                self.conversation.stamp(kind, at_ns)
            if track.own and self.nesting.is_spoken:
                return None
            self.nesting.checkpoint(at_ns)
            self.nesting.speak_outside(at_ns)
            request = self.conversation.for_track(track, at_ns, key)
            if request.first_ns is not None:
                return None
            self.conversation.token(request, at_ns, self.context)
            return request.generation

    @never_raises
    def stream_ended(
        self, track: StreamTrack, at_ns: int, reading: Reading, *, failed: bool = False,
        error_type: str | None = None, key: Hashable = None,
        reported: ReportedTimes | None = None,
    ) -> None:  # fmt: skip
        """A stream is over: exhausted, closed, or broken (`failed`, `error_type`)."""
        if is_collecting():
            later(
                self.stream_ended, track, at_ns, reading, failed=failed, error_type=error_type,
                key=key, reported=reported,
            )  # fmt: skip
            return
        with self._lock:
            if self.record is not None:
                return
            track.close(at_ns, reading)
            self.nesting.checkpoint(at_ns)
            self.conversation.claim(track, key)
            request = self.conversation.of_track(track)
            if request is None and reading.chunks and not (track.own and self.nesting.is_spoken):
                request = self.conversation.for_track(track, at_ns, key)
            if request is not None and request.is_open:
                if reported is not None:
                    self.conversation.report(request, reported)
                if track.own:
                    failed, error_type = False, None
                self.conversation.end(request, at_ns, failed=failed, error_type=error_type)

    # --- what is said ----------------------------------------------------------------------

    @never_raises
    def report(self, times: ReportedTimes, key: Hashable = None) -> None:
        """What the server says of the newest request's times."""
        with self._lock:
            request = self.conversation.newest(key)  # none once the call is over
            if request is not None:
                self.conversation.report(request, times)

    @never_raises
    def note_reported(self, raw: Mapping[str, Scalar], *, trusted: bool | None = None) -> None:
        """What a vendor says that no phase is made of; whether it can be true, if that was seen."""
        with self._lock:
            self.facts.reported.update(raw)
            if trusted is not None:
                self.facts.trust(trusted=trusted)

    def add_usage(self, usage: Usage, *, own: bool = False) -> None:
        """Tokens of one more request; `own`: as the output of the function itself says."""
        if is_collecting():
            later(self.add_usage, usage, own=own)
            return
        with self._lock:
            add = self.facts.add_own_usage if own else self.facts.add_usage
            add(usage)

    @never_raises
    def cache(self, result: str) -> None:
        """The answer did, or did not, come from a cache."""
        with self._lock:
            self.facts.cache_result = result
            self.conversation.is_seen |= result == "hit"
