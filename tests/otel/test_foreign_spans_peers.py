"""The splitter beside the real packages: what they record becomes our phases, or `inference`."""

from __future__ import annotations

import importlib.util

import pytest

from otel.foreign_programs import run

pytestmark = [pytest.mark.slow, pytest.mark.real]

PEERS = {
    "opentelemetry": ("opentelemetry.instrumentation.genai", "conventions"),
    "openinference": ("openinference", "openinference"),
    "openllmetry": ("opentelemetry.instrumentation.openai", "openllmetry"),
    "langfuse": ("langfuse", "langfuse"),
}
NEAR_S = 0.03
PHASES = ["time_to_first_token", "generation"]

PROGRAM = """
use("{peer}")
split()
with SseServer() as server, openai_client(server) as client:
    wall_ns = time.time_ns() - time.monotonic_ns()
    said["late_s"] = []
    while not said["late_s"] or (min(said["late_s"]) > {near} and len(said["late_s"]) < {tries}):
        delays = dict(headers_s=0.03, first_token_s=0.04, gap_s=0.01, end_s=0.02)
        list(stream(client, role_first=False, tokens=8, **delays))
        written_ns = server.served()[-1].first_token_ns + wall_ns
        said["late_s"].append(abs(last_split()[0] - written_ns) / 1e9)
    said["with_role"] = 0
    held_ns = 0
    while held_ns < 0.25e9 and said["with_role"] < {tries}:
        list(stream(client, role_first=True, first_token_s=0.3))
        said["with_role"] += 1
        held_ns = last_split()[1]
    whole(client, gap_s=0.01)
"""
TRIES = 15


def has(package):
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


def beside(peer, package, dialect):
    absent = pytest.mark.skipif(not has(package), reason=f"{package} is not installed")
    return pytest.param(peer, dialect, id=peer, marks=absent)


@pytest.mark.parametrize(("peer", "dialect"), [beside(peer, *what) for peer, what in PEERS.items()])
def test_their_spans_are_split_by_what_they_record(peer, dialect):
    told = run(PROGRAM.format(peer=peer, tries=TRIES, near=NEAR_S))
    *asked, answered = told.theirs
    count = len(told.said["late_s"])
    streamed, with_role = asked[:count], asked[count:]
    assert len(with_role) == told.said["with_role"]
    assert min(told.said["late_s"]) <= NEAR_S

    span = streamed[-1]  # the one that nobody was late for
    first, generation = told.under(span)
    assert [first["name"], generation["name"]] == PHASES
    assert span["start_ns"] <= first["start_ns"] < first["end_ns"] < generation["start_ns"]
    assert generation["start_ns"] < generation["end_ns"] <= span["end_ns"]
    assert first["attributes"]["llmphases.told_by"] == dialect
    assert first["attributes"]["llmphases.origin"] == "reported"

    # An empty first chunk is a first token to all of them. That is known, and marked.
    phases = told.under(with_role[-1])
    assert [phase["name"] for phase in phases] == PHASES
    assert {p["attributes"]["llmphases.first_token.rule"] for p in phases} == {"first_chunk"}
    assert phases[1]["end_ns"] - phases[1]["start_ns"] > 0.25e9  # the wait for the token included

    (whole,) = told.under(answered)
    assert whole["name"] == "inference"
    assert whole["attributes"]["llmphases.origin"] == "measured"
    assert "llmphases.told_by" not in whole["attributes"]
    assert told.metrics["llmphases/llmphases.call.duration"] == len(told.theirs)


@pytest.mark.skipif(not has("opentelemetry.instrumentation.genai"), reason="not installed")
def test_spans_that_anthropics_sdk_draws_itself_are_split_inside_those_drawn_around_them():
    """Its stamp is that of the first piece of the answer, and marked so."""
    anthropic = pytest.importorskip("anthropic")
    told = run(
        """
        from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor
        AnthropicInstrumentor().instrument()
        split()
        import anthropic
        asks = dict(max_tokens=20, messages=MESSAGES)
        with wire_server() as server, anthropic.Anthropic(
            base_url=server.url, api_key="none", max_retries=0
        ) as client:
            for _ in range(10):
                list(client.messages.create(model=model(server), stream=True, **asks))
                if "generation" in names_of_phases():
                    break
        """
    )
    around = [span for span in told.theirs if span["name"].startswith("chat ")]
    inside = [span for span in told.theirs if span["scope"] == "com.anthropic.sdk.python"]
    if not inside:
        pytest.skip(f"anthropic {anthropic.__version__} draws no spans")
    assert [told.under(span) for span in around] == [[]] * len(inside)
    phases = told.under(inside[-1])
    assert [phase["name"] for phase in phases] == PHASES
    assert {p["attributes"]["llmphases.first_token.rule"] for p in phases} == {"first_token"}
    assert told.metrics["llmphases/llmphases.call.duration"] == len(inside)


@pytest.mark.skipif(not has("opentelemetry.instrumentation.google_genai"), reason="not installed")
def test_google_genai():
    pytest.importorskip("google.genai")
    told = run(
        """
        from opentelemetry.instrumentation.google_genai import GoogleGenAiSdkInstrumentor
        GoogleGenAiSdkInstrumentor().instrument(skip_dep_check=True)  # it knows the SDK up to 2
        split()
        from google import genai
        with wire_server() as server:
            client = genai.Client(
                api_key="none", http_options=dict(base_url=server.url, api_version="v1")
            )
            asks = lambda: dict(model=model(server), contents="hi")
            for _ in range(10):
                list(client.models.generate_content_stream(**asks()))
                if "generation" in names_of_phases():
                    break
            client.models.generate_content(**asks())
            client.close()
        """
    )
    *streamed, answered = told.theirs
    assert [phase["name"] for phase in told.under(streamed[-1])] == PHASES
    assert [phase["name"] for phase in told.under(answered)] == ["inference"]


def test_langsmith_exports_its_spans_without_the_event_of_the_first_token():
    pytest.importorskip("langsmith")
    told = run(
        """
        split()
        from langsmith.run_trees import get_cached_client
        from langsmith.wrappers import wrap_openai
        with SseServer() as server, openai_client(server) as plain:
            list(stream(wrap_openai(plain)))
            deadline = time.monotonic() + 60
            while not kept.get_finished_spans() and time.monotonic() < deadline:
                get_cached_client().flush()
                time.sleep(0.05)
        """,
        LANGSMITH_OTEL_ENABLED="true",
        LANGSMITH_OTEL_ONLY="true",
        LANGSMITH_TRACING="true",
        LANGSMITH_API_KEY="none",
        LANGSMITH_ENDPOINT="http://127.0.0.1:9",
    )
    (span,) = told.theirs
    assert [phase["name"] for phase in told.under(span)] == ["inference"]


@pytest.mark.skipif(not has("opentelemetry.instrumentation.openai"), reason="not installed")
def test_openllmetry_loses_the_first_chunk_of_a_long_stream():
    told = run(
        """
        use("openllmetry")
        split()
        with SseServer() as server, openai_client(server) as client:
            list(stream(client, tokens=200))
        """
    )
    (span,) = told.theirs
    assert [phase["name"] for phase in told.under(span)] == ["inference"]
