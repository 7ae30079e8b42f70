"""Attempts as spans: each drawn where it belongs, others' spans inside, and counted by reason."""

from __future__ import annotations

import itertools

import pytest

from adapters.http.seen import MESSAGES, PARTS, hooked, installed
from capture.wirings import exported
from lab.sse_server import Script
from llmphases.adapters.http.httpx_clients import HTTPX, HTTPX2
from llmphases.adapters.sdks.openai_sdk import OPENAI

pytestmark = pytest.mark.real


@pytest.fixture
def asked(sse_server, monkeypatch):
    """What was exported of a stream whose first attempt gets a 503, with others' spans in it."""
    openai = pytest.importorskip("openai")  # not to be had beside old versions of httpx
    monkeypatch.setattr(openai._base_client, "INITIAL_RETRY_DELAY", 0.01)
    script = Script(label=sse_server.fresh_label(), fail_times=1, tokens=2)
    options = {"base_url": sse_server.base_url, "api_key": "none"}
    plain = [client for client in (HTTPX, HTTPX2) if installed(client.package)]
    with exported() as sink, hooked(OPENAI, *plain), openai.OpenAI(**options) as client:
        tracer = sink.provider.get_tracer("theirs")
        pool = client._client._transport._pool
        send = pool.handle_request

        def sent(request):
            with tracer.start_as_current_span("POST"):
                return send(request)

        pool.handle_request = sent
        body = script.extra_body()
        list(client.chat.completions.create(**MESSAGES, stream=True, extra_body=body))
        yield sink


def children(sink, parent):
    found = [s for s in sink.spans if s.parent and s.parent.span_id == parent.context.span_id]
    return sorted(found, key=lambda span: span.start_time)


def test_each_attempt_is_drawn_with_its_parts_and_others_spans_inside(asked):
    call = asked.one("chat m")
    retry, wait, generation = children(asked, call)
    assert [s.name for s in (retry, wait, generation)] == [
        "retry", "time_to_first_token", "generation",
    ]  # fmt: skip
    for attempt in (retry, wait):
        inside = children(asked, attempt)
        assert [s.name for s in inside if s.name != "POST"] == PARTS
        assert [s.name for s in inside].count("POST") == 1
        parts = [s for s in inside if s.name != "POST"]
        assert {s.attributes["llmphases.phase"] for s in parts} == {attempt.name}
        assert {s.attributes["llmphases.cost"] for s in parts} == {"fixed"}
        indexes = {s.attributes["llmphases.request.index"] for s in parts}
        assert indexes == {attempt.attributes["llmphases.request.index"]}
        for one, after in itertools.pairwise(parts):
            assert one.end_time < after.start_time
        assert attempt.start_time <= parts[0].start_time
        assert parts[-1].end_time <= attempt.end_time


def test_it_is_told_why_it_was_sent_again(asked):
    retry = asked.one("retry")
    assert retry.attributes["error.type"] == "503"
    assert retry.attributes["llmphases.connection.reused"] is False
    assert asked.one("chat m").attributes["llmphases.retries"] == 1
    (point,) = asked.points()["llmphases.retries"]
    assert (point.value, point.attributes["llmphases.reason"]) == (1, "503")
