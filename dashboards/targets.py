"""From where on something is too much: chosen values, each with its reason."""

from __future__ import annotations

from llmphases.conventions import SECONDS

FIRST_TOKEN_TARGET_S = 10.0
"""About as long as a person waits before turning to something else. A boundary of the histogram:
else nobody could count what is over it."""
OBJECTIVE = 0.95
"""So many of the calls have their first token in time: the p95 that people quote is on target."""
FEWEST_CALLS = 20
"""One slow call of fewer would be more than the rest of `OBJECTIVE`, and no cause for an alert."""

FIXED_SHARE_TARGET = 0.8
"""Four of five seconds are paid for the call: twice as long answers would cost a fifth more. The
story that this package is made for had 0.97."""
FIXED_WORTH_S = 600.0
"""Ten minutes of fixed cost an hour: saving less is not worth a person's attention."""

RETRIES_PER_CALL = 0.1
"""One call of ten is sent again. Rate limits begin so, and each retry pays the fixed cost again."""
FEWEST_RETRIES = 5
"""One that failed may be chance, also of few calls."""

ALERT_WINDOW = "1h"
"""LLM calls are few: in less time there are too few for a share to mean something."""
ALERT_FOR = "5m"
"""Metrics come once a minute: five in a row say the same."""

CPU_IDLE_SHARE = 0.25
"""A tool that uses less of one core than that waits for something else."""
FEW_HITS = 0.5
"""A cache that misses more often than not deserves a look at its key."""

assert FIRST_TOKEN_TARGET_S in SECONDS
