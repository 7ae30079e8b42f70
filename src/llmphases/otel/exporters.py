"""Makes the exporter for a destination; its package is imported only then."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import Any

from llmphases.errors import ConfigurationError
from llmphases.otel.destinations import GRPC, Destination, Signal


def make_exporter(signal: Signal, to: Destination) -> Any:
    """An exporter of the OpenTelemetry SDK.

    Raises `ConfigurationError` if no installed package offers it.
    """
    if to.kind == "otlp":
        return _otlp(signal, to)
    if to.kind == "file":
        from llmphases.otel.file_exporter import OtlpJsonFileExporter

        return OtlpJsonFileExporter(to.path)
    return _by_name(signal, to.kind)


def _otlp(signal: Signal, to: Destination) -> Any:
    options: dict[str, Any] = {"endpoint": to.endpoint}
    if to.headers:
        options["headers"] = dict(to.headers)
    return _otlp_class(signal, to.protocol)(**options)


def _otlp_class(signal: Signal, protocol: str | None) -> Any:
    if protocol == GRPC:
        if signal == "traces":
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
                OTLPSpanExporter as GrpcSpanExporter,
            )

            return GrpcSpanExporter
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import (
            OTLPMetricExporter as GrpcMetricExporter,
        )

        return GrpcMetricExporter
    if signal == "traces":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter


def _by_name(signal: Signal, name: str) -> Any:
    """One of those that packages offer under a name, `console` among them."""
    offered = entry_points(group=f"opentelemetry_{signal}_exporter")
    if name not in offered.names:
        known = ", ".join(sorted({"none", *offered.names}))
        shown = re.sub(r"[^\w.-]", "?", name)
        raise ConfigurationError(
            f"OTEL_{signal.upper()}_EXPORTER={shown!r} is offered by no installed package; "
            f"choose among {known}"
        )
    return offered[name].load()()
