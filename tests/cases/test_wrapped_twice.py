"""A program that wraps what is wrapped already: one span, one sample, and each token once."""

from __future__ import annotations

import contextlib
import importlib
import sys

import openai
import pytest

import llmphases
from adapters.sdks.wired_sdks import hooked
from capture import wirings
from lab.sse_server import Script
from llmphases import llm_call, traced_llm_call, traced_stream

PROGRAM = """
import theirs
from llmphases import retrieval, traced_llm_call

@traced_llm_call
def own():
    with retrieval():
        return "own"

theirs.ask = traced_llm_call(theirs.ask, name="theirs")
"""
THEIRS = """
def ask():
    return "theirs"
"""


@pytest.fixture
def sink():
    with wirings.exported() as made:
        yield made


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "theirs.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("program")
    for name in ("program", "theirs"):
        sys.modules.pop(name, None)


def counts(sink, name):
    """How many samples an instrument has."""
    return sum(point.count for point in sink.points().get(name, ()))


def test_a_module_that_is_loaded_anew(sink, program):
    """RC-088: what it wraps in place it wraps a second time."""
    for _ in range(2):
        importlib.reload(program)
    assert (program.own(), program.theirs.ask()) == ("own", "theirs")
    assert sorted(span.name for span in sink.spans) == ["own", "retrieval", "theirs"]
    assert counts(sink, "llmphases.call.duration") == 2
    assert counts(sink, "llmphases.phase.duration") == 1


def asked(client, script):
    return client.chat.completions.create(
        model="small",
        messages=[{"role": "user", "content": "hi"}],
        stream=True,
        stream_options={"include_usage": True},
        extra_body=script.extra_body(),
    )


@pytest.mark.real
def test_hooks_that_are_put_on_twice_under_a_decorator(sink, sse_server):
    """RC-088: automatic and by hand at once."""
    script = Script(label=sse_server.fresh_label(), usage=True, tokens=5)
    with (
        hooked("openai", http=True),
        openai.OpenAI(base_url=sse_server.base_url, api_key="none", max_retries=0) as client,
    ):
        llmphases.instrument("openai", "httpx", "httpx2")
        list(traced_llm_call(traced_llm_call(asked, name="inner"), name="ask")(client, script))
        llmphases.uninstrument("openai", "httpx", "httpx2")
        list(traced_llm_call(asked, name="not hooked")(client, script))
    assert [call.name for call in sink.calls] == ["ask", "not hooked"]
    assert {(call.requests, call.usage.output_tokens) for call in sink.calls} == {(1, 5)}
    for call in sink.calls:
        assert (sum(span.name == call.name for span in sink.spans)) == 1
    assert {span.name for span in sink.spans if span.parent is None} == {"ask", "not hooked"}
    assert counts(sink, "llmphases.call.duration") == 2
    assert counts(sink, "llmphases.call.time_to_first_token") == 2
    told = sink.points()["gen_ai.client.inference.usage.output_tokens"]
    assert sum(point.value for point in told) == 10


@pytest.mark.real
@pytest.mark.parametrize("is_in_call", [False, True])
def test_a_stream_of_a_hooked_client_that_is_traced_by_hand(sink, sse_server, is_in_call):
    """RC-088"""
    script = Script(label=sse_server.fresh_label(), usage=True, tokens=5)
    with (
        hooked("openai", http=True),
        openai.OpenAI(base_url=sse_server.base_url, api_key="none", max_retries=0) as client,
        llm_call("mine") if is_in_call else contextlib.nullcontext(),
    ):
        assert len(list(traced_stream(traced_stream(asked(client, script))))) == 8
    (call,) = sink.calls
    assert call.name == ("mine" if is_in_call else "chat small")
    assert (call.requests, call.chunks, call.usage.output_tokens) == (1, 8, 5)
    assert counts(sink, "llmphases.call.duration") == 1


def test_what_a_stream_traced_twice_is_told_of_its_tokens(sink):
    """RC-088: a rule given from outside counts, whoever has traced it before."""
    inner = traced_llm_call(lambda: iter("abc"), name="inner")
    list(traced_stream(inner(), is_token=lambda chunk: chunk == "b"))
    (call,) = sink.calls
    assert (call.name, call.requests, call.chunks) == ("inner", 1, 3)
    (first, generation) = call.stretches
    assert generation.start_ns == generation.end_ns == first.end_ns


class Closed:
    """A stream whose other attributes may not be asked for."""

    def __init__(self):
        self.left = iter("abc")

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.left)

    def __getattr__(self, name):
        raise RuntimeError(name)


def test_whether_a_stream_is_traced_is_not_asked_of_the_stream(sink):
    assert list(traced_stream(Closed())) == ["a", "b", "c"]
    assert len(sink.calls) == 1
