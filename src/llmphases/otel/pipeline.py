"""From finished spans and metrics to their exporters, until the process ends.

This is where providers, readers and exporters of the OpenTelemetry SDK are built.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from llmphases.conventions import RUN_ID
from llmphases.errors import ConfigurationError
from llmphases.observers import never_raises
from llmphases.otel.complaints import Complaints, Late, held_back
from llmphases.otel.delivery import Delivery
from llmphases.otel.destinations import Asked, Destination, Plan, Signal
from llmphases.otel.exporters import make_exporter
from llmphases.otel.leaving import Doors
from llmphases.otel.outbox import Outbox
from llmphases.otel.run_id import run_id
from llmphases.otel.span_queue import OutboxProcessor, make_outbox
from llmphases.otel.waiting import Deadline, Running, force_flush_of


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
        """Build what the plan says, set global providers where there are none, watch the end.

        What raises while it is built leaves no thread behind.
        """
        try:
            if chosen.traces or chosen.metrics:
                self._build(chosen)
        except BaseException:
            for outbox, _ in self._spans:
                outbox.close()
            for reader, _ in self._metrics:  # its thread, too, has nothing to send
                reader.shutdown()
            raise
        self._doors.watch(sigterm=self._asked.sigterm)

    def _build(self, chosen: Plan) -> None:
        name = self._asked.service_name
        named = {} if name is None else {SERVICE_NAME: name}
        resource = Resource.create({RUN_ID: run_id(), **named})
        processors = [self._processor(to) for to in chosen.traces]
        if processors and self._own_tracers is None:
            self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        if chosen.metrics:
            self._make_meters(chosen, resource)
            metrics.set_meter_provider(self._meters)
            _insist("meter", metrics.get_meter_provider(), self._meters)
        if processors and self._own_tracers is None:
            trace.set_tracer_provider(self._tracers)
            _insist("tracer", trace.get_tracer_provider(), self._tracers)
        for processor in processors:
            self._tracers.add_span_processor(processor)

    def _processor(self, to: Destination) -> OutboxProcessor:
        delivery = self._delivery("traces", to)
        outbox = make_outbox(delivery.export, is_local=to.kind == "file")
        self._spans.append((outbox, delivery))
        return OutboxProcessor(outbox, self._asked.exit_deadline_s)

    def _make_meters(self, chosen: Plan, resource: Resource) -> None:
        from llmphases.otel.metric_reader import make_provider, make_reader

        deliveries = [self._delivery("metrics", to) for to in chosen.metrics]
        self._metrics = [(make_reader(delivery), delivery) for delivery in deliveries]
        self._meters = make_provider([reader for reader, _ in self._metrics], resource)

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
        deadline = Deadline(timeout_s)
        before = self._failures()
        running = [Running(reader.force_flush) for reader, _ in self._metrics]
        running += self._flush_own()
        in_time = [outbox.flush(deadline.left_s()) for outbox, _ in self._spans]
        in_time += [one.has_worked(deadline.left_s()) for one in running]
        return all(in_time) and self._failures() == before

    def _flush_own(self) -> list[Running]:
        ways = map(force_flush_of, (self._own_tracers, self._own_meters))
        return [Running(way) for way in ways if way is not None]

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
        deadline = Deadline(self._asked.exit_deadline_s)
        self._end_what_is_open(deadline, at_exit=at_exit)
        for outbox, _ in self._spans:
            outbox.close()
        flushing = [] if at_exit else self._flush_own()
        for reader, _ in self._metrics:
            with held_back():  # the program may have done so before, which the SDK remarks upon
                reader.shutdown(timeout_millis=max(1.0, deadline.left_s() * 1000))
        late = [to for outbox, to in self._spans if not outbox.wait(deadline.left_s())]
        late += [delivery for _, delivery in self._metrics if delivery.is_busy]
        for one in flushing:
            one.has_worked(deadline.left_s())
        self._complain(late)
        self._close()
        self._has_left.set()

    def _end_what_is_open(self, deadline: Deadline, *, at_exit: bool) -> None:
        """Where a signal has interrupted the program, that may hold the locks of a call for good.

        What is finished has to arrive all the same: half of the time is kept for that.
        """
        if at_exit:
            self._before_exit()
        else:
            Running(self._before_exit, is_traced=True).has_worked(deadline.left_s() / 2)

    def _complain(self, late: list[Delivery]) -> None:
        undelivered = None
        if late:
            what = " and ".join(dict.fromkeys(delivery.what for delivery in late))
            where = " and ".join(dict.fromkeys(delivery.where for delivery in late))
            undelivered = Late(what, where, late[0].trouble)
        dropped, capacity = max(
            ((outbox.dropped, outbox.capacity) for outbox, _ in self._spans), default=(0, 0)
        )
        self._complaints.at_the_end(undelivered, dropped, capacity)

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


def _insist(kind: str, in_force: object, ours: object) -> None:
    """OpenTelemetry lets nobody replace a global provider: what we send would go nowhere."""
    if in_force is not ours:
        raise ConfigurationError(
            f"the program has set {type(in_force).__qualname__} as global {kind} provider, which "
            f"is none of the OpenTelemetry SDK's and takes no exporter of ours; call "
            f"llmphases.configure() before it is set, or give {kind}_provider=..."
        )
