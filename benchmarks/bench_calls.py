"""A call with three phases against the same by hand: the ratio is what counts."""

from __future__ import annotations

from collections.abc import Callable

import by_hand
import rows
import surroundings

CALLS = 20


def calls(work: Callable[[], None]) -> rows.Pass:
    def many() -> None:
        for _ in range(CALLS):
            work()

    return rows.timed(many)


def both() -> tuple[rows.Pass, rows.Pass]:
    if only_one_has := by_hand.difference():
        raise SystemExit("not the same is compared:\n" + "\n".join(only_one_has))
    sdk = surroundings.start()
    return calls(by_hand.by_hand(sdk)), calls(by_hand.by_llmphases())


rows.run(
    [
        rows.Row(
            name="call with three phases: by hand",
            measure=rows.spent(lambda: both()[0], CALLS),
        ),
        rows.Row(
            name="call with three phases: llmphases, on top",
            measure=rows.added(both, CALLS),
            target=1.3,
            target_is_ratio=True,
            floor="call with three phases: by hand",
            is_on_top=True,
        ),
    ]
)
