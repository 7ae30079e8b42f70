"""Instruments made of their descriptions in `conventions`, and what all of them are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, Meter
from opentelemetry.trace import Span, set_span_in_context

from llmphases import conventions as names
from llmphases.observers import OpenSpan

Labels = dict[str, str | bool | int]
R = TypeVar("R")

NO_LABELS: Labels = {}


def histogram(meter: Meter, metric: names.Metric) -> Histogram:
    """The histogram of that description, with its boundaries as advice."""
    return meter.create_histogram(
        metric.name,
        unit=metric.unit,
        description=metric.description,
        explicit_bucket_boundaries_advisory=metric.boundaries,
    )


def other(create: Callable[..., R], metric: names.Metric) -> R:
    """The instrument of that description that `create` makes."""
    return create(metric.name, unit=metric.unit, description=metric.description)


def add_known(labels: Labels, known: Mapping[str, str | None]) -> None:
    """Put those labels in whose values are known."""
    for key, value in known.items():
        if value is not None:
            labels[key] = value


def exemplar_context(what: OpenSpan) -> Context | None:
    """So that an exemplar links to our span, which is not current any more, and baggage counts."""
    span = what.state
    return set_span_in_context(span, what.base or Context()) if isinstance(span, Span) else None
