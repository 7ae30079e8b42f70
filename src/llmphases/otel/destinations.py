"""Where telemetry goes: arguments and environment variables become a plan. Nothing is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from llmphases.conventions import DEFAULT_FILE, ENV_DISABLED, ENV_FILE, is_switched_on
from llmphases.errors import ConfigurationError
from llmphases.otel import exporter_variables

Signal = Literal["traces", "metrics"]
Environment = Mapping[str, str]

HTTP = "http/protobuf"
GRPC = "grpc"
_DEFAULT_ENDPOINTS = {HTTP: "http://localhost:4318", GRPC: "http://localhost:4317"}
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_BARE_AUTHORITY = re.compile(r"[A-Za-z0-9.\-\[\]:]+:\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The settings of one `configure()`, to compare with those of the next."""

    endpoint: str | None = None
    protocol: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    service_name: str | None = None
    file: str | None = None
    traces: bool = True
    metrics: bool | None = None
    metrics_endpoint: str | None = None
    sigterm: bool = True
    exit_deadline_s: float = 1.0
    providers: tuple[int | None, int | None] = (None, None)
    """Which provider objects were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One place that takes one signal."""

    kind: str
    """`otlp`, `file`, `console`, or the name of an exporter that some package offers."""
    endpoint: str = ""
    protocol: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    path: str = ""

    def __str__(self) -> str:
        if self.kind == "otlp":
            return without_secrets(self.endpoint)
        return self.path or self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where everything goes."""

    is_disabled: bool = False
    traces: tuple[Destination, ...] = ()
    metrics: tuple[Destination, ...] = ()


def plan(asked: Asked, environment: Environment) -> Plan:
    """Where traces and metrics go.

    Arguments choose before the environment does, but what the environment switches off stays off.
    Raises `ConfigurationError` for what cannot be.
    """
    is_sdk_off = _is_true(environment.get("OTEL_SDK_DISABLED"))
    if is_sdk_off or is_switched_on(environment.get(ENV_DISABLED)):
        return Plan(is_disabled=True)
    if asked.protocol is not None:
        _known_protocol("protocol", asked.protocol)
    if asked.metrics is False and asked.metrics_endpoint is not None:
        raise ConfigurationError(
            "metrics=False and metrics_endpoint=... contradict each other; leave one of them out"
        )
    return Plan(
        traces=_trace_destinations(asked, environment),
        metrics=_metric_destinations(asked, environment),
    )


def _trace_destinations(asked: Asked, environment: Environment) -> tuple[Destination, ...]:
    kinds = _exporters("traces", environment)
    if not asked.traces or "none" in kinds:
        return ()
    if asked.endpoint is not None or asked.file is not None:
        kinds = ("otlp",) * (asked.endpoint is not None) + ("file",) * (asked.file is not None)
    elif not kinds:
        kinds = ("otlp",) if _env_endpoint("traces", environment) else ("file",)
    return tuple(_destination(kind, "traces", asked, environment) for kind in kinds)


def _metric_destinations(asked: Asked, environment: Environment) -> tuple[Destination, ...]:
    kinds = _exporters("metrics", environment)
    if asked.metrics is False or "none" in kinds:
        return ()
    if asked.metrics_endpoint is not None or asked.endpoint is not None:
        kinds = ("otlp",)
    elif asked.file is not None and asked.metrics is None:
        kinds = ()
    elif not kinds and _env_endpoint("metrics", environment):
        kinds = ("otlp",)
    if not kinds and asked.metrics:
        raise ConfigurationError(
            "metrics=True, but nothing takes them: a file holds traces only. Give endpoint=... or "
            "metrics_endpoint=..., or set OTEL_EXPORTER_OTLP_ENDPOINT"
        )
    return tuple(_destination(kind, "metrics", asked, environment) for kind in kinds)


def _destination(kind: str, signal: Signal, asked: Asked, environment: Environment) -> Destination:
    if kind == "file":
        return Destination(kind=kind, path=_file(asked, environment))
    if kind != "otlp":
        return Destination(kind=kind)
    protocol = _protocol(signal, asked, environment)
    exporter_variables.check(signal, protocol, environment)
    return Destination(
        kind=kind,
        endpoint=_endpoint(signal, protocol, asked, environment),
        protocol=protocol,
        headers=_headers(asked),
    )


# --- endpoints and protocols --------------------------------------------------------------------
def _endpoint(signal: Signal, protocol: str, asked: Asked, environment: Environment) -> str:
    if signal == "metrics" and asked.metrics_endpoint is not None:
        return _signal_url(_checked(asked.metrics_endpoint, "metrics_endpoint", protocol), signal)
    if asked.endpoint is not None:
        return _signal_url(_checked(asked.endpoint, "endpoint", protocol), signal)
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
    if environment.get(own):
        return _checked(environment[own], own, protocol).geturl()
    common = "OTEL_EXPORTER_OTLP_ENDPOINT"
    base = environment.get(common) or _DEFAULT_ENDPOINTS[protocol]
    parts = _checked(base, common, protocol)
    return _signal_url(parts, signal) if protocol == HTTP else parts.geturl()


def _signal_url(parts: SplitResult, signal: Signal) -> str:
    """The address of one signal, from the base or from another signal's address."""
    if parts.scheme not in {"http", "https"} or parts.path.endswith("v1/" + signal):
        return parts.geturl()
    base = re.sub(r"/v1/(traces|metrics|logs)/?$", "", parts.path).rstrip("/")
    return parts._replace(path=f"{base}/v1/{signal}").geturl()


def _checked(endpoint: str, source: str, protocol: str) -> SplitResult:
    if protocol == GRPC and _BARE_AUTHORITY.fullmatch(endpoint):
        return SplitResult("", "", endpoint, "", "")
    try:
        parts = urlsplit(endpoint)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        is_usable = is_usable and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ConfigurationError(
            f"{source}={without_secrets(endpoint)!r} is no address that OTLP can be sent to; "
            f"expected something like {_DEFAULT_ENDPOINTS[protocol]!r}"
        )
    return parts


def without_secrets(endpoint: str) -> str:
    """An address to print: without user, password, query and fragment."""
    address = re.split(r"[?#]", endpoint, maxsplit=1)[0]
    scheme, separator, rest = address.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]


def _protocol(signal: Signal, asked: Asked, environment: Environment) -> str:
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL"
    common = "OTEL_EXPORTER_OTLP_PROTOCOL"
    for source, value in (
        ("protocol", asked.protocol),
        (own, environment.get(own)),
        (common, environment.get(common)),
    ):
        if value:
            return _known_protocol(source, value)
    return HTTP


def _known_protocol(source: str, value: str) -> str:
    if value.strip().lower() not in {HTTP, GRPC}:
        raise ConfigurationError(
            f"{source}={value!r} is not supported; choose {HTTP!r} or {GRPC!r}"
        )
    return value.strip().lower()


def _headers(asked: Asked) -> tuple[tuple[str, str], ...]:
    for name, value in asked.headers:
        if not exporter_variables.HEADER_NAME.fullmatch(str(name)) or not _HEADER_VALUE.fullmatch(
            str(value)
        ):
            raise ConfigurationError(
                f"header {name!r} cannot be sent; expected headers={{name: value}} in plain ASCII "
                "without line breaks (its value is not shown here)"
            )
    return tuple((str(name).lower(), str(value)) for name, value in asked.headers)


# --- files and variables ------------------------------------------------------------------------
def _file(asked: Asked, environment: Environment) -> str:
    path = Path(asked.file or environment.get(ENV_FILE) or DEFAULT_FILE)
    problem = problem_with(path)
    if problem is not None:
        raise ConfigurationError(
            f"traces cannot go to {str(path)!r}: {problem}. Name another file with file=... or "
            f"{ENV_FILE}, or give an endpoint"
        )
    return str(path)


def problem_with(path: Path) -> str | None:
    """Why no traces can be added to a file; None if nothing speaks against it."""
    try:
        if path.is_dir():
            return "it is a directory"
        if not path.parent.is_dir():
            return "its directory does not exist"
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            return "it may not be written"
    except OSError as error:  # a name that is too long, a directory that may not be searched
        return error.strerror or str(error)
    return None


def _env_endpoint(signal: Signal, environment: Environment) -> str | None:
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
    return environment.get(own) or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")


def _exporters(signal: Signal, environment: Environment) -> tuple[str, ...]:
    listed = environment.get(f"OTEL_{signal.upper()}_EXPORTER", "").lower().split(",")
    return tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))


def _is_true(value: str | None) -> bool:
    return (value or "").strip().lower() == "true"  # the SDK takes nothing else for true
