"""By default nothing that a program's functions take, give or raise leaves the process."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from capture.fake_streams import FakeStream, FakeStreamManager, token
from llmphases import (
    cache_lookup,
    llm_call,
    post_processing,
    retrieval,
    step,
    traced_llm_call,
    traced_stream,
)
from llmphases.otel.file_exporter import encode_line

MARKER = "PII-MARKER"
KEY = "sk-live-SECRET"


class ProviderError(Exception):
    """As providers': it quotes the request."""


def failing(*args, **kwargs):
    try:
        raise ValueError(f"bad key {KEY} for prompt: {MARKER}")
    except ValueError as cause:
        raise ProviderError(MARKER, KEY) from cause


async def coroutine(prompt, **kwargs):
    return MARKER


def generator(prompt, **kwargs):
    yield token(MARKER)
    yield {"choices": [], "error": MARKER, "usage": {"prompt_tokens": 1}, "model": "m"}


async def async_generator(prompt, **kwargs):
    for chunk in generator(prompt):
        yield chunk


def failing_generator(prompt, **kwargs):
    yield MARKER
    failing()


async def drained(stream):
    return [chunk async for chunk in stream]


def blocks():
    with llm_call("call") as call, call.request(), retrieval(), cache_lookup() as lookup:
        lookup.cache(MARKER)
        call.usage({"prompt_tokens": MARKER, "content": MARKER})
        call.cache(MARKER)
    with step("rerank"), post_processing():
        failing()


SECRETS = {
    "api_key": KEY,
    "token": KEY,
    "headers": {"authorization": f"Bearer {KEY}"},
    "nested": {"password": [KEY]},
}
PATHS = {
    "function": lambda: traced_llm_call(lambda *a, **k: MARKER)(MARKER, **SECRETS),
    "error": lambda: traced_llm_call(failing)(MARKER, **SECRETS),
    "coroutine": lambda: asyncio.run(traced_llm_call(coroutine)(MARKER, **SECRETS)),
    "generator": lambda: list(traced_llm_call(generator)(MARKER, **SECRETS)),
    "failing generator": lambda: list(traced_llm_call(failing_generator)(MARKER, **SECRETS)),
    "async generator": lambda: asyncio.run(drained(traced_llm_call(async_generator)(MARKER))),
    "stream": lambda: list(traced_stream(FakeStream([MARKER, token(MARKER)]))),
    "manager": lambda: traced_llm_call(lambda: FakeStreamManager())().__enter__(),
    "phase": lambda: retrieval(lambda query: MARKER)(MARKER),
    "failing phase": lambda: retrieval(failing)(MARKER),
    "blocks": blocks,
    "attribute": lambda: with_attributes(),
}


def with_attributes():
    with llm_call("call") as call:
        call.set_attribute("url", f"https://u:{KEY}@h/x?key={KEY}")
        call.set_attribute("error", f"bad key {KEY}")
        call.set_attribute("object", SECRETS)


def everything(sink):
    """Every byte that an exporter would send, and the console's text."""
    spans = sink.spans
    assert spans
    sent = [encode_spans(spans).SerializeToString().decode("latin-1")]
    sent.append(MessageToJson(encode_spans(spans)))
    sent.append(encode_line(spans).decode())
    sent.extend(span.to_json() for span in spans)
    data = sink.reader.get_metrics_data()
    if data is not None:
        sent.append(MessageToJson(encode_metrics(data)))
    sent.extend(call.to_json() for call in sink.calls)
    return "\n".join(sent)


@pytest.mark.parametrize("path", PATHS)
def test_neither_content_nor_keys_leave_by_default(exported, caplog, path):
    """RC-058, RC-061, RC-062"""
    with contextlib.suppress(ProviderError):
        PATHS[path]()
    sent = everything(exported)
    for secret in (MARKER, "SECRET"):
        assert secret not in sent
    if path != "attribute":
        assert MARKER not in caplog.text or "call.cache" in caplog.text


def test_a_failed_call_says_of_its_error_no_more_than_its_type(exported):
    """RC-062"""
    with pytest.raises(ProviderError) as caught:
        traced_llm_call(failing)(MARKER)
    span = exported.one("failing")
    assert span.attributes["error.type"] == "ProviderError"
    assert span.events == ()
    assert span.status.description is None
    assert caught.value.args == (MARKER, KEY)
    assert isinstance(caught.value.__cause__, ValueError)


def test_failed_attempts_keep_nothing_of_their_arguments(exported):
    """RC-050"""
    tries = []

    @traced_llm_call
    def ask(**kwargs):
        tries.append(kwargs)
        failing()

    for _ in range(2):
        with pytest.raises(ProviderError):
            ask(api_key="sk-test-SECRET", headers={"authorization": "Bearer SECRET"})
    assert tries[0]["api_key"] == "sk-test-SECRET"
    assert "SECRET" not in everything(exported)


def test_large_prompts_do_not_make_large_batches(exported):
    """RC-053"""

    @traced_llm_call
    def ask(prompt):
        with llm_call("inner") as call:
            call.set_attribute("prompt", prompt)
        return prompt

    for _ in range(20):
        ask("p" * 100_000)
    ask("p" * 10_000_000)
    size = len(encode_spans(exported.spans).SerializeToString())
    assert size / len(exported.spans) * 512 < 4 * 2**20
    assert json.loads(exported.spans[0].to_json())
