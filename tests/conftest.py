"""Every test starts from the same place: no settings from outside, no complaint said yet."""

from __future__ import annotations

import os
from collections.abc import Iterator

import hypothesis
import pytest

from lab.llama import llama_server
from lab.sse_server import SseServer
from llmphases import observers
from llmphases.capture import current

__all__ = ["llama_server"]

# No deadlines: a busy machine is no fault. In CI the same examples each time.
hypothesis.settings.register_profile("here", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")

_SETTINGS = ("OTEL_", "LLMPHASES_", "TRACEPARENT", "TRACESTATE", "NO_COLOR", "FORCE_COLOR")


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the shell that runs the tests count for none of them."""
    for name in list(os.environ):
        if name.startswith(_SETTINGS):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _nothing_said_yet() -> Iterator[None]:
    """What is logged once is logged once in each test."""
    observers.forget_complaints()
    yield
    observers.forget_complaints()


@pytest.fixture(autouse=True)
def _wired_anew() -> Iterator[None]:
    """The usual wiring, made when first needed; whatever a test put there is gone after it."""
    current.wire(None)
    yield
    current.wire(None)


@pytest.fixture(scope="session")
def sse_server() -> Iterator[SseServer]:
    """The stand-in chat server; each request carries its own delays, so one serves all tests."""
    with SseServer() as server:
        yield server
