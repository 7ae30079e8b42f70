"""Runs of a command with stated times."""

from __future__ import annotations

from llmphases.analysis.repeats import Measured, repeats
from llmphases.calls import ProcessUse, Usage
from reports.sample_groups import SECOND, call


def run(slow=1.0, **more):
    """One run of the worked timeline with events, all its times so many times as long."""
    given = {
        "process_startup": 1.2 * slow, "time_to_first_token": 1.3 * slow, "generation": 2.0 * slow,
        "tool": 2.5 * slow, "process_shutdown": 0.5 * slow,
        "first_token_ns": round(2 * slow * SECOND),
        "usage": Usage(input_tokens=1200, output_tokens=80),
        "process": ProcessUse(
            executable="claude", cpu_ns=SECOND, wall_ns=10 * SECOND, memory_peak=150 * 2**20
        ),
    }  # fmt: skip
    return call("claude", **(given | more))


def burst(**more):
    """One run that printed everything at once."""
    process = ProcessUse(executable=more.pop("executable", "claude"))
    return call("claude", inference=9.7, process_shutdown=0.2, process=process, **more)


def measured(*alone, together=None, workers=4, exit_code=0):
    """What came of these runs; those together took as long as the first of them."""
    return Measured(
        name="claude",
        exit_code=exit_code,
        alone=repeats(alone, workers=1, took_ns=sum(c.duration_ns for c in alone)),
        together=None
        if together is None
        else repeats(together, workers=workers, took_ns=together[0].duration_ns),
    )
