"""How calls are recorded: which clock, which observers, which carrier, which chunk shapes.

Importing this loads nothing: OpenTelemetry's API comes with the first decoration or call, its SDK
with `configure()`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from llmphases.capture import current
from llmphases.capture.contract import Wiring
from llmphases.clock import SystemClock
from llmphases.conventions import ENV_LOG, ENV_OLD_NAMES, is_switched_on
from llmphases.observers import Carrier, Observer, Observers, PlainCarrier, never_raises
from llmphases.recorder.collected import settle

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from llmphases.otel.setup import Configuration


def default_wiring(
    tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
) -> Wiring:
    """The machine's clock; spans and metrics by the given providers, or the global ones."""
    telemetry = None if _is_sdk_disabled() else _telemetry(tracer_provider, meter_provider)
    observers, carrier = telemetry or ([], PlainCarrier())
    if _is_on(ENV_LOG):
        observers.append(_logging_observer())
    return wiring_with(Observers(observers), carrier)


@never_raises  # a variable that OpenTelemetry cannot read is no end of the program
def _telemetry(
    tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None
) -> tuple[list[Observer], Carrier]:
    from llmphases.otel.carrier import OtelCarrier  # noqa: PLC0415  # loaded when first needed
    from llmphases.otel.metrics import MetricsObserver  # noqa: PLC0415  # as above
    from llmphases.otel.spans import SpanObserver  # noqa: PLC0415  # as above

    metrics = MetricsObserver(meter_provider, old_names=_is_on(ENV_OLD_NAMES))
    return [SpanObserver(tracer_provider), metrics], OtelCarrier()


def wiring_with(observers: Observers, carrier: Any, clock: Any = SystemClock) -> Wiring:
    """A wiring with the usual chunk shapes."""
    from llmphases.adapters.answers import facts_of  # noqa: PLC0415  # as above
    from llmphases.adapters.chunks import shape_from_predicate, shape_of  # noqa: PLC0415  # as above
    from llmphases.adapters.commands.registry import format_for  # noqa: PLC0415  # as above
    from llmphases.adapters.commands.routes import route_for  # noqa: PLC0415  # as above
    from llmphases.adapters.endpoints import asks_a_model  # noqa: PLC0415  # as above
    from llmphases.adapters.server_headers import times_in  # noqa: PLC0415  # as above
    from llmphases.adapters.usage import usage_of  # noqa: PLC0415  # as above

    return Wiring(
        now=clock.now,
        wall=clock.wall,
        observers=observers,
        carrier=carrier,
        shape_of=shape_of,
        shape_from_predicate=shape_from_predicate,
        usage_of=usage_of,
        facts_of=facts_of,
        times_in=times_in,
        format_for=format_for,
        route_for=route_for,
        asks_a_model=asks_a_model,
    )


def configure(
    *,
    endpoint: str | None = None,
    protocol: str | None = None,
    headers: Mapping[str, str] | None = None,
    service_name: str | None = None,
    file: str | os.PathLike[str] | None = None,
    traces: bool = True,
    metrics: bool | None = None,
    metrics_endpoint: str | None = None,
    sigterm: bool = True,
    exit_deadline_s: float = 1.0,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    say: Callable[[str], object] | None = None,
) -> Configuration:
    """Set OpenTelemetry up for a program that has not done so itself.

    Sends spans and metrics over OTLP if an endpoint is given or set in the environment, else
    writes spans to a file of OTLP JSON lines and says on stderr where. All standard `OTEL_*`
    variables count. Called again with the same settings it does nothing.

    Args:
        endpoint: base address of an OTLP receiver, e.g. ``http://localhost:4318``.
        protocol: ``http/protobuf`` (the default) or ``grpc``.
        headers: sent with every export, for receivers that ask for a key. Worker processes that
            were not forked from this one take them from `OTEL_EXPORTER_OTLP_HEADERS`: they never
            travel with the work.
        service_name: the name that traces are found under; default: `OTEL_SERVICE_NAME`.
        file: write traces to this file (as well, if an endpoint is given too); default without
            an endpoint: ``llmphases-traces.jsonl`` in the current directory.
        traces: False sends no traces.
        metrics: False sends no metrics (a plain Jaeger takes traces only); default: where the
            traces go, if that is OTLP.
        metrics_endpoint: another address for metrics.
        sigterm: hand over what is there when SIGTERM comes, if nobody else handles it, and end by
            it then (the first process of a container goes on, as it would without us). A main
            thread that sleeps or waits is interrupted for that. One long call into C is not: the
            program ends when it returns, as with any handler in Python; False avoids that.
        exit_deadline_s: seconds that the end of the program may wait for all exports together.
        tracer_provider: write to this provider instead of the global one.
        meter_provider: the same for metrics.
        say: hears where the data goes instead of stderr.

    Returns:
        What was set up.

    Raises:
        ConfigurationError: for what cannot be; the message says what to do.
    """
    from llmphases.otel.refusals import explained  # noqa: PLC0415  # no work at import

    given = {
        "endpoint": endpoint, "protocol": protocol, "headers": headers,
        "service_name": service_name, "file": file, "traces": traces, "metrics": metrics,
        "metrics_endpoint": metrics_endpoint, "sigterm": sigterm,
        "exit_deadline_s": exit_deadline_s,
    }  # fmt: skip
    with explained(os.environ):
        from llmphases.otel import setup  # noqa: PLC0415  # loads the SDK

        made = setup.configure(
            **given, tracer_provider=tracer_provider, meter_provider=meter_provider,
            before_exit=current.close_open_calls, say=say,
        )  # fmt: skip
    current.set_settings(given)
    if tracer_provider is not None or meter_provider is not None:
        current.wire(default_wiring(tracer_provider, meter_provider))
    current.wired()
    return made


def flush(timeout_s: float | None = None) -> bool:
    """Hand over every finished span and metric now; False if that did not work in time.

    For programs that end by `os._exit`, and before handing a trace to somebody else.
    """
    from llmphases.otel import setup  # noqa: PLC0415  # loads the SDK

    settle()
    return setup.flush() if timeout_s is None else setup.flush(timeout_s=timeout_s)


def _adopt(options: Mapping[str, Any]) -> None:
    configure(**options)


def _is_on(variable: str) -> bool:
    return is_switched_on(os.environ.get(variable))


def _is_sdk_disabled() -> bool:
    """Then no provider of the SDK takes anything: without an observer, calls are not recorded."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def _logging_observer() -> Observer:
    from llmphases.logs import LoggingObserver, logger  # noqa: PLC0415  # on request

    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    logger.setLevel(logging.INFO)
    return LoggingObserver()


def _hand_over() -> None:
    if current.settings() is not None:
        from llmphases.otel import setup  # noqa: PLC0415  # loaded: it was configured

        setup.hand_over()


current.set_loader(default_wiring, hand_over=_hand_over, adopt=_adopt)
