"""For tests, yours and ours: a clock that stands still, an observer that keeps, a model that talks.

with recorded_calls() as calls:
    place_boxes(segment)
assert calls[0].fixed_share < 0.5
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from llmphases.calls import Call
from llmphases.capture import current
from llmphases.clock import sleep
from llmphases.observers import Observer, Observers, OpenCall, OpenJob, OpenPhase, PlainCarrier
from llmphases.wiring import wiring_with


class FakeClock:
    """A clock that moves only when told. Starts at 1,000 s, and at a round date on the wall."""

    def __init__(
        self, start_ns: int = 1_000_000_000_000, wall_ns: int = 1_800_000_000_000_000_000
    ) -> None:
        self._now_ns = start_ns
        self._offset_ns = wall_ns - start_ns

    def now(self) -> int:
        """Monotonic nanoseconds."""
        return self._now_ns

    def wall(self) -> int:
        """Nanoseconds since the epoch."""
        return self._now_ns + self._offset_ns

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        self._now_ns += round(seconds * 1e9)

    def tick_ns(self, ns: int) -> None:
        """Let an exact number of nanoseconds pass (or, for an odd clock, go back)."""
        self._now_ns += ns

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock, as a time server does; the monotonic one knows nothing of it."""
        self._offset_ns += round(seconds * 1e9)


class CollectingObserver(Observer):
    """Keeps everything it hears of."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.open_calls: list[OpenCall] = []
        self.phases: list[OpenPhase] = []
        """Closed and written ones, in the order of their end."""
        self.jobs: list[OpenJob] = []

    def call_started(self, call: OpenCall) -> None:
        """Keep it."""
        self.open_calls.append(call)

    def phase_ended(self, phase: OpenPhase) -> None:
        """Keep it."""
        self.phases.append(phase)

    def phase_written(self, phase: OpenPhase) -> None:
        """Keep it."""
        self.phases.append(phase)

    def call_ended(self, call: OpenCall, record: Call) -> None:
        """Keep it."""
        self.calls.append(record)

    def job_ended(self, job: OpenJob) -> None:
        """Keep it."""
        self.jobs.append(job)


@contextmanager
def recorded(clock: FakeClock | None = None) -> Iterator[CollectingObserver]:
    """Record into memory instead of OpenTelemetry while the block runs.

    With a `FakeClock` nothing depends on how fast the machine is. Not for concurrent use: the
    wiring is one for the whole process.
    """
    kept = CollectingObserver()
    observers = Observers([kept])
    if clock is None:
        wiring = wiring_with(observers, PlainCarrier())
    else:
        wiring = wiring_with(observers, PlainCarrier(), clock)
    before = current.wire(wiring)
    try:
        yield kept
    finally:
        current.wire(before)


@contextmanager
def recorded_calls(clock: FakeClock | None = None) -> Iterator[list[Call]]:
    """The calls that end while the block runs, in the order of their end."""
    with recorded(clock) as kept:
        yield kept.calls


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeLLM:
    """A stand-in model with stated delays, in seconds.

    Its chunks are those of OpenAI's chat API, as dicts.
    """

    time_to_first_token_s: float = 0.3
    per_token_s: float = 0.01
    tokens: int = 20
    jitter: float = 0.0
    """How much the delays vary, as a part of themselves; 0: not at all."""
    seed: int = 0

    def stream(self, prompt: str) -> Iterator[dict[str, object]]:
        """An empty role chunk at once, then the tokens, then the usage."""
        vary = random.Random(f"{self.seed}{prompt}")  # noqa: S311  # no secret
        yield _chunk({"role": "assistant", "content": ""})
        self._wait(self.time_to_first_token_s, vary)
        for n in range(self.tokens):
            if n:
                self._wait(self.per_token_s, vary)
            yield _chunk({"content": f"word{n} "})
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": self.tokens}
        yield {"choices": [], "usage": usage, "model": "fake"}

    def complete(self, prompt: str) -> str:
        """The whole answer at once, after the same time."""
        vary = random.Random(f"{self.seed}{prompt}")  # noqa: S311  # no secret
        self._wait(self.time_to_first_token_s + self.per_token_s * (self.tokens - 1), vary)
        return "".join(f"word{n} " for n in range(self.tokens))

    def _wait(self, seconds: float, vary: random.Random) -> None:
        sleep(seconds * (1 + self.jitter * (2 * vary.random() - 1)))


def fake_llm(
    *, time_to_first_token_s: float = 0.3, per_token_s: float = 0.01, tokens: int = 20
) -> FakeLLM:
    """A `FakeLLM`; for examples and demonstrations."""
    return FakeLLM(
        time_to_first_token_s=time_to_first_token_s, per_token_s=per_token_s, tokens=tokens
    )


def _chunk(delta: dict[str, object]) -> dict[str, object]:
    return {"object": "chat.completion.chunk", "model": "fake", "choices": [{"delta": delta}]}
