"""What our metrics and attributes are called in Prometheus, which gets them by OTLP."""

from __future__ import annotations

import re

from llmphases.conventions import Metric

_UNITS = {"s": "seconds", "By": "bytes"}
"""What Prometheus writes out. Units in braces, and 1, have no suffix but for gauges."""
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9]+")


def label_name(attribute: str) -> str:
    """The label of an attribute: `llmphases.call.name` is `llmphases_call_name`."""
    return _NOT_IN_A_NAME.sub("_", attribute)


def metric_name(metric: Metric) -> str:
    """The name with its unit, without the parts of a histogram (`_bucket`, `_sum`, `_count`).

    As the translation strategy UnderscoreEscapingWithSuffixes has it, which is the default of
    Prometheus and of the collector.
    """
    name = _NOT_IN_A_NAME.sub("_", metric.name)
    unit = _UNITS.get(metric.unit)
    if unit is not None and not name.endswith(f"_{unit}"):
        name = f"{name}_{unit}"
    return f"{name}_total" if metric.is_counter else name
