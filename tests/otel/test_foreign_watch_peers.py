"""Real packages and hooks of ours in one call: nothing is told twice, whoever stands outside."""

from __future__ import annotations

import importlib.util

import pytest

from otel.foreign_programs import run

pytestmark = [pytest.mark.slow, pytest.mark.real]

WITH_METRICS = {"opentelemetry", "openllmetry"}
NEEDS = {
    "opentelemetry": "opentelemetry.instrumentation.genai",
    "openllmetry": "opentelemetry.instrumentation.openai",
    "openinference": "openinference",
    "langfuse": "langfuse",
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
    ],
)
def test_nothing_is_told_twice(peer, is_outside):
    if not has(NEEDS[peer]):
        pytest.skip(f"{NEEDS[peer]} is not installed")
    theirs, ours = f'use("{peer}")', "ours()"
    first, then = (ours, theirs) if is_outside else (theirs, ours)
    told = run(PROGRAM.format(first=first, then=then))
    calls = [span for span in told.ours if "llmphases.call.name" in span["attributes"]]
    assert len(calls) == 5
    assert len(told.theirs) == 5

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
    split = [span for span in told.theirs if told.under(span) and was_split(told, span)]
    unseen = next(call for call in calls if call["name"] == "unseen")
    expected = 3 if peer == "langfuse" and is_outside else 1
    assert len(split) == expected
    assert unseen["id"] in {span["parent"] for span in split}


def peer_scope(peer):
    return "opentelemetry.instrumentation" if peer in WITH_METRICS else peer


def was_split(told, span):
    return any(
        "llmphases.told_by" in phase["attributes"] or phase["name"] == "inference"
        for phase in told.under(span)
    )
