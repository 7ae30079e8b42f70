"""What a server says about its own times, placed inside what we measured, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from llmphases.calls import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTimes:
    """Durations in nanoseconds as a server gave them; None where it said nothing."""

    queue_ns: int | None = None
    prefill_ns: int | None = None
    generation_ns: int | None = None
    raw: Mapping[str, Scalar] = field(default_factory=dict)
    """The vendor's own numbers under the vendor's own names."""

    @property
    def has_durations(self) -> bool:
        """Whether there is anything that can be true or not."""
        return any(ns is not None for ns in (self.queue_ns, self.prefill_ns, self.generation_ns))


def fits(times: ReportedTimes, window_ns: int) -> bool:
    """Whether the reported times can be true: more than nothing, at most 5 % over the window."""
    total = _total(times)
    return total > 0 and total * 100 <= window_ns * 105


def generation_start(times: ReportedTimes, start_ns: int, end_ns: int) -> int | None:
    """Where generation began, the reported times aligned to the window's end.

    All before it is time to first token. Times that are a little over the window are scaled down
    to it. None if they do not fit, or generation is not among them.
    """
    window = end_ns - start_ns
    if times.generation_ns is None or not fits(times, window):
        return None
    generation = times.generation_ns
    total = _total(times)
    if total > window:
        generation = generation * window // total
    return end_ns - generation


def request_start(
    times: ReportedTimes, start_ns: int, end_ns: int, first_ns: int | None = None
) -> int | None:
    """When a request was sent, of which only its answer's end and the reported times are known.

    It was sent before `first_ns`, where its first token was seen, else before `end_ns`. None if
    the times do not fit in the window, or do not tell.
    """
    before_ns = (times.queue_ns or 0) + (times.prefill_ns or 0)
    if times.generation_ns is None or not before_ns or not fits(times, end_ns - start_ns):
        return None
    sent_ns = end_ns - _total(times) if first_ns is None else first_ns - before_ns
    return max(start_ns, sent_ns)


def _total(times: ReportedTimes) -> int:
    return (times.queue_ns or 0) + (times.prefill_ns or 0) + (times.generation_ns or 0)
