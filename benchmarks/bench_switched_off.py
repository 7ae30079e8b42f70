"""The call with three phases where nobody wants it traced, against the same without us."""

from __future__ import annotations

import os
from collections.abc import Callable

import by_hand
import rows
import surroundings
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from llmphases.capture import current

CALLS = 50


def calls(work: Callable[[], None]) -> rows.Pass:
    def many() -> None:
        for _ in range(CALLS):
            work()

    return rows.timed(many)


def added(prepare: Callable[[], object]) -> Callable[[int], float]:
    def make() -> tuple[rows.Pass, rows.Pass]:
        prepare()
        return calls(by_hand.nothing), calls(by_hand.by_llmphases())

    return rows.added(make, CALLS)


def sdk_disabled() -> None:
    os.environ["OTEL_SDK_DISABLED"] = "true"
    surroundings.start()
    current.wire(None)  # made when first needed, as in a program


def llmphases_disabled() -> None:
    os.environ["LLMPHASES_DISABLED"] = "1"


rows.run(
    [
        rows.Row(name="switched off: recording, to compare", measure=added(surroundings.start)),
        rows.Row(
            name="switched off: not sampled",
            measure=added(lambda: surroundings.start(ALWAYS_OFF)),
            floor="switched off: recording, to compare",
        ),
        rows.Row(
            name="switched off: OTEL_SDK_DISABLED",
            measure=added(sdk_disabled),
            floor="switched off: recording, to compare",
        ),
        rows.Row(
            name="switched off: LLMPHASES_DISABLED",
            measure=added(llmphases_disabled),
            floor="switched off: recording, to compare",
        ),
    ]
)
