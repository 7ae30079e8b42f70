"""What a child finds in its environment."""

import os

import pytest

from llmphases.capture.children.environment import child_environment

HEADERS = {"traceparent": "00-new-01", "tracestate": "a=b"}


@pytest.fixture
def stale(monkeypatch):
    """What somebody else's trace has left in ours."""
    monkeypatch.setenv("TRACEPARENT", "00-old-01")
    monkeypatch.setenv("TRACESTATE", "old=1")
    monkeypatch.setenv("BAGGAGE", "old=1")


def test_where_it_is_in_the_trace_goes_in_under_names_in_capitals():
    made = child_environment({"A": "1"}, HEADERS)
    assert made == {"A": "1", "TRACEPARENT": "00-new-01", "TRACESTATE": "a=b"}


@pytest.mark.usefixtures("stale")
def test_what_is_inherited_of_another_trace_is_replaced():
    """RC-037"""
    made = child_environment(None, {"traceparent": "00-new-01"})
    assert made["TRACEPARENT"] == "00-new-01"
    assert "TRACESTATE" not in made
    assert "BAGGAGE" not in made


@pytest.mark.usefixtures("stale")
def test_without_a_span_nothing_is_replaced():
    assert child_environment(None, {}) == dict(os.environ)


@pytest.mark.usefixtures("stale")
def test_neither_our_environment_nor_the_given_one_is_changed():
    """RC-037"""
    ours, given = dict(os.environ), {"TRACEPARENT": "00-theirs-01"}
    child_environment(None, HEADERS)
    child_environment(given, HEADERS)
    assert dict(os.environ) == ours
    assert given == {"TRACEPARENT": "00-theirs-01"}


def test_an_environment_of_bytes_stays_one_but_for_ours():
    made = child_environment({b"A": b"1", b"TRACEPARENT": b"old"}, HEADERS)
    assert made == {b"A": b"1", "TRACEPARENT": "00-new-01", "TRACESTATE": "a=b"}


@pytest.mark.parametrize(
    ("flags", "told"), [("03", "01"), ("02", "00"), ("01", "01"), ("00", "00"), ("zz", "zz")]
)
def test_of_the_flags_a_child_is_told_whether_it_is_sampled(flags, told):
    """Codex takes no trace whose flags are above 02."""
    made = child_environment({}, {"traceparent": f"00-new-{flags}"})
    assert made == {"TRACEPARENT": f"00-new-{told}"}


def test_our_own_settings_of_opentelemetry_are_inherited_unless_told(monkeypatch):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ours")
    assert child_environment(None, {})["OTEL_SERVICE_NAME"] == "ours"
    assert "OTEL_SERVICE_NAME" not in child_environment(None, {}, inherit_otel=False)
    given = {"OTEL_SERVICE_NAME": "theirs"}
    assert child_environment(given, {}, inherit_otel=False) == given
