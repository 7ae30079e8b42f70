"""Records finished calls as metrics. Needs the API only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opentelemetry import metrics
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, Meter, MeterProvider
from opentelemetry.trace import Span, set_span_in_context

from llmphases import __version__
from llmphases import conventions as names
from llmphases.calls import Call
from llmphases.observers import Observer, OpenCall, OpenJob, OpenPhase
from llmphases.otel.attributes import costs_of, fixed_share, seconds
from llmphases.otel.carrier import is_suppressed
from llmphases.phases import Phase

Labels = dict[str, str | bool]
R = TypeVar("R")

_MOST_SERIES = 1000
"""How many kinds of calls are remembered; names made up per call would else fill the memory."""
_OTHER = "_OTHER"
_NO_LABELS: Labels = {}


@dataclass(slots=True)
class _LabelsOfCall:
    """The label sets of calls with equal name, provider and model: made once, not per call."""

    base: Labels
    by_phase: dict[Phase, Labels] = field(default_factory=dict)

    def phase(self, phase: Phase) -> Labels:
        labels = self.by_phase.get(phase)
        if labels is None:
            labels = {names.PHASE: phase.value, names.COST: phase.cost.value, **self.base}
            self.by_phase[phase] = labels
        return labels


class MetricsObserver(Observer):
    """Writes to `meter_provider`, or to the global one, also if that is set only later.

    `old_names` gives the `gen_ai.*` metrics the names they had before v0.1.0 of the conventions.
    """

    def __init__(
        self, meter_provider: MeterProvider | None = None, *, old_names: bool = False
    ) -> None:
        meter = metrics.get_meter(names.SCOPE, __version__, meter_provider)
        self._phase = _histogram(meter, names.PHASE_DURATION)
        self._duration = _histogram(meter, names.CALL_DURATION)
        self._first_token = _histogram(meter, names.CALL_FIRST_TOKEN)
        self._share = _histogram(meter, names.CALL_FIXED_SHARE)
        self._active = _other(meter.create_up_down_counter, names.CALLS_ACTIVE)
        self._retries = _other(meter.create_counter, names.RETRIES_TOTAL)
        self._timeouts = _other(meter.create_counter, names.TIMEOUTS_TOTAL)
        self._cache = _other(meter.create_counter, names.CACHE_REQUESTS)
        self._memory = _histogram(meter, names.PROCESS_MEMORY)
        self._cpu = _other(meter.create_counter, names.PROCESS_CPU)
        self._workers = _other(meter.create_gauge, names.JOB_WORKERS_GAUGE)
        self._chunks = _other(meter.create_gauge, names.JOB_CHUNKS_GAUGE)
        self._waves = _other(meter.create_gauge, names.JOB_WAVES_GAUGE)
        self._gen_ai = _OldInference(meter) if old_names else _Inference(meter)
        self._labels: dict[tuple[str, str | None, str | None], _LabelsOfCall] = {}
        self._retry_reasons: dict[int, str] = {}

    def job_started(self, job: OpenJob) -> None:
        if job.workers is not None and not is_suppressed(job.base):
            self._workers.set(job.workers, {names.JOB_NAME: job.name})

    def job_ended(self, job: OpenJob) -> None:
        if is_suppressed(job.base):
            return
        labels = {names.JOB_NAME: job.name}
        self._chunks.set(job.chunks, labels)
        if job.workers is not None:  # known at last, where the job started its own threads
            self._workers.set(job.workers, labels)
        if job.waves is not None:
            self._waves.set(job.waves, labels)

    def call_started(self, call: OpenCall) -> None:
        if not is_suppressed(call.base):
            self._active.add(1, _job_labels(call))

    def phase_ended(self, phase: OpenPhase) -> None:
        self._note(phase)

    def phase_written(self, phase: OpenPhase) -> None:
        self._note(phase)

    def call_ended(self, call: OpenCall, record: Call) -> None:
        reason = self._retry_reasons.pop(id(call), _OTHER)
        if is_suppressed(call.base):
            return
        self._active.add(-1, _job_labels(call))
        labels = self._labels_of(record)
        context = _exemplar_context(call.state)
        self._record_phases(record, labels, context)
        self._record_call(record, labels.base, context)
        self._count(record, labels.base, reason, context)
        if record.requests or record.usage:
            self._gen_ai.record(record, context)

    def _note(self, phase: OpenPhase) -> None:
        if phase.call is None:
            self._record_queue_wait(phase)
        elif phase.phase is Phase.RETRY and phase.error_type is not None:
            self._retry_reasons[id(phase.call)] = phase.error_type
        elif names.PROCESS_PID in phase.attributes and not is_suppressed(phase.call.base):
            self._record_process(phase)

    def _record_process(self, phase: OpenPhase) -> None:
        """A child: of phases and not of calls, for a call may have several."""
        said = phase.attributes
        executable = said.get(names.PROCESS_EXECUTABLE_NAME)
        labels = _NO_LABELS
        if isinstance(executable, str):
            labels = {names.PROCESS_EXECUTABLE_NAME: executable}
        context = _exemplar_context(phase.state)
        memory, cpu_s = said.get(names.PROCESS_MEMORY_PEAK), said.get(names.PROCESS_CPU_TIME)
        if isinstance(memory, int):
            self._memory.record(memory, labels, context)
        if isinstance(cpu_s, float):
            self._cpu.add(cpu_s, labels, context)

    def _record_queue_wait(self, phase: OpenPhase) -> None:
        """The wait of a job's piece: before its call, so no call will tell of it."""
        job = phase.job
        if job is None or phase.phase is not Phase.QUEUE_WAIT or phase.end_ns is None:
            return
        if is_suppressed(phase.base):
            return
        labels = {
            names.PHASE: phase.phase.value,
            names.COST: phase.cost.value,
            names.JOB_NAME: job.name,
        }
        context = _exemplar_context(phase.state)
        self._phase.record(seconds(phase.end_ns - phase.start_ns), labels, context)

    def _labels_of(self, record: Call) -> _LabelsOfCall:
        key = (record.name, record.provider, record.request_model)
        labels = self._labels.get(key)
        if labels is None:
            if len(self._labels) >= _MOST_SERIES:
                self._labels.clear()
            base: Labels = {names.METRIC_CALL_NAME: record.name}
            _add_known(
                base,
                {names.PROVIDER_NAME: record.provider, names.REQUEST_MODEL: record.request_model},
            )
            labels = self._labels[key] = _LabelsOfCall(base)
        return labels

    def _record_phases(self, record: Call, labels: _LabelsOfCall, context: Any) -> None:
        for phase, nanoseconds in record.outside_inner_ns.items():
            if nanoseconds or not record.exclusive_ns.get(phase):
                self._phase.record(seconds(nanoseconds), labels.phase(phase), context)

    def _record_call(self, record: Call, base: Labels, context: Any) -> None:
        labels: Labels = {**base, names.CALL_NESTED: record.nested}
        if record.first_token_ns is not None:
            self._first_token.record(seconds(record.first_token_ns), labels, context)
        share = fixed_share(costs_of(record))
        if share is not None:
            self._share.record(share, labels, context)
        if record.error_type is not None:
            labels = {**labels, names.ERROR_TYPE: record.error_type}
        self._duration.record(seconds(record.duration_ns), labels, context)

    def _count(self, record: Call, base: Labels, retry_reason: str, context: Any) -> None:
        if record.retries:
            labels = {**base, names.METRIC_REASON: retry_reason}
            self._retries.add(record.retries, labels, context)
        if record.error_type is not None and is_timeout(record.error_type):
            labels = {**base, names.METRIC_REASON: record.error_type}
            self._timeouts.add(1, labels, context)
        if record.cache_result is not None:
            labels = {**base, names.METRIC_RESULT: record.cache_result}
            self._cache.add(1, labels, context)


def is_timeout(error_type: str) -> bool:
    """Whether an error's type names a time-out: TimeoutError, APITimeoutError, ReadTimeout ..."""
    kind = error_type.rpartition(".")[2].lower()
    return "timeout" in kind or "timedout" in kind or kind == "timed_out"


class _Inference:
    """The metrics of the GenAI conventions v0.1.0."""

    durations = names.INFERENCE_DURATION
    first_chunks = names.INFERENCE_FIRST_CHUNK

    def __init__(self, meter: Meter) -> None:
        self._duration = _histogram(meter, self.durations)
        self._first_chunk = _histogram(meter, self.first_chunks)
        self._tokens = self._token_histograms(meter)

    def _token_histograms(self, meter: Meter) -> tuple[tuple[Histogram, Labels], ...]:
        """For input and output tokens: where they go, and with which more labels."""
        return (
            (_histogram(meter, names.INFERENCE_INPUT_TOKENS), _NO_LABELS),
            (_histogram(meter, names.INFERENCE_OUTPUT_TOKENS), _NO_LABELS),
        )

    def record(self, record: Call, context: Any) -> None:
        """One finished call that made requests of its own, or whose usage is known."""
        labels: Labels = {names.OPERATION_NAME: record.operation}
        _add_known(
            labels,
            {
                names.PROVIDER_NAME: record.provider,
                names.REQUEST_MODEL: record.request_model,
                names.RESPONSE_MODEL: record.response_model,
            },
        )
        if record.stream and record.first_chunk_ns is not None:
            self._first_chunk.record(seconds(record.first_chunk_ns), labels, context)
        if record.error_type is not None:  # in a new set: old SDKs keep the one they were given
            labels = {**labels, names.ERROR_TYPE: record.error_type}
        self._duration.record(seconds(record.duration_ns), labels, context)
        if record.usage is None:
            return
        counts = (record.usage.input_tokens, record.usage.output_tokens)
        for (histogram, more), count in zip(self._tokens, counts, strict=True):
            if count is not None:
                histogram.record(count, {**labels, **more}, context)


class _OldInference(_Inference):
    """The names that most instrumentations still use."""

    durations = names.OLD_OPERATION_DURATION
    first_chunks = names.OLD_FIRST_CHUNK

    def _token_histograms(self, meter: Meter) -> tuple[tuple[Histogram, Labels], ...]:
        tokens = _histogram(meter, names.OLD_TOKEN_USAGE)
        return ((tokens, {names.TOKEN_TYPE: "input"}), (tokens, {names.TOKEN_TYPE: "output"}))


def _histogram(meter: Meter, metric: names.Metric) -> Histogram:
    try:
        return meter.create_histogram(
            metric.name,
            unit=metric.unit,
            description=metric.description,
            explicit_bucket_boundaries_advisory=metric.boundaries,
        )
    except TypeError:  # an older API has no advice; then views decide
        return meter.create_histogram(metric.name, metric.unit, metric.description)


def _other(create: Callable[..., R], metric: names.Metric) -> R:
    return create(metric.name, unit=metric.unit, description=metric.description)


def _add_known(labels: Labels, known: Mapping[str, str | None]) -> None:
    for key, value in known.items():
        if value is not None:
            labels[key] = value


def _job_labels(call: OpenCall) -> Labels:
    return _NO_LABELS if call.job is None else {names.JOB_NAME: call.job.name}


def _exemplar_context(span: Any) -> Context | None:
    """So that an exemplar links to our span, which is not current any more."""
    return set_span_in_context(span, Context()) if isinstance(span, Span) else None
