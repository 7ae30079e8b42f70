"""Real packages and hooks of ours in one call: nothing is told twice, whoever stands outside."""

from __future__ import annotations

import importlib.util

import pytest

from otel.foreign_programs import run

pytestmark = [pytest.mark.slow, pytest.mark.real]

WITH_METRICS = {"opentelemetry", "openai_v2", "openllmetry", "openlit"}
NEEDS = {
    "opentelemetry": "opentelemetry.instrumentation.genai",
    "openllmetry": "opentelemetry.instrumentation.openai",
    "openinference": "openinference",
    "langfuse": "langfuse",
    # These need an environment of their own (scripts/test-peers).
    "openai_v2": "opentelemetry.instrumentation.openai_v2",
    "openlit": "openlit",
}
PROGRAM = """
import llmphases
from llmphases import llm_call, traced_stream

def ours():
    assert "openai" in llmphases.instrument("openai").hooked

{first}
{then}
split()
with SseServer() as server, openai_client(server) as client:
    with llm_call("hooked"):
        list(stream(client))
    list(stream(client))
    whole(client)
    llmphases.uninstrument("openai")
    with llm_call("watched"):
        list(traced_stream(stream(client)))
    with llm_call("unseen"):
        list(stream(client))
"""


def has(package):
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


@pytest.mark.parametrize(
    ("peer", "is_outside"),
    [
        ("opentelemetry", False),
        ("opentelemetry", True),
        ("openllmetry", False),
        ("openinference", False),
        ("langfuse", False),
        ("langfuse", True),
        ("openai_v2", False),
        ("openlit", False),
    ],
)
def test_nothing_is_told_twice(peer, is_outside):
    if not has(NEEDS[peer]):
        pytest.skip(f"{NEEDS[peer]} is not installed")
    use_theirs, use_ours = f'use("{peer}")', "ours()"
    first, then = (use_ours, use_theirs) if is_outside else (use_theirs, use_ours)
    told = run(PROGRAM.format(first=first, then=then))
    calls = [span for span in told.ours if "llmphases.call.name" in span["attributes"]]
    theirs = of_requests(told)
    assert len(calls) == 5
    assert len(theirs) == 5

    # Langfuse makes its span current for nobody: a call of ours that begins under it cannot know.
    of_our_own = [call for call in calls if call["name"] == "chat small"]
    if peer == "langfuse" and is_outside:
        calls = [call for call in calls if call not in of_our_own]
    twice = [
        (call["name"], key)
        for call in calls
        for key in call["attributes"]
        if key.startswith("gen_ai.usage.")
    ]
    assert twice == []
    counted = {
        call["name"] for call in calls if "llmphases.usage.output_tokens" in call["attributes"]
    }
    assert counted == {call["name"] for call in calls} - {"unseen"}

    measured = told.of_metrics("llmphases")
    assert (measured == set()) == (peer in WITH_METRICS)
    assert (told.of_metrics(peer_scope(peer)) != set()) == (peer in WITH_METRICS)

    # Only what no call of ours has seen is split: of that there would be no phases else.
    split = [span for span in theirs if told.under(span) and was_split(told, span)]
    unseen = next(call for call in calls if call["name"] == "unseen")
    expected = 3 if peer == "langfuse" and is_outside else 1
    assert len(split) == expected
    assert unseen["id"] in {span["parent"] for span in split}


def of_requests(told):
    """Their spans, without those that OpenLIT's hooks on HTTP clients draw below them."""
    return [span for span in told.theirs if not span["scope"].endswith(".httpx")]


def peer_scope(peer):
    own = {"langfuse", "openinference", "openlit"}
    return peer if peer in own else "opentelemetry."


def was_split(told, span):
    return any(
        "llmphases.told_by" in phase["attributes"] or phase["name"] == "inference"
        for phase in told.under(span)
    )


AROUND = """
from llmphases import current_call, traced_llm_call
use("{peer}")

def told_of(client):
    answer = whole(client, tokens=4)
    current_call().usage(answer)
    return answer

with SseServer() as server, openai_client(server) as client:
    list(traced_llm_call(stream, name="streamed")(client, tokens=3))
    traced_llm_call(told_of, name="whole")(client)
"""
TOKENS = {"streamed": 3, "whole": 4}


@pytest.mark.parametrize("peer", NEEDS)
def test_ours_is_the_parent_of_theirs_and_each_token_is_told_once(peer):
    """RC-089"""
    if not has(NEEDS[peer]):
        pytest.skip(f"{NEEDS[peer]} is not installed")
    told = run(AROUND.format(peer=peer))
    spans = {span["id"]: span for span in told.spans}
    calls = {
        span["name"]: span for span in told.ours if "llmphases.call.name" in span["attributes"]
    }
    assert set(calls) == set(TOKENS)

    def calls_around(span):
        while span["parent"] in spans:
            span = spans[span["parent"]]
            if span in calls.values():
                yield span["name"]

    theirs = of_requests(told)
    assert [list(calls_around(span)) for span in theirs] == [["streamed"], ["whole"]]
    for span in theirs:
        call = calls[next(calls_around(span))]
        assert call["start_ns"] <= span["start_ns"]

    # Whoever adds up all spans of a trace has each token once, or not at all.
    key = "gen_ai.usage.output_tokens"
    counted = sum(span["attributes"].get(key, 0) for span in told.spans)
    assert counted == (sum(TOKENS.values()) if peer in WITH_METRICS else 0)
    assert [name for name, call in calls.items() if key in call["attributes"]] == []
    for name, tokens in TOKENS.items():
        assert calls[name]["attributes"]["llmphases.usage.output_tokens"] == tokens
