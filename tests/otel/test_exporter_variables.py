"""Variables that exporters read by themselves."""

from __future__ import annotations

import pytest

from llmphases.errors import ConfigurationError
from llmphases.otel.destinations import GRPC, HTTP
from llmphases.otel.exporter_variables import check

_OTLP = "OTEL_EXPORTER_OTLP_"


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("TIMEOUT", "10s", "seconds"),
        ("TIMEOUT", "-1", "seconds"),
        ("TIMEOUT", "0", "seconds"),
        ("TIMEOUT", "nan", "seconds"),
        ("COMPRESSION", "br", "'gzip'"),
        ("CERTIFICATE", "/no/such/file", "a file that is there"),
        ("CLIENT_KEY", "/no/such/file", "a file that is there"),
    ],
)
@pytest.mark.parametrize("whose", ["METRICS_", ""])
@pytest.mark.parametrize("protocol", [HTTP, GRPC])
def test_what_an_exporter_cannot_use_is_said_with_its_variable(
    setting: str, value: str, expected: str, whose: str, protocol: str
):
    name = _OTLP + whose + setting
    with pytest.raises(ConfigurationError) as caught:
        check("metrics", protocol, {name: value})
    said = str(caught.value)
    assert said.startswith(f"{name}={value!r} is not possible; expected ")
    assert expected in said


@pytest.mark.parametrize(
    ("protocol", "environment"),
    [
        (HTTP, {}),
        (HTTP, {_OTLP + "TIMEOUT": "0.5", _OTLP + "COMPRESSION": "deflate"}),
        (GRPC, {_OTLP + "TIMEOUT": " 10 ", _OTLP + "COMPRESSION": "GZIP"}),
        (HTTP, {_OTLP + "TIMEOUT": "", _OTLP + "COMPRESSION": "", _OTLP + "HEADERS": ""}),
        (HTTP, {_OTLP + "HEADERS": "api-key=k%20e%3Dy, x-tenant = a=b ,"}),
        (HTTP, {_OTLP + "HEADERS": "authorization=Basic dTpw=="}),
        (HTTP, {_OTLP + "CERTIFICATE": __file__}),
        (HTTP, {_OTLP + "TRACES_TIMEOUT": "3", _OTLP + "TIMEOUT": "nonsense"}),
        (HTTP, {_OTLP + "METRICS_TIMEOUT": "nonsense"}),
    ],
)
def test_what_an_exporter_can_use_is_let_through(protocol: str, environment: dict[str, str]):
    check("traces", protocol, environment)


def test_grpc_knows_fewer_compressions():
    environment = {_OTLP + "COMPRESSION": "deflate"}
    check("traces", HTTP, environment)
    with pytest.raises(ConfigurationError, match="expected 'gzip', or unset it"):
        check("traces", GRPC, environment)


@pytest.mark.parametrize("value", ["SECRET", "x-key=a,SECRET", "a b=SECRET", "=SECRET"])
def test_headers_that_are_none_are_said_without_what_they_hold(value: str):
    """RC-059: the exporter would print them."""
    with pytest.raises(ConfigurationError) as caught:
        check("traces", HTTP, {_OTLP + "HEADERS": value})
    assert "OTEL_EXPORTER_OTLP_HEADERS is no list of headers" in str(caught.value)
    assert "SECRET" not in str(caught.value)
