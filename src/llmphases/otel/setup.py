"""Sets up OpenTelemetry for programs that have not done so themselves.

Arguments choose first, then the standard `OTEL_*` variables, but what these switch off stays off.
Where neither says anything, traces go to a file of OTLP JSON lines, and `say` (stderr by default)
hears of it. A provider that the program has set, or gives here, stays in charge: only an explicit
`endpoint` or `file` is added to it. `before_exit` is called first when the process ends. The same
settings a second time change nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from opentelemetry import metrics, trace

from llmphases.errors import ConfigurationError
from llmphases.otel.arguments import checked
from llmphases.otel.destinations import Asked, Destination, Plan, plan
from llmphases.otel.pipeline import Pipeline
from llmphases.otel.waiting import Deadline, Running, force_flush_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What `configure` set up."""

    traces: tuple[str, ...] = ()
    """Where traces go: addresses (without anything secret) and files."""
    metrics: tuple[str, ...] = ()
    traces_protocol: str | None = None
    metrics_protocol: str | None = None
    is_disabled: bool = False
    """`OTEL_SDK_DISABLED` or `LLMPHASES_DISABLED` is set: nothing was set up at all."""
    keeps_tracer_provider: bool = False
    """The program has a tracer provider of its own, which stays in charge."""
    keeps_meter_provider: bool = False
    handles_sigterm: bool = False
    exit_deadline_s: float = 1.0


@dataclass(slots=True, kw_only=True)
class _InForce:
    asked: Asked
    configuration: Configuration
    pipeline: Pipeline | None = None


_in_force: list[_InForce] = []


def configure(
    *,
    tracer_provider: Any = None,
    meter_provider: Any = None,
    before_exit: Callable[[], object] = lambda: None,
    say: Callable[[str], object] | None = None,
    **settings: Any,
) -> Configuration:
    """Send spans and metrics somewhere, and see to it that they arrive when the process ends.

    This module says by which rules; the settings are the fields of `Asked`. Raises
    `ConfigurationError` for those that are impossible, or that differ from those in force.
    """
    own = (tracer_provider, meter_provider)
    asked = checked(settings, own)
    if not _in_force:
        _in_force.append(_set_up(asked, own, before_exit, say or _to_stderr))
    return _confirmed(asked)


def flush(*, timeout_s: float = 5.0) -> bool:
    """Hand over everything that is finished; whether all of it arrived within `timeout_s`.

    Without `configure` the providers that the program has set are asked.
    """
    if _in_force:
        pipeline = _in_force[0].pipeline
        return pipeline is None or pipeline.flush(timeout_s)
    deadline = Deadline(timeout_s)
    flushes = map(force_flush_of, (trace.get_tracer_provider(), metrics.get_meter_provider()))
    running = [Running(flush) for flush in flushes if flush is not None]
    worked = [one.has_worked(deadline.left_s()) for one in running]
    return all(worked)


def hand_over() -> None:
    """Have the spans that are finished sent soon; waits for nothing."""
    pipeline = _in_force[0].pipeline if _in_force else None
    if pipeline is not None:
        pipeline.hand_over()


def in_force() -> Configuration | None:
    """What the last `configure` set up; None before."""
    return _in_force[0].configuration if _in_force else None


def reset() -> None:
    """Undo `configure`, for tests: flush, close, and watch the process's end no more.

    The global providers stay: OpenTelemetry lets nobody replace them.
    """
    for one in _in_force:
        if one.pipeline is not None:
            one.pipeline.forget()
    _in_force.clear()


def _set_up(
    asked: Asked,
    own: tuple[Any, Any],
    before_exit: Callable[[], object],
    say: Callable[[str], object],
) -> _InForce:
    chosen = plan(asked, os.environ)
    if chosen.is_disabled:
        return _InForce(asked=asked, configuration=Configuration(is_disabled=True))
    import_module("opentelemetry.propagate")  # whose import reads OTEL_PROPAGATORS
    tracers = _own_provider("tracer_provider", own[0], trace.get_tracer_provider())
    meters = _own_provider("meter_provider", own[1], metrics.get_meter_provider())
    chosen = _beside_own(asked, chosen, tracers, meters)
    configuration = Configuration(
        traces=tuple(map(str, chosen.traces)),
        metrics=tuple(map(str, chosen.metrics)),
        traces_protocol=_protocol(chosen.traces),
        metrics_protocol=_protocol(chosen.metrics),
        keeps_tracer_provider=tracers is not None,
        keeps_meter_provider=meters is not None,
        exit_deadline_s=asked.exit_deadline_s,
    )
    pipeline = None
    if chosen.traces or chosen.metrics or tracers or meters:
        pipeline = Pipeline(asked, before_exit=before_exit, tracers=tracers, meters=meters)
        pipeline.open(chosen)
        configuration = replace(configuration, handles_sigterm=pipeline.watches_sigterm)
    _announce(configuration, chosen, asked, say)
    return _InForce(asked=asked, configuration=configuration, pipeline=pipeline)


def _own_provider(argument: str, given: Any, current: Any) -> Any:
    """The program's own provider, or None where there is only OpenTelemetry's stand-in."""
    if given is not None:
        if not hasattr(given, "force_flush"):
            raise ConfigurationError(
                f"{argument}={given!r} is no provider of the OpenTelemetry SDK; give one, or leave "
                "it out"
            )
        return given
    return current if hasattr(current, "force_flush") else None


def _beside_own(asked: Asked, chosen: Plan, tracers: Any, meters: Any) -> Plan:
    """What is added to the program's own providers: what was asked for in so many words."""
    is_explicit = asked.endpoint is not None or asked.file is not None
    if tracers is not None and not is_explicit:
        chosen = replace(chosen, traces=())
    wants_metrics = asked.metrics or asked.metrics_endpoint is not None or is_explicit
    if meters is not None or (tracers is not None and not wants_metrics):
        if meters is not None and asked.metrics_endpoint is not None:
            raise ConfigurationError(
                f"metrics_endpoint={asked.metrics_endpoint!r} cannot be added to the meter "
                "provider that the program has set; add a reader there, or leave it out"
            )
        chosen = replace(chosen, metrics=())
    return chosen


def _confirmed(asked: Asked) -> Configuration:
    first = _in_force[0]
    if asked == first.asked:
        return first.configuration
    names = [n for n in Asked.__slots__ if getattr(asked, n) != getattr(first.asked, n)]
    now = first.configuration
    raise ConfigurationError(
        f"configure() was called before with other settings: {', '.join(names)} would change. In "
        f"force are traces to {_listed(now.traces)} and metrics to {_listed(now.metrics)}. Call it "
        "once, at the program's start"
    )


def _announce(
    configuration: Configuration, chosen: Plan, asked: Asked, say: Callable[[str], object]
) -> None:
    """One line, where nobody chose: in a file that nobody knows of nobody looks."""
    if configuration.keeps_tracer_provider:
        added = f", and to {_listed(configuration.traces)}" if configuration.traces else ""
        say(f"llmphases: spans go to the tracer provider that the program has set{added}")
    elif any(to.kind == "file" for to in chosen.traces) and asked.file is None and not _is_child():
        kept = " (added to what is there)" if any(map(_holds_traces, chosen.traces)) else ""
        say(f"llmphases: traces go to {_listed(configuration.traces)}{kept}")


def _holds_traces(to: Destination) -> bool:
    path = Path(to.path)
    return to.kind == "file" and path.is_file() and path.stat().st_size > 0


def _is_child() -> bool:
    """Whether this is a multiprocessing worker: its parent has said it already."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _to_stderr(line: str) -> None:
    if sys.stderr is not None:  # a program without a console has none
        sys.stderr.write(line + "\n")


def _listed(places: tuple[str, ...]) -> str:
    return " and ".join(places) or "nowhere"


def _protocol(destinations: tuple[Destination, ...]) -> str | None:
    return next((to.protocol for to in destinations if to.protocol), None)
