"""What the times of a command mean, in a sentence or two."""

from __future__ import annotations

from llmphases.analysis.repeats import Measured, slower
from llmphases.analysis.split import split
from llmphases.phases import Cost
from llmphases.reports.meaning import meaning
from llmphases.reports.wording import count, duration, printable, size, times

_NO_GAIN = 0.9
"""Of so many at a time: who takes as many times as long gains nothing by company."""
_READER_LEFT = "SIGPIPE"
_STREAMING = {
    "claude": "--output-format stream-json --verbose --include-partial-messages",
    "codex": "exec --json",
    "gemini": "--output-format stream-json",
    "qwen": "--output-format stream-json --include-partial-messages",
    "opencode": "run --format json",
}
"""How the usual tools are told to print as they go."""


def command_meaning(measured: Measured) -> str:
    """What to do about one run, or several; and whether company pays."""
    alone, together = measured.alone, measured.together
    if together is None or alone.fixed is None or alone.generation is None:
        return " ".join(filter(None, (_of_runs(measured), _of_company(measured))))
    # Not what helps any call: whether more at once help is measured here.
    fixed, generation = duration(alone.fixed.median), duration(alone.generation.median)
    pays = f"Alone each pays {fixed} of fixed cost for {generation} of generation."
    return f"{pays} {_of_company(measured)}"


def _of_runs(measured: Measured) -> str:
    runs = measured.alone
    groups = split(runs.calls).groups
    if not groups:
        return "Nothing was recorded."
    (group,) = groups
    if group.failed is not None and group.answered is None:
        if set(group.error_types) == {_READER_LEFT}:
            return _ended_by_its_reader(measured)
        types = ", ".join(map(_reason, group.error_types))
        who = "It" if runs.runs == 1 else "Every run"
        return f"{who} failed ({types}) before a token was seen: what was printed says why."
    if group.failed is None and group.share is None:
        return _cannot_tell(measured)
    return meaning(group)


def _ended_by_its_reader(measured: Measured) -> str:
    """No failure of its own, and nothing to compare with a run to the end."""
    who = "It was" if measured.alone.runs == 1 else "Every run was"
    return (
        f"{who} ended because the reader of its output had left (SIGPIPE): the times are those "
        "until then."
    )


def _cannot_tell(measured: Measured) -> str:
    runs = measured.alone
    assert runs.duration is not None
    unsplit = sum(call.cost_ns(Cost.UNSPLIT) for call in runs.calls) / len(runs.calls)
    process = runs.calls[0].process
    program = process.executable if process is not None else None
    options = _STREAMING.get(program or "")
    how = f" ({program} {options})" if options else ""
    tap = "" if measured.is_tapped else ", or look at its requests with --tap"
    return (
        f"Nothing tells fixed cost and generation apart in {duration(unsplit)} of "
        f"{duration(runs.duration.median)}: it printed nothing, or all at once. Have it print as "
        f"it goes{how}{tap}."
    )


def _reason(error_type: str) -> str:
    """Why it failed; most programs tell by a number alone."""
    return f"exit {error_type}" if error_type.isdecimal() else printable(error_type)


def _of_company(measured: Measured) -> str:
    alone, together = measured.alone, measured.together
    if together is None:
        return ""
    if alone.went_well and not together.went_well:
        return (
            f"With {together.workers} at a time every run failed: nothing tells what company costs."
        )
    if not measured.is_comparable:
        return ""
    factor = slower(alone.duration, together.duration)
    if factor is None or together.duration is None or alone.duration is None:
        return ""
    text = f"With {together.workers} at a time each takes {times(factor)} times as long"
    if together.failed:  # how long all took has in it what failed early, or late
        text += f", of those that went well ({together.failed} of {together.runs} failed)"
    else:
        one_by_one = duration(alone.duration.median * together.runs)
        text += (
            f": {count(together.runs, 'run')} took {duration(together.took_ns)}, one after another "
            f"they would take {one_by_one}"
        )
    if factor >= together.workers * _NO_GAIN:
        text += ", so that more at once gain nothing"
    if together.memory_peak is not None:
        needed = size(together.memory_peak.median * together.workers)
        text += f". So many at once need {needed} of memory"
    return text + "."
