"""How calls are recorded: which clock, which observers, which carrier, which chunk shapes.

Importing this loads nothing: OpenTelemetry's API comes with the first decoration or call, its SDK
with `configure()`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llmphases.capture import current
from llmphases.clock import SystemClock
from llmphases.conventions import ENV_LOG, ENV_OLD_NAMES
from llmphases.observers import Observer, Observers
from llmphases.recorder.collected import settle

if TYPE_CHECKING:
    from llmphases.otel.setup import Configuration


def default_wiring() -> current.Wiring:
    """The machine's clock, and spans and metrics by OpenTelemetry's global providers."""
    from llmphases.otel.carrier import OtelCarrier  # noqa: PLC0415  # loaded when first needed
    from llmphases.otel.metrics import MetricsObserver  # noqa: PLC0415
    from llmphases.otel.spans import SpanObserver  # noqa: PLC0415

    observers: list[Observer] = [
        SpanObserver(),
        MetricsObserver(old_names=_is_on(ENV_OLD_NAMES)),
    ]
    if _is_on(ENV_LOG):
        observers.append(_logging_observer())
    return wiring_with(Observers(observers), OtelCarrier())


def wiring_with(observers: Observers, carrier: Any, clock: Any = SystemClock) -> current.Wiring:
    """A wiring with the usual chunk shapes."""
    from llmphases.adapters.chunks import shape_from_predicate, shape_of  # noqa: PLC0415
    from llmphases.adapters.usage import usage_of  # noqa: PLC0415

    return current.Wiring(
        now=clock.now,
        wall=clock.wall,
        observers=observers,
        carrier=carrier,
        shape_of=shape_of,
        shape_from_predicate=shape_from_predicate,
        usage_of=usage_of,
    )


def configure(**options: Any) -> Configuration:
    """Set OpenTelemetry up for a program that has not done so itself.

    Sends spans and metrics over OTLP if an endpoint is given or set in the environment, else
    writes spans to a file of OTLP JSON lines (`llmphases-traces.jsonl`), and says on stderr where
    the data goes. All standard `OTEL_*` variables count. Called again with the same options it
    does nothing.

    Args:
        **options: as `llmphases.otel.setup.configure` takes them: `endpoint`, `protocol`,
            `headers`, `service_name`, `file`, `traces`, `metrics`, `metrics_endpoint`, `sigterm`,
            `exit_deadline_s`.

    Returns:
        What was set up.

    Raises:
        ConfigurationError: for what cannot be; the message says what to do.
    """
    from llmphases.otel import setup  # noqa: PLC0415  # loads the SDK

    made = setup.configure(before_exit=current.close_open_calls, **options)
    current.set_settings(options)
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
    return os.environ.get(variable, "").strip().lower() in {"1", "true", "yes", "on"}


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
