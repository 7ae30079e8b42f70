"""Helpers that close what is below a stream: the stream is closed then."""

from __future__ import annotations

import asyncio

import pytest

from capture.clients.small_raw import AsyncHelper, Client, Helper, Stream
from llmphases.calls import Ended
from llmphases.capture.clients.contract import Closing, Method, Sdk
from llmphases.capture.clients.patches import Patches

WHERE = "capture.clients.small_raw:"
SDK = Sdk(
    name="raw", package="capture", distribution="there is none", since=(1,), before=(2,),
    methods=(Method(where=f"{WHERE}Client.ask"),),
    closings=(
        Closing(where=f"{WHERE}Helper.close", stream="_raw_stream"),
        Closing(where=f"{WHERE}AsyncHelper.close", stream="_raw_stream"),
    ),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _hooked():
    patches = Patches(SDK)
    assert patches.install() is None
    yield
    patches.uninstall()


def asked(kind=Helper):
    return kind(Client().ask(Stream(iter(["a", "b"]))))


def test_closed_early_the_call_is_over_at_once(calls):
    helper = asked()
    assert next(iter(helper)) == ("a", "derived")
    helper.close()
    assert (helper.is_closed, [call.ended for call in calls]) == (True, [Ended.CLOSED])


def test_closed_after_its_end_it_has_ended_already(calls):
    helper = asked()
    assert len(list(helper)) == 2
    helper.close()
    assert [call.ended for call in calls] == [Ended.EXHAUSTED]


def test_the_same_awaited(calls):
    helper = asked(AsyncHelper)
    asyncio.run(helper.close())
    assert (helper.is_closed, [call.ended for call in calls]) == (True, [Ended.CLOSED])


def test_a_helper_of_a_stream_that_is_not_watched(calls):
    helper = Helper(Stream(iter([])))
    helper.close()
    assert (helper.is_closed, calls) == (True, [])
