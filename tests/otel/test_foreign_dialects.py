"""Each row of the table, on spans written by hand as its package writes them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from llmphases.otel.foreign_dialects import Output, Told, has_metrics, is_inference, told

START_NS = 1_700_000_000_000_000_123
"""2023-11-14T22:13:20Z, and a bit."""
END_NS = START_NS + 4_000_000_000
LATE_NS = START_NS + 1_500_000_000
CHUNK = "gen_ai.content.completion.chunk"


def span(attributes=None, *events, dropped=0):
    return SimpleNamespace(
        name="chat m",
        attributes=attributes,
        events=[SimpleNamespace(name=name, timestamp=at_ns) for name, at_ns in events],
        dropped_events=dropped,
        start_time=START_NS,
        end_time=END_NS,
    )


def output(first_ns, last_ns=END_NS):
    return Output(first_ns=first_ns, last_ns=last_ns)


def test_the_conventions_say_after_how_many_seconds():
    found = told(span({"gen_ai.response.time_to_first_chunk": 1.5}))
    assert found == Told(dialect="conventions", output=output(LATE_NS))


@pytest.mark.parametrize(
    ("event", "dialect"),
    [("First Token Stream Event", "openinference"), ("new_token", "langsmith")],
)
def test_one_event_at_the_first_chunk(event, dialect):
    found = told(span({}, ("another", START_NS + 1), (event, LATE_NS)))
    assert found == Told(dialect=dialect, output=output(LATE_NS))


def test_one_event_per_chunk_tells_the_last_one_too():
    found = told(span({}, (CHUNK, LATE_NS), (CHUNK, LATE_NS + 5), (CHUNK, LATE_NS + 9)))
    assert found == Told(dialect="openllmetry", output=output(LATE_NS, LATE_NS + 9))


def test_where_events_were_dropped_the_first_ones_are_gone():
    assert told(span({}, (CHUNK, LATE_NS), dropped=1)) == Told()


def test_a_time_of_day_in_the_quotes_of_json():
    key = "langfuse.observation.completion_start_time"
    found = told(span({key: '"2023-11-14T22:13:21.500000Z"'}))
    assert found == Told(dialect="langfuse", output=output(1_700_000_001_500_000_000))


@pytest.mark.parametrize("odd", ['"soon"', '"2023-11-14T22:13:21.5"', 5, None])
def test_what_is_no_time_of_day_tells_nothing(odd):
    assert told(span({"langfuse.observation.completion_start_time": odd})) == Told()


def test_a_first_chunk_a_little_after_the_end_is_at_the_end():
    found = told(span({"gen_ai.response.time_to_first_chunk": 4.1}))
    assert found == Told(dialect="conventions", output=output(END_NS))


@pytest.mark.parametrize("late_s", [0.0, -1.0, 4.3])
def test_a_first_chunk_outside_of_its_span_is_distrusted(late_s):
    found = told(span({"gen_ai.response.time_to_first_chunk": late_s}))
    assert (found.dialect, found.output) == ("conventions", None)
    assert found.distrusted == {"time_to_first_chunk": pytest.approx(late_s, abs=1e-6)}


@pytest.mark.parametrize("odd", [True, "1.5", None, float("nan"), float("inf")])
def test_what_is_no_number_of_seconds_tells_nothing(odd):
    assert told(span({"gen_ai.response.time_to_first_chunk": odd})) == Told()


def test_a_time_that_is_not_what_it_is_called_is_kept_and_not_used():
    found = told(span({"gen_ai.server.time_to_first_token": 0.028}))
    assert found == Told(distrusted={"time_to_first_token": 0.028})


def test_a_span_that_says_nothing():
    assert told(span()) == told(span({"gen_ai.operation.name": "chat"})) == Told()


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "chat"},
        {"gen_ai.operation.name": "generate_content"},
        {"openinference.span.kind": "LLM"},
        {"langfuse.observation.type": "generation"},
        {"langsmith.span.kind": "llm"},
    ],
)
def test_what_stands_for_a_request_to_a_model(attributes):
    assert is_inference(attributes)


@pytest.mark.parametrize(
    "attributes",
    [
        None,
        {},
        {"gen_ai.operation.name": "invoke_agent"},
        {"gen_ai.operation.name": "embeddings"},
        {"openinference.span.kind": "CHAIN"},
        {"langfuse.observation.type": "span"},
        {"http.request.method": "POST"},
    ],
)
def test_what_does_not(attributes):
    assert not is_inference(attributes)


def test_who_counts_calls_in_metrics_too():
    chat = {"gen_ai.operation.name": "chat"}
    assert has_metrics("opentelemetry.instrumentation.genai.openai", chat)
    assert not has_metrics("com.anthropic.sdk.python", chat)
    assert not has_metrics(
        "openinference.instrumentation.openai", {"openinference.span.kind": "LLM"}
    )
