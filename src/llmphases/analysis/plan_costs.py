"""What one call costs, as a plan needs it, from calls that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llmphases.analysis.fit import Fit, NoFit, Unit, fit
from llmphases.analysis.statistics import quantile
from llmphases.calls import Call
from llmphases.phases import Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """``duration = fixed + per_unit * units``, in nanoseconds; units are `llmphases.units`."""

    fixed_ns: float
    per_unit_ns: float
    """Generation, and what tools and delivery take beside it."""
    calls: int
    """How many these rest on."""
    fit: Fit | None
    """The line that they are from; None where generation was seen, and they are medians."""


def costs(calls: Iterable[Call]) -> Costs | NoFit:
    """From the measured split where there is one, else from how long the calls took.

    One call is enough for the former. Failed calls and such that say no units tell nothing.
    """
    everything = list(calls)
    seen = [call for call in everything if _is_seen(call)]
    if seen:
        return _measured(seen)
    found = fit(everything, Unit.WORK_ITEMS)
    if isinstance(found, NoFit):
        return found
    return Costs(
        fixed_ns=found.fixed_ns, per_unit_ns=found.per_unit_ns, calls=found.calls, fit=found
    )


def memory_peak(calls: Iterable[Call]) -> int | None:
    """Bytes: the highest peak of the child processes of a call; None if none is known."""
    uses = (call.process for call in calls if call.process is not None)
    return max((use.memory_peak for use in uses if use.memory_peak is not None), default=None)


def _is_seen(call: Call) -> bool:
    is_whole = call.error_type is None and bool(call.units)
    return is_whole and call.fixed_share is not None and call.cost_ns(Cost.GENERATION) > 0


def _measured(calls: Sequence[Call]) -> Costs:
    fixed = [call.cost_ns(Cost.FIXED) for call in calls]
    rest = [
        (call.duration_ns - paid) / (call.units or 1)
        for call, paid in zip(calls, fixed, strict=True)
    ]
    return Costs(
        fixed_ns=quantile(sorted(fixed), 0.5),
        per_unit_ns=quantile(sorted(rest), 0.5),
        calls=len(calls),
        fit=None,
    )
