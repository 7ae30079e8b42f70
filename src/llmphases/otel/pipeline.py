"""From finished spans and metrics to their exporters, until the process ends.

This is where providers, readers and exporters of the OpenTelemetry SDK are built.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import metrics, trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from llmphases.clock import SystemClock
from llmphases.errors import ConfigurationError
from llmphases.observers import never_raises
from llmphases.otel.complaints import Complaints
from llmphases.otel.delivery import Delivery
from llmphases.otel.destinations import Asked, Destination, Plan, Signal
from llmphases.otel.exporters import make_exporter
from llmphases.otel.leaving import Doors
from llmphases.otel.outbox import Outbox

_CAPACITY = 65_536
"""Room for 10,000 calls with five phases each that end within one second. The SDK's own 2,048
lose most of them, and it says so to nobody."""
_BATCH_SIZE = 512
_DELAY_MS = 5000


class OutboxProcessor(SpanProcessor):
    """Puts finished spans in an outbox; never blocks, unless asked to flush."""

    def __init__(self, outbox: Outbox[ReadableSpan], patience_s: float) -> None:
        self.outbox = outbox
        self._patience_s = patience_s

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.outbox.start()

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is not None and context.trace_flags.sampled:
            self.outbox.put(span)

    def shutdown(self) -> None:
        self.outbox.close()
        self.outbox.wait(self._patience_s)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self.outbox.flush(timeout_millis / 1000)


class Pipeline:
    """Everything that `configure` builds, with its end."""

    def __init__(
        self, asked: Asked, *, before_exit: Callable[[], object], tracers: Any, meters: Any
    ) -> None:
        self._asked = asked
        self._before_exit = never_raises(before_exit)
        self._own_tracers = tracers
        self._own_meters = meters
        self._tracers: Any = tracers
        self._meters: Any = meters
        self._complaints = Complaints()
        self._spans: list[tuple[Outbox[ReadableSpan], Delivery]] = []
        self._metrics: list[tuple[Any, Delivery]] = []
        self._doors = Doors(self, asked.exit_deadline_s)
        self._leaving = threading.Lock()
        self._has_left = threading.Event()

    @property
    def watches_sigterm(self) -> bool:
        """Whether SIGTERM is handled."""
        return self._doors.sigterm.is_watched

    def open(self, chosen: Plan) -> None:
        """Build what the plan says, set global providers where there are none, watch the end."""
        if chosen.traces or chosen.metrics:
            name = self._asked.service_name
            resource = Resource.create({} if name is None else {SERVICE_NAME: name})
            if chosen.metrics:
                self._open_metrics(chosen, resource)
            if chosen.traces:
                self._open_traces(chosen, resource)
        self._doors.watch(sigterm=self._asked.sigterm)

    def _open_traces(self, chosen: Plan, resource: Resource) -> None:
        processors = [self._processor(to) for to in chosen.traces]
        if self._own_tracers is None:
            self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
            trace.set_tracer_provider(self._tracers)
        for processor in processors:
            self._tracers.add_span_processor(processor)

    def _processor(self, to: Destination) -> OutboxProcessor:
        delivery = self._delivery("traces", to)
        capacity = _whole_number("OTEL_BSP_MAX_QUEUE_SIZE", _CAPACITY)
        batch_size = _whole_number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", _BATCH_SIZE)
        outbox = Outbox[ReadableSpan](
            delivery.export,
            capacity=capacity,
            batch_size=min(batch_size, capacity),
            delay_s=_whole_number("OTEL_BSP_SCHEDULE_DELAY", _DELAY_MS) / 1000,
            prepare=_suppress_instrumentation,
        )
        self._spans.append((outbox, delivery))
        return OutboxProcessor(outbox, self._asked.exit_deadline_s)

    def _open_metrics(self, chosen: Plan, resource: Resource) -> None:
        from llmphases.otel.metric_reader import make_provider, make_reader

        deliveries = [self._delivery("metrics", to) for to in chosen.metrics]
        self._metrics = [(make_reader(delivery), delivery) for delivery in deliveries]
        self._meters = make_provider([reader for reader, _ in self._metrics], resource)
        metrics.set_meter_provider(self._meters)

    def _delivery(self, signal: Signal, to: Destination) -> Delivery:
        return Delivery(
            lambda: make_exporter(signal, to),
            what=signal,
            where=str(to),
            complaints=self._complaints,
        )

    # --- handing over -----------------------------------------------------------------------
    def flush(self, timeout_s: float) -> bool:
        """Hand over what is finished; whether all of it arrived in time."""
        deadline = _Deadline(timeout_s)
        before = self._failures()
        readers = [_in_thread(reader.force_flush) for reader, _ in self._metrics]
        own = [_in_thread(own.force_flush) for own in (self._own_tracers, self._own_meters) if own]
        in_time = [outbox.flush(deadline.left_s()) for outbox, _ in self._spans]
        in_time += [done.wait(deadline.left_s()) for done in (*readers, *own)]
        return all(in_time) and self._failures() == before

    def hand_over(self) -> None:
        """Send what is finished soon, without waiting for it, and spans only.

        A worker of a pool does so after each piece of work: it may be killed at any time, and a
        collector that does not answer may not slow it down.
        """
        for outbox, _ in self._spans:
            outbox.hurry()

    def _failures(self) -> int:
        return sum(delivery.failures for _, delivery in (*self._spans, *self._metrics))

    # --- the end ----------------------------------------------------------------------------
    def leave(self, *, at_exit: bool) -> None:
        """End what is open and hand over everything, within the deadline."""
        if not self._leaving.acquire(blocking=False):
            self._has_left.wait(self._asked.exit_deadline_s)
            return
        deadline = _Deadline(self._asked.exit_deadline_s)
        self._before_exit()
        for outbox, _ in self._spans:
            outbox.close()
        own = () if at_exit else (self._own_tracers, self._own_meters)
        flushing = [_in_thread(provider.force_flush) for provider in own if provider]
        for reader, _ in self._metrics:
            reader.shutdown(timeout_millis=max(1.0, deadline.left_s() * 1000))
        late = [to for outbox, to in self._spans if not outbox.wait(deadline.left_s())]
        late += [delivery for _, delivery in self._metrics if delivery.is_busy]
        for done in flushing:
            done.wait(deadline.left_s())
        self._complain(late)
        self._close()
        self._has_left.set()

    def _complain(self, late: list[Delivery]) -> None:
        if late:
            what = " and ".join(dict.fromkeys(delivery.what for delivery in late))
            where = " and ".join(dict.fromkeys(delivery.where for delivery in late))
            self._complaints.too_late(what, where, late[0].trouble)
        for outbox, _ in self._spans:
            if outbox.dropped:
                self._complaints.dropped(outbox.dropped, outbox.capacity)

    def _close(self) -> None:
        for _, delivery in (*self._spans, *self._metrics):
            delivery.shutdown()
        if self._own_tracers is None and self._tracers is not None:
            self._tracers.shutdown()  # whatever else the program has added to it

    def after_fork(self) -> None:
        """In a forked child: what waits is the parent's, and so are its connections."""
        self._leaving = threading.Lock()
        self._has_left = threading.Event()
        for outbox, _ in self._spans:
            outbox.forget()
        for _, delivery in (*self._spans, *self._metrics):
            delivery.renew()
        if self._metrics:
            from llmphases.otel.metric_reader import begin_anew

            begin_anew(self._meters, [reader for reader, _ in self._metrics])

    def forget(self) -> None:
        """Leave now, and do not watch the end any more."""
        self._doors.forget()
        self.leave(at_exit=False)


class _Deadline:
    """A moment from now on."""

    def __init__(self, seconds: float) -> None:
        self._end_ns = SystemClock.now() + int(seconds * 1e9)

    def left_s(self) -> float:
        return max(0.0, (self._end_ns - SystemClock.now()) / 1e9)


def _in_thread(function: Callable[[], object]) -> threading.Event:
    """Run what may block for longer than anyone waits; the event tells when it is done."""
    done = threading.Event()

    def run() -> None:
        _suppress_instrumentation()
        never_raises(function)()
        done.set()

    with suppress(RuntimeError):  # no threads any more, the interpreter ends
        threading.Thread(target=run, name="llmphases-flush", daemon=True).start()
    return done


def _suppress_instrumentation() -> None:
    """In this thread: the requests that exporters make are nobody's LLM calls."""
    key = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")
    otel_context.attach(otel_context.set_value(key, value=True))


def _whole_number(variable: str, default: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not text.isdecimal() or int(text) == 0:
        raise ConfigurationError(f"{variable}={text!r} is no whole number above 0")
    return int(text)
