"""One call with three phases, traced by llmphases and by hand.

By hand means: the same spans under the same names, the same attributes, and the same points on the
same instruments, written with the OpenTelemetry API as its documentation shows it. `difference`
compares what comes out of both, so the comparison stays fair when either changes.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import surroundings
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from llmphases import conventions as names
from llmphases import current_call, post_processing, prompt_build, traced_llm_call
from llmphases.phases import Cost, Phase

_SAYS = {"name": "place_boxes", "model": "gpt-4o-mini", "provider": "openai"}


def by_llmphases() -> Callable[[], None]:
    """A function that records one call, as a program has it."""

    @traced_llm_call(**_SAYS)
    def place_boxes() -> None:
        call = current_call()
        with prompt_build():
            pass
        with call.request():
            call.first_token()
            call.last_token()
        with post_processing():
            pass
        call.usage(input_tokens=1200, output_tokens=80)

    return place_boxes


def nothing() -> None:
    """The same without anything."""


def phase_attributes(phase: Phase) -> dict[str, Any]:
    return {names.PHASE: phase.value, names.COST: phase.cost.value, names.ORIGIN: "measured"}


def by_hand(sdk: surroundings.Sdk) -> Callable[[], None]:  # noqa: PLR0915  # one call, written out
    """A function that records one such call."""
    tracer = trace.get_tracer("by hand", tracer_provider=sdk.tracers)
    meter = sdk.meters.get_meter("by hand")

    def histogram(metric: names.Metric) -> Any:
        return meter.create_histogram(
            metric.name, metric.unit, explicit_bucket_boundaries_advisory=metric.boundaries
        )

    phase_duration = histogram(names.PHASE_DURATION)
    call_duration = histogram(names.CALL_DURATION)
    first_tokens = histogram(names.CALL_FIRST_TOKEN)
    fixed_shares = histogram(names.CALL_FIXED_SHARE)
    inference_duration = histogram(names.INFERENCE_DURATION)
    input_tokens = histogram(names.INFERENCE_INPUT_TOKENS)
    output_tokens = histogram(names.INFERENCE_OUTPUT_TOKENS)
    input_used = meter.create_counter(names.USAGE_INPUT_TOKENS.name, "{token}")
    output_used = meter.create_counter(names.USAGE_OUTPUT_TOKENS.name, "{token}")
    paid = meter.create_counter(names.CALL_PAID.name, names.CALL_PAID.unit)
    active = meter.create_up_down_counter(names.CALLS_ACTIVE.name, names.CALLS_ACTIVE.unit)

    def record() -> None:  # noqa: PLR0915  # the same
        start = perf_counter()
        active.add(1)
        began = {
            names.OPERATION_NAME: "chat",
            names.CALL_NAME: "place_boxes",
            names.CALL_NESTED: False,
            names.PROVIDER_NAME: "openai",
            names.REQUEST_MODEL: "gpt-4o-mini",
        }
        with tracer.start_as_current_span(
            "place_boxes", kind=SpanKind.CLIENT, attributes=began
        ) as span:
            here = perf_counter()
            with tracer.start_as_current_span(
                "prompt_build", attributes=phase_attributes(Phase.PROMPT_BUILD)
            ):
                pass
            built_s = perf_counter() - here
            sent = perf_counter()
            request = {names.REQUEST_INDEX: 0}
            with tracer.start_as_current_span(
                "time_to_first_token",
                attributes=phase_attributes(Phase.TIME_TO_FIRST_TOKEN) | request,
            ):
                pass
            first = perf_counter()
            with tracer.start_as_current_span(
                "generation", attributes=phase_attributes(Phase.GENERATION) | request
            ):
                pass
            last = perf_counter()
            with tracer.start_as_current_span(
                "post_processing", attributes=phase_attributes(Phase.POST_PROCESSING)
            ):
                pass
            end = perf_counter()
            phases = {
                Phase.PROMPT_BUILD: built_s,
                Phase.TIME_TO_FIRST_TOKEN: first - sent,
                Phase.GENERATION: last - first,
                Phase.POST_PROCESSING: end - last,
            }
            unattributed = end - start - sum(phases.values())
            fixed = built_s + first - sent + unattributed
            share = fixed / (fixed + last - first)
            for phase, duration in phases.items():
                span.set_attribute(names.phase_duration(phase), duration)
            span.set_attribute(names.cost_duration(Cost.FIXED), fixed)
            span.set_attribute(names.cost_duration(Cost.GENERATION), last - first)
            span.set_attribute(names.cost_duration(Cost.DELIVERY), end - last)
            span.set_attribute(names.cost_duration(Cost.TOOL), 0.0)
            span.set_attribute(names.cost_duration(Cost.UNSPLIT), 0.0)
            span.set_attribute(names.UNATTRIBUTED_DURATION, unattributed)
            span.set_attribute(names.FIXED_SHARE, share)
            span.set_attribute(names.CALL_TIME_TO_FIRST_TOKEN, first - start)
            span.set_attribute(names.TIME_TO_FIRST_ANSWER_TOKEN, first - start)
            span.set_attribute(names.REQUESTS, 1)
            span.set_attribute(names.RETRIES, 0)
            span.set_attribute(names.INPUT_TOKENS, 1200)
            span.set_attribute(names.OUTPUT_TOKENS, 80)
        context = trace.set_span_in_context(span)
        labels = {
            names.CALL_NAME: "place_boxes",
            names.PROVIDER_NAME: "openai",
            names.REQUEST_MODEL: "gpt-4o-mini",
        }
        for phase, duration in phases.items():
            which = {names.PHASE: phase.value, names.COST: phase.cost.value}
            phase_duration.record(duration, labels | which, context)
        labels[names.CALL_NESTED] = False
        first_tokens.record(first - start, labels, context)
        fixed_shares.record(share, labels, context)
        paid.add(fixed, labels | {names.COST: Cost.FIXED.value}, context)
        paid.add(last - first, labels | {names.COST: Cost.GENERATION.value}, context)
        call_duration.record(end - start, labels, context)
        model = {
            names.OPERATION_NAME: "chat",
            names.PROVIDER_NAME: "openai",
            names.REQUEST_MODEL: "gpt-4o-mini",
        }
        inference_duration.record(end - start, model, context)
        input_tokens.record(1200, model, context)
        output_tokens.record(80, model, context)
        input_used.add(1200, model, context)
        output_used.add(80, model, context)
        active.add(-1)

    return record


def difference() -> list[str]:
    """What only one of the two records: spans by name, their attributes, points by instrument."""
    exporter = InMemorySpanExporter()
    sdk = surroundings.start(exporter=exporter)
    outcomes = []
    for work in (by_llmphases(), by_hand(sdk)):
        exporter.clear()
        work()
        sdk.tracers.force_flush()
        outcomes.append(_spans(exporter) | _points(sdk, "llmphases" if not outcomes else "by hand"))
    return sorted(outcomes[0] ^ outcomes[1])


def _spans(exporter: InMemorySpanExporter) -> set[str]:
    spans = exporter.get_finished_spans()
    return {f"span {s.name}: {key}" for s in spans for key in (s.kind.name, *(s.attributes or ()))}


def _points(sdk: surroundings.Sdk, scope: str) -> set[str]:
    data = sdk.reader.get_metrics_data()
    return {
        f"metric {metric.name}: {sorted(point.attributes or ())} x {getattr(point, 'count', 0)}"
        for resource in (data.resource_metrics if data else ())
        for instruments in resource.scope_metrics
        if instruments.scope.name == scope
        for metric in instruments.metrics
        for point in metric.data.data_points
    }
