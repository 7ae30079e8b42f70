"""Of all that a client sends, what asks a model is told by method and address."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from llmphases.adapters.sdks.stainless import raw_responses, requests

METHODS = requests("theirs", {"/ask": "chat"}, lambda client: client.whose)
ASKS = {"method": "post", "url": "/ask", "json_data": {"model": "m"}}


def test_both_clients_have_one_place_to_hook_into():
    assert [method.where for method in METHODS] == [
        "theirs._base_client:SyncAPIClient.request",
        "theirs._base_client:AsyncAPIClient.request",
    ]


@pytest.mark.parametrize(
    ("options", "operation"),
    [
        (ASKS, "chat"),
        (ASKS | {"url": "/ask?beta=true"}, "chat"),
        (ASKS | {"method": "get"}, None),
        (ASKS | {"url": "/ask/5/cancel"}, None),
        (ASKS | {"url": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_what_asks_a_model(options, operation):
    (told, _) = [method.operation for method in METHODS]
    assert told(None, (object, options), {}) == operation
    assert told(None, (), {"cast_to": object, "options": options}) == operation


@pytest.mark.parametrize(
    ("options", "model"),
    [(ASKS, "m"), (SimpleNamespace(**ASKS), "m"), (ASKS | {"json_data": None}, None), ({}, None)],
)
def test_the_model_is_in_what_is_sent(options, model):
    assert METHODS[0].model(None, (object, options), {}) == model


def test_its_raw_responses_are_hooked_into_by_name():
    places = {reading.where for reading in raw_responses("theirs")}
    assert "theirs._legacy_response:LegacyAPIResponse.parse" in places
    assert "theirs._response:AsyncAPIResponse.iter_lines" in places
