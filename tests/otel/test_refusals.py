"""What the SDK refuses, in words."""

from __future__ import annotations

import importlib

import pytest

from llmphases.errors import ConfigurationError
from llmphases.otel.refusals import explained

_ENVIRONMENT = {"OTEL_B": "SECRET", "OTEL_A": "1", "PATH": "/bin"}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("interval value -5.0\n   is invalid."), "interval value -5.0 is invalid. "),
        (StopIteration(), "StopIteration. "),
    ],
)
def test_an_exception_of_the_sdk_is_told_with_the_variables_it_may_be_about(
    error: Exception, said: str
):
    with pytest.raises(ConfigurationError) as caught, explained(_ENVIRONMENT):
        raise error
    assert f"cannot be set up: {said}Correct or unset" in str(caught.value)
    assert str(caught.value).endswith("that are set: OTEL_A, OTEL_B")
    assert caught.value.__cause__ is error
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("module", ["json.no_such_part", "opentelemetry.no_such_part"])
def test_a_package_that_is_not_whole_is_named(module: str):
    """RC-100"""
    with pytest.raises(ConfigurationError) as caught, explained(_ENVIRONMENT):
        importlib.import_module(module)
    assert f"No module named '{module}'" in str(caught.value)
    assert "missing or half installed: pip install" in str(caught.value)
    assert "variable" not in str(caught.value)


def test_what_is_explained_already_stays_as_it_is():
    mine = ConfigurationError("file=5")
    with pytest.raises(ConfigurationError) as caught, explained(_ENVIRONMENT):
        raise mine
    assert caught.value is mine


def test_what_goes_well_is_left_alone():
    with explained(_ENVIRONMENT):
        pass
