"""One request to a model, from its issue to its end."""

from __future__ import annotations

from collections.abc import Hashable

from llmphases.observers import OpenPhase
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.streams import StreamTrack


class Request:
    """The states of a request: issued, streaming, ended; `failed_ns` says how it ended."""

    __slots__ = (
        "ended_ns", "error_type", "failed_ns", "first_ns", "generation", "held_by", "index",
        "issued_ns", "key", "last_ns", "phase", "reported", "resent_ns", "sequence",
        "soft_end_ns", "track",
    )  # fmt: skip

    def __init__(self, index: int, key: Hashable, issued_ns: int, sequence: int) -> None:
        self.index = index
        self.key = key
        """The context (task or thread) that issued it."""
        self.issued_ns = issued_ns
        self.sequence = sequence
        self.track: StreamTrack | None = None
        """The stream that its tokens come from."""
        self.held_by: StreamTrack | None = None
        """The stream whose consumer may hold it up: `track`, or the function's own output."""
        self.phase: OpenPhase | None = None
        """Its live span until the first token; None if nobody said when it was sent."""
        self.generation: OpenPhase | None = None
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.soft_end_ns: int | None = None
        """Where a delivery block began: its end, unless more tokens come."""
        self.ended_ns: int | None = None
        self.failed_ns: int | None = None
        self.error_type: str | None = None
        """Why it failed, if it did and somebody said so."""
        self.resent_ns: int | None = None
        self.reported: ReportedTimes | None = None

    @property
    def is_open(self) -> bool:
        """Whether it may still produce tokens."""
        return self.ended_ns is None

    @property
    def follows_a_stream(self) -> bool:
        """Whether a stream that is still read decides when it ends."""
        return self.track is not None and self.track.read is not None and not self.track.own

    def last_token_ns(self, otherwise_ns: int) -> int:
        """The time of its last token; where no stream tells, `otherwise_ns`."""
        assert self.first_ns is not None
        last = self.last_ns if self.last_ns is not None else otherwise_ns
        if self.track is not None and self.track.last_token_ns is not None:
            last = self.track.last_token_ns
        return max(last, self.first_ns)
