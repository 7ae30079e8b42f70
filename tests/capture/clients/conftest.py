"""A small SDK that is hooked into, and what is recorded of it."""

from __future__ import annotations

import pytest

from capture.clients import small_sdk
from llmphases.capture.clients.contract import Method, Sdk
from llmphases.capture.clients.patches import Patches
from llmphases.testing import FakeClock, recorded_calls

WHERE = "capture.clients.small_sdk:"


def wants_stream(client, args, kwargs):
    return kwargs.get("stream", True)


SMALL = Sdk(
    name="small", package="capture", distribution="there is none", since=(1,), before=(2,),
    methods=(
        Method(where=f"{WHERE}Client.ask", provider=lambda client: "us"),
        Method(where=f"{WHERE}Client.ask_inside"),
        Method(where=f"{WHERE}AsyncClient.ask"),
        Method(
            where=f"{WHERE}Client.call",
            operation=lambda client, args, kwargs: "chat" if args[0] == "/ask" else None,
            stream_at="stream",
        ),
        Method(where=f"{WHERE}Client.read", asks_when_read=wants_stream),
        Method(where=f"{WHERE}AsyncClient.read", asks_when_read=wants_stream),
    ),
)  # fmt: skip


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def calls(clock):
    with recorded_calls(clock) as found:
        yield found


@pytest.fixture
def client():
    patches = Patches(SMALL)
    assert patches.install() is None
    yield small_sdk.Client()
    patches.uninstall()


@pytest.fixture
def async_client(client):
    return small_sdk.AsyncClient()
