"""Which exporter a destination gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter
from opentelemetry.sdk.trace.export import ConsoleSpanExporter

from llmphases.errors import ConfigurationError
from llmphases.otel.destinations import GRPC, HTTP, Destination, Signal
from llmphases.otel.exporters import make_exporter
from llmphases.otel.file_exporter import OtlpJsonFileExporter


@pytest.mark.parametrize("signal", ["traces", "metrics"])
@pytest.mark.parametrize(("protocol", "package"), [(HTTP, ".http."), (GRPC, ".grpc.")])
def test_otlp_goes_by_the_protocol(signal: Signal, protocol: str, package: str):
    to = Destination(
        kind="otlp", endpoint="http://127.0.0.1:9", protocol=protocol, headers=(("k", "v"),)
    )
    exporter = make_exporter(signal, to)
    assert package in type(exporter).__module__
    exporter.shutdown()


def test_a_file_gets_the_file_exporter(tmp_path: Path):
    exporter = make_exporter("traces", Destination(kind="file", path=str(tmp_path / "t")))
    assert isinstance(exporter, OtlpJsonFileExporter)


def test_others_are_found_by_the_name_that_a_package_offers():
    assert isinstance(make_exporter("traces", Destination(kind="console")), ConsoleSpanExporter)
    assert isinstance(make_exporter("metrics", Destination(kind="console")), ConsoleMetricExporter)


def test_a_name_that_nobody_offers_is_loud():
    with pytest.raises(ConfigurationError, match=r"OTEL_TRACES_EXPORTER='zipkinn'.*console"):
        make_exporter("traces", Destination(kind="zipkinn"))
