"""Fixtures for the tests of capture."""

from __future__ import annotations

import pytest

from capture import wirings
from llmphases.testing import FakeClock


@pytest.fixture
def clock():
    """A clock that moves only when told."""
    return FakeClock()


@pytest.fixture
def exported():
    """Calls through a real SDK, on the machine's clock."""
    with wirings.exported() as sink:
        yield sink


@pytest.fixture
def timed(clock):
    """Calls through a real SDK, on the fake clock."""
    with wirings.exported(clock) as sink:
        yield sink


@pytest.fixture
def calls():
    """The calls that end in the test, in the order of their end; recorded in memory."""
    with wirings.recorded() as kept:
        yield kept.calls


@pytest.fixture
def timed_calls(clock):
    """The same, on the fake clock."""
    with wirings.recorded(clock) as kept:
        yield kept.calls
