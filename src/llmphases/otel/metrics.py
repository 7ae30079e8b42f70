"""Records finished calls as metrics. Needs the API only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from opentelemetry import metrics
from opentelemetry.metrics import MeterProvider

from llmphases import __version__
from llmphases import conventions as names
from llmphases.calls import Call
from llmphases.observers import Observer, OpenCall, OpenJob, OpenPhase
from llmphases.otel.attributes import costs_of, fixed_share, seconds
from llmphases.otel.carrier import is_suppressed
from llmphases.otel.foreign_watch import told_elsewhere
from llmphases.otel.gen_ai_metrics import GenAiMetrics, OldGenAiMetrics
from llmphases.otel.instruments import (
    NO_LABELS,
    Labels,
    add_known,
    exemplar_context,
    histogram,
    other,
)
from llmphases.phases import Cost, Phase

_MOST_SERIES = 1000
"""How many kinds of calls are remembered; names made up per call would else fill the memory."""


@dataclass(slots=True)
class _LabelsOfCall:
    """The label sets of calls with equal name, provider and model: made once, not per call."""

    base: Labels
    call: Labels
    """For what is counted apart in calls that run inside others."""
    fixed: Labels
    generation: Labels
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
        self._phase = histogram(meter, names.PHASE_DURATION)
        self._duration = histogram(meter, names.CALL_DURATION)
        self._first_token = histogram(meter, names.CALL_FIRST_TOKEN)
        self._share = histogram(meter, names.CALL_FIXED_SHARE)
        self._paid = other(meter.create_counter, names.CALL_PAID)
        self._active = other(meter.create_up_down_counter, names.CALLS_ACTIVE)
        self._retries = other(meter.create_counter, names.RETRIES_TOTAL)
        self._timeouts = other(meter.create_counter, names.TIMEOUTS_TOTAL)
        self._cache = other(meter.create_counter, names.CACHE_REQUESTS)
        self._memory = histogram(meter, names.PROCESS_MEMORY)
        self._cpu = other(meter.create_counter, names.PROCESS_CPU)
        self._wall = histogram(meter, names.PROCESS_WALL)
        self._startup = histogram(meter, names.PROCESS_STARTUP)
        self._workers = other(meter.create_gauge, names.JOB_WORKERS_GAUGE)
        self._chunks = other(meter.create_gauge, names.JOB_CHUNKS_GAUGE)
        self._waves = other(meter.create_gauge, names.JOB_WAVES_GAUGE)
        self._gen_ai = OldGenAiMetrics(meter) if old_names else GenAiMetrics(meter)
        self._labels: dict[tuple[str, str | None, str | None, bool], _LabelsOfCall] = {}

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
        if is_suppressed(call.base):
            return
        self._active.add(-1, _job_labels(call))
        labels = self._labels_of(record)
        context = exemplar_context(call)
        self._record_phases(record, labels, context)
        self._record_call(record, labels, context)
        if call.timeouts or record.error_type or any(asked.error_type for asked in call.asked):
            self._count_retries(call, labels.base, context)
            self._count_timeouts(call, record, labels.base, context)
        self._count_cache(record, labels.base, context)
        if (record.requests or record.usage) and not told_elsewhere(call).metrics:
            self._gen_ai.record(call, record, context)

    def _note(self, phase: OpenPhase) -> None:
        if phase.call is None:
            self._record_queue_wait(phase)
        elif names.PROCESS_PID in phase.attributes and not is_suppressed(phase.call.base):
            self._record_process(phase)

    def _record_process(self, phase: OpenPhase) -> None:
        """A child: of phases and not of calls, for a call may have several."""
        said = phase.attributes
        executable = said.get(names.PROCESS_EXECUTABLE_NAME)
        labels = NO_LABELS
        if isinstance(executable, str):
            labels = {names.PROCESS_EXECUTABLE_NAME: executable}
        context = exemplar_context(phase)
        memory, cpu_s = said.get(names.PROCESS_MEMORY_PEAK), said.get(names.PROCESS_CPU_TIME)
        if isinstance(memory, int):
            self._memory.record(memory, labels, context)
        if isinstance(cpu_s, float):
            self._cpu.add(cpu_s, labels, context)
        if phase.phase is Phase.PROCESS_STARTUP and phase.end_ns is not None:
            self._startup.record(seconds(phase.end_ns - phase.start_ns), labels, context)
        wall_s, exit_code = said.get(names.PROCESS_DURATION), said.get(names.PROCESS_EXIT_CODE)
        if isinstance(wall_s, float):
            if isinstance(exit_code, int):
                labels = {**labels, names.PROCESS_EXIT_CODE: exit_code}
            self._wall.record(wall_s, labels, context)

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
        context = exemplar_context(phase)
        self._phase.record(seconds(phase.end_ns - phase.start_ns), labels, context)

    def _labels_of(self, record: Call) -> _LabelsOfCall:
        key = (record.name, record.provider, record.request_model, record.nested)
        labels = self._labels.get(key)
        if labels is None:
            if len(self._labels) >= _MOST_SERIES:
                self._labels.clear()
            base: Labels = {names.CALL_NAME: record.name}
            add_known(
                base,
                {names.PROVIDER_NAME: record.provider, names.REQUEST_MODEL: record.request_model},
            )
            of_call: Labels = {**base, names.CALL_NESTED: record.nested}
            labels = _LabelsOfCall(
                base,
                of_call,
                fixed={names.COST: Cost.FIXED.value, **of_call},
                generation={names.COST: Cost.GENERATION.value, **of_call},
            )
            self._labels[key] = labels
        return labels

    def _record_phases(self, record: Call, labels: _LabelsOfCall, context: Any) -> None:
        for phase, nanoseconds in record.outside_inner_ns.items():
            if nanoseconds or not record.exclusive_ns.get(phase):
                self._phase.record(seconds(nanoseconds), labels.phase(phase), context)

    def _record_call(self, record: Call, of_call: _LabelsOfCall, context: Any) -> None:
        labels = of_call.call
        if record.first_token_ns is not None:
            self._first_token.record(seconds(record.first_token_ns), labels, context)
        costs = costs_of(record)
        share = fixed_share(costs)
        if share is not None:
            self._share.record(share, labels, context)
            self._paid.add(seconds(costs[Cost.FIXED]), of_call.fixed, context)
            self._paid.add(seconds(costs[Cost.GENERATION]), of_call.generation, context)
        if record.error_type is not None:
            labels = {**labels, names.ERROR_TYPE: record.error_type}
        self._duration.record(seconds(record.duration_ns), labels, context)

    def _count_retries(self, call: OpenCall, base: Labels, context: Any) -> None:
        for asked in call.asked:
            if asked.is_resent:
                reason = asked.error_type or names.OTHER_ERROR
                self._retries.add(1, {**base, names.METRIC_REASON: reason}, context)

    def _count_timeouts(self, call: OpenCall, record: Call, base: Labels, context: Any) -> None:
        """Of its requests and children, which the program may have got over; else its own."""
        reasons = [a.error_type for a in call.asked if a.error_type and is_timeout(a.error_type)]
        own = record.error_type if record.error_type and is_timeout(record.error_type) else None
        is_told = call.timeouts or (reasons and call.asked[-1].error_type == reasons[-1])
        reasons += [own or names.TIMEOUT_ERROR] * call.timeouts
        if own is not None and not is_told:
            reasons.append(own)
        for reason, number in Counter(reasons).items():
            self._timeouts.add(number, {**base, names.METRIC_REASON: reason}, context)

    def _count_cache(self, record: Call, base: Labels, context: Any) -> None:
        if record.cache_result is not None:
            labels = {**base, names.CACHE_RESULT: record.cache_result}
            self._cache.add(1, labels, context)


def is_timeout(error_type: str) -> bool:
    """Whether an error's type names a time-out: TimeoutError, APITimeoutError, ReadTimeout ..."""
    kind = error_type.rpartition(".")[2].lower()
    return "timeout" in kind or "timedout" in kind or kind == "timed_out"


def _job_labels(call: OpenCall) -> Labels:
    return NO_LABELS if call.job is None else {names.JOB_NAME: call.job.name}
