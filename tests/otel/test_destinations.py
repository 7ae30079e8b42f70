"""Arguments and variables become a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmphases.capture.current import is_disabled
from llmphases.conventions import DEFAULT_FILE, ENV_FILE
from llmphases.errors import ConfigurationError
from llmphases.otel.destinations import Asked, Plan, plan, without_secrets

_BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def _plan(environment: dict[str, str] | None = None, **asked: Any) -> tuple[list[str], list[str]]:
    made = plan(Asked(**asked), environment or {})
    return [str(to) for to in made.traces], [str(to) for to in made.metrics]


def test_without_any_setting_traces_go_to_a_file_and_metrics_nowhere():
    assert _plan() == ([DEFAULT_FILE], [])


def test_the_file_can_be_named_by_argument_or_variable(tmp_path: Path):
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    assert _plan({ENV_FILE: one}) == ([one], [])
    assert _plan({ENV_FILE: one, _BASE: "http://h"}, file=two) == ([two], [])


@pytest.mark.parametrize(
    ("environment", "asked", "expected"),
    [
        ({_BASE: "http://h:1/"}, {}, (["http://h:1/v1/traces"], ["http://h:1/v1/metrics"])),
        ({_BASE: "http://h/otlp"}, {}, (["http://h/otlp/v1/traces"], ["http://h/otlp/v1/metrics"])),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/x"}, {}, (["http://t/x"], [])),
        (
            {_BASE: "http://h", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m/y"},
            {},
            (["http://h/v1/traces"], ["http://m/y"]),
        ),
        ({}, {"endpoint": "http://h"}, (["http://h/v1/traces"], ["http://h/v1/metrics"])),
        (
            {},
            {"endpoint": "http://h/v1/traces"},
            (["http://h/v1/traces"], ["http://h/v1/metrics"]),
        ),
        (
            {_BASE: "http://other"},
            {"endpoint": "http://h", "metrics": False},
            (["http://h/v1/traces"], []),
        ),
        (
            {},
            {"endpoint": "http://j", "metrics_endpoint": "http://p/api/v1/otlp/v1/metrics"},
            (["http://j/v1/traces"], ["http://p/api/v1/otlp/v1/metrics"]),
        ),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", _BASE: "h:4317"},
            {},
            (["h:4317"], ["h:4317"]),
        ),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, {}, (["http://localhost:4318/v1/traces"], [])),
        (
            {"OTEL_TRACES_EXPORTER": "otlp, console", "OTEL_METRICS_EXPORTER": "console"},
            {},
            (["http://localhost:4318/v1/traces", "console"], ["console"]),
        ),
        ({"OTEL_TRACES_EXPORTER": "none", _BASE: "http://h"}, {}, ([], ["http://h/v1/metrics"])),
        ({"OTEL_METRICS_EXPORTER": "none", _BASE: "http://h"}, {}, (["http://h/v1/traces"], [])),
        ({"OTEL_TRACES_EXPORTER": "none"}, {"endpoint": "http://h", "metrics": False}, ([], [])),
        ({}, {"traces": False}, ([], [])),
    ],
)
def test_arguments_choose_first_and_what_is_switched_off_stays_off(
    environment: dict[str, str], asked: dict[str, Any], expected: tuple[list[str], list[str]]
):
    """RC-085"""
    assert _plan(environment, **asked) == expected


@pytest.mark.parametrize("value", ["true", "TRUE", " True "])
def test_a_disabled_sdk_plans_nothing(value: str):
    """RC-085"""
    plans = plan(Asked(endpoint="http://h"), {"OTEL_SDK_DISABLED": value})
    assert plans == Plan(is_disabled=True)


@pytest.mark.parametrize("value", ["1", "yes", "false", ""])
def test_only_true_disables_the_sdk(value: str):
    """RC-085: the SDK itself takes nothing else for true."""
    assert not plan(Asked(), {"OTEL_SDK_DISABLED": value}).is_disabled


@pytest.mark.parametrize(
    ("value", "is_off"), [("1", True), ("true", True), (" ON ", True), ("0", False), ("2", False)]
)
def test_our_own_switch_disables_too(monkeypatch: pytest.MonkeyPatch, value: str, is_off: bool):
    """And by the same words as everywhere: half of a program switched off would be the worst."""
    monkeypatch.setenv("LLMPHASES_DISABLED", value)
    assert is_disabled() is is_off
    assert plan(Asked(), {"LLMPHASES_DISABLED": value}).is_disabled is is_off


def test_the_protocol_of_a_signal_beats_the_common_one():
    made = plan(
        Asked(),
        {
            _BASE: "http://h",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
        },
    )
    assert (made.traces[0].protocol, made.metrics[0].protocol) == ("grpc", "http/protobuf")
    assert made.traces[0].endpoint == "http://h"


@pytest.mark.parametrize(
    ("asked", "environment", "said"),
    [
        ({"endpoint": "localhost:4318"}, {}, "endpoint='localhost:4318'"),
        ({"endpoint": "http://"}, {}, "http://localhost:4318"),
        ({"endpoint": "http://h:port"}, {}, "endpoint="),
        ({"endpoint": "ftp://h"}, {}, "endpoint="),
        ({}, {_BASE: "nonsense"}, _BASE),
        ({"endpoint": "http://h", "protocol": "http/json"}, {}, "protocol='http/json'"),
        ({"protocol": "udp"}, {}, "protocol='udp'"),
        ({}, {_BASE: "http://h", "OTEL_EXPORTER_OTLP_PROTOCOL": "udp"}, "'grpc'"),
        ({}, {_BASE: "http://h", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "TIMEOUT='10s'"),
        ({"endpoint": "http://h", "headers": (("a b", "SECRET"),)}, {}, "header 'a b'"),
        ({"endpoint": "http://h", "headers": (("a", "SECRET\n"),)}, {}, "header 'a'"),
        ({"file": "/no/such/directory/x"}, {}, "directory does not exist"),
        ({"file": "/"}, {}, "it is a directory"),
        ({"metrics": True}, {}, "metrics_endpoint"),
        ({"metrics": False, "metrics_endpoint": "http://h"}, {}, "contradict"),
    ],
)
def test_impossible_settings_say_what_was_given_and_what_to_do(
    asked: dict[str, Any], environment: dict[str, str], said: str
):
    with pytest.raises(ConfigurationError) as caught:
        plan(Asked(**asked), environment)
    assert said in str(caught.value)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://u:p@h:1/x?key=AIza&alt=sse#f", "https://h:1/x"),
        ("http://token@h", "http://h"),
        ("u:p@h:4317", "h:4317"),
        ("h:4317", "h:4317"),
        ("nonsense?key=AIza", "nonsense"),
    ],
)
def test_an_address_is_shown_without_its_secrets(address: str, shown: str):
    """RC-059"""
    assert without_secrets(address) == shown


def test_the_secrets_of_an_address_are_still_used():
    made = plan(Asked(endpoint="https://u:p@h/x?key=K"), {})
    assert made.traces[0].endpoint == "https://u:p@h/x/v1/traces?key=K"
    assert "K" not in str(made.traces[0])
