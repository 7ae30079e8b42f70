"""Pieces of PromQL. Divisions have no answer where there is nothing to divide by, never NaN."""

from __future__ import annotations

from collections.abc import Sequence

from dashboards.prometheus_names import label_name, metric_name
from llmphases import conventions as names
from llmphases.conventions import Metric

RANGE = "$__range"
"""The dashboard's whole time range."""
STEP = "$__rate_interval"
"""A span that holds some pushes, for what is drawn over time."""
STEP_MS = "$__rate_interval_ms"
"""The same as a number, of milliseconds."""

_SILENCE = "1h"
"""How long a program may have sent nothing, and is still known when it sends again."""

JOB = "job"
"""Prometheus' label for `service.name`."""
CALL = label_name(names.CALL_NAME)
MODEL = label_name(names.REQUEST_MODEL)
PROVIDER = label_name(names.PROVIDER_NAME)
PHASE = label_name(names.PHASE)
COST = label_name(names.COST)
REASON = label_name(names.METRIC_REASON)
EXECUTABLE = label_name(names.PROCESS_EXECUTABLE_NAME)
EXIT_CODE = label_name(names.PROCESS_EXIT_CODE)
JOB_NAME = label_name(names.JOB_NAME)
RESULT = label_name(names.CACHE_RESULT)
ERROR = label_name(names.ERROR_TYPE)
_NESTED = label_name(names.CALL_NESTED)

OF_JOB = f'{JOB}=~"$job"'
OF_CALL = f'{OF_JOB}, {CALL}=~"$call", {MODEL}=~"$model"'
"""What is asked of all that is told of calls."""
OF_REQUEST = f'{OF_JOB}, {MODEL}=~"$model"'
"""The same of the metrics of the conventions, which know no names of calls."""
OUTERMOST = f'{OF_CALL}, {_NESTED}="false"'
"""Calls inside calls are in the sums of the outer one: they would count twice."""
NESTED = f'{OF_JOB}, {_NESTED}="true"'
"""Those, of whichever name and model."""


def series(metric: Metric, matchers: str, part: str = "") -> str:
    """Its series. `part` of a histogram: `bucket`, `sum` or `count`."""
    name = f"{metric_name(metric)}_{part}" if part else metric_name(metric)
    return f"{name}{{{matchers}}}"


def growth(metric: Metric, matchers: str, window: str, part: str = "") -> str:
    """By how much each series grew in that time: its last value, less the one from before.

    `increase()` stretches what it saw to the ends of the range, which is half as much again where
    a series has two samples, as those of most programs here; and nothing where it has one, on a
    server without start timestamps. It is asked only where a counter began anew, which those of a
    process do not: each has series of its own.

    Of thousands of series, what takes Prometheus long is to match each with another at every
    point: so `increase()` is handed on only where it is asked, and matches nothing elsewhere.
    """
    one = series(metric, matchers, part)
    last = f"last_over_time({one}[{window}])"
    before = f"last_over_time({one}[{_SILENCE}] offset {window})"
    anew = f"resets({one}[{window}]) > 0"
    plain = f"({last} - {before} or {last})"
    return f"({plain} unless {anew} or (increase({one}[{window}]) and {anew}))"


def total(inner: str, by: Sequence[str] = ()) -> str:
    """The sum, or one for each value of these labels."""
    return f"sum by ({', '.join(by)}) ({inner})" if by else f"sum({inner})"


def grown(
    metric: Metric, matchers: str, window: str, part: str = "", by: Sequence[str] = ()
) -> str:
    """By how much it grew in that time, all series together."""
    return total(growth(metric, matchers, window, part), by)


def ratio(over: str, under: str) -> str:
    """A division, which has no answer where `under` is 0."""
    return f"{over} / ({under} > 0)"


def or_zero(count: str, where: str) -> str:
    """What was counted; 0 where nothing was, as long as there is anything of `where`."""
    return f"({count} or 0 * {where})"


def quantile(share: float, buckets: str, by: Sequence[str] = ()) -> str:
    """A quantile of a histogram's increase; no answer where there is no sample."""
    return f"histogram_quantile({share:g}, {total(buckets, ['le', *by])}) >= 0"


def either(first: str, second: str) -> str:
    """The series of both; of those that are in both, the first's."""
    return f"({first} or {second})"


def boundary(value: float) -> str:
    """A matcher for a bucket: `le` is written `10` or `10.0`, depending on the way it came."""
    return f'le=~"{boundary_pattern(value)}"'


def boundary_pattern(value: float) -> str:
    """The part between the quotes; without backslashes, which would have to be doubled."""
    text = f"{value:g}".replace(".", "[.]")
    return text if "." in text else f"{text}([.]0)?"


def latest(metric: Metric, matchers: str, by: Sequence[str]) -> str:
    """The last value in the range, also of programs that are gone; of several ones the highest."""
    return f"max by ({', '.join(by)}) (last_over_time({series(metric, matchers)}[{RANGE}]))"
