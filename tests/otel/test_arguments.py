"""The arguments of `configure`, checked before anything is set up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmphases.errors import ConfigurationError
from llmphases.otel.arguments import checked
from llmphases.otel.destinations import Asked

_NONE = (None, None)


def test_nothing_given_is_what_has_its_default():
    assert checked({}, _NONE) == Asked()


def test_settings_are_kept_in_a_form_that_can_be_compared():
    key, path = {"b": "2", "a": "1"}, Path("t.jsonl")
    asked = checked({"headers": key, "file": path, "exit_deadline_s": 2}, (key, None))
    assert asked.headers == (("a", "1"), ("b", "2"))
    assert (asked.file, asked.exit_deadline_s) == ("t.jsonl", 2.0)
    assert asked.providers == (id(key), None)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("file", 5, "the path of a file"),
        ("file", b"t.jsonl", "the path of a file"),
        ("endpoint", 4318, "http://localhost:4318"),
        ("endpoint", Path("h"), "http://localhost:4318"),
        ("protocol", True, "'grpc'"),
        ("service_name", 7, "a name"),
        ("metrics_endpoint", b"h", "an address"),
        ("traces", "no", "True or False"),
        ("traces", None, "True or False"),
        ("metrics", "false", "True or False"),
        ("sigterm", 1, "True or False"),
        ("exit_deadline_s", "soon", "seconds, from 0 to 3600"),
        ("exit_deadline_s", -1, "seconds"),
        ("exit_deadline_s", True, "seconds"),
        ("exit_deadline_s", float("nan"), "seconds"),
    ],
)
def test_a_value_of_another_kind_is_said_with_what_was_expected(
    name: str, value: Any, expected: str
):
    with pytest.raises(ConfigurationError) as caught:
        checked({name: value}, _NONE)
    said = str(caught.value)
    assert said.startswith(f"{name}={value!r} is not possible; expected ")
    assert expected in said


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (["x-key=SECRET"], "headers is a list; expected names and values"),
        ("x-key=SECRET", "headers is a str; expected names and values"),
        ({"x-key": None}, "the value of 'x-key' is a NoneType"),
        ({"x-key": b"SECRET"}, "the value of 'x-key' is a bytes"),
        ({5: "SECRET"}, "the value of 5 is a str"),
    ],
)
def test_wrong_headers_are_said_without_what_they_hold(headers: Any, expected: str):
    """RC-059"""
    with pytest.raises(ConfigurationError) as caught:
        checked({"headers": headers}, _NONE)
    assert expected in str(caught.value)
    assert "headers={'x-api-key': key}" in str(caught.value)
    assert "SECRET" not in str(caught.value)
