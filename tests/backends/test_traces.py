"""What we send to one OTLP endpoint, read back from a real Jaeger: nothing is lost or changed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import pairwise

import pytest

from backends.jaeger_views import bars_of, critical_path, seconds_by_name, self_seconds_by
from backends.servers import get, until
from backends.workload import run_llmphases, send
from llmphases.cli.main import main

pytest.importorskip("openai")  # of the dev extra

STALLED = "llmphases.phase.transmission.duration"
UNATTRIBUTED = "llmphases.unattributed.duration"
EVERYTHING = """
import openai
from lab.sse_server import Script, SseServer

llmphases.instrument()

@traced_llm_call(name="answer", model="small", provider="openai")
def answer(client, **delays):
    with retrieval():
        time.sleep(0.01)
    with prompt_build():
        time.sleep(0.005)
    text = ""
    asked = client.chat.completions.create(
        model="small", messages=[{"role": "user", "content": "hi"}], stream=True,
        stream_options={"include_usage": True},
        extra_body=Script(usage=True, tokens=5, gap_s=0.01, **delays).extra_body(),
    )
    for chunk in asked:
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
    with post_processing():
        return text.split()

@traced_llm_call(name="place_boxes")
def place_boxes(segment):
    tool = [sys.executable, "-m", "llmphases.fake_cli", "--output-format", "stream-json"]
    delays = ["--startup-s", "0.1", "--prompt-s", "0.1", "--per-line-s", "0.05"]
    return run_command([*tool, *delays], input=segment, format="claude-stream-json").stdout

with SseServer() as server:
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=1) as client:
        print(answer(client, first_token_s=0.1))
        answer(client, label="again", fail_times=1, retry_after_s=0.01)
        try:
            answer(client, label="never", fail_times=9, fail_status=400)
        except openai.BadRequestError:
            print("refused")
with llm_job("boxes", workers=2, progress=False) as job:
    print(len(list(job.map(place_boxes, ["intro", "title", "credits"]))))
"""


def plain(span):
    """A span of OTLP JSON as something to compare."""
    return {
        "trace": span["traceId"],
        "id": span["spanId"],
        "parent": span.get("parentSpanId", ""),
        "name": span["name"],
        "kind": span.get("kind", 0),
        "start": int(span["startTimeUnixNano"]),
        "end": int(span["endTimeUnixNano"]),
        "attributes": attributes(span),
        "status": (
            span.get("status", {}).get("code", 0),
            span.get("status", {}).get("message", ""),
        ),
        "events": [
            (event["name"], int(event["timeUnixNano"]), attributes(event))
            for event in span.get("events", [])
        ],
        "scope": (span["scope"]["name"], span["scope"]["version"]),
        "resource": attributes(span["resource"]),
    }


def slack_s(bars):
    """Each bar begins and ends in a whole microsecond, and ends one before the next."""
    return 3e-6 * len(bars)


def attributes(holder):
    """Name -> (type, value), in any order; whole numbers are text there, and 1.0 may be 1."""
    read = {"intValue": int, "doubleValue": float}
    return {
        pair["key"]: next(
            (kind, read.get(kind, lambda it: it)(value)) for kind, value in pair["value"].items()
        )
        for pair in holder.get("attributes", [])
    }


@pytest.fixture(scope="module")
def sent(stack, tmp_path_factory):
    return send(stack, tmp_path_factory.mktemp("sent"), "round-trip", EVERYTHING)


@pytest.fixture(scope="module")
def kept(stack, sent):
    """The same spans as Jaeger has them, by the stable API."""
    count = Counter(span["traceId"] for span in sent.spans)
    return [span for id_ in count for span in stack.jaeger.wait_for_spans(id_, count[id_])]


@pytest.fixture(scope="module")
def traces(stack, sent, kept):
    """The same traces as Jaeger's pages get them."""
    return [stack.jaeger.trace(trace_id) for trace_id in sent.trace_ids]


@pytest.fixture(scope="module")
def waves(stack, tmp_path_factory):
    """Six calls of 68 s fixed and 1.9 s of generation by one worker, on a clock that is told."""
    body = """
    clock = fake_clock(began_s_ago=500)
    with llm_job("waves", workers=1, progress=False) as job:
        for number in range(6):
            with llm_call("place_boxes") as call:
                with prompt_build():
                    clock.tick(0.4)
                call.request_sent()
                clock.tick(67.6)
                call.first_token()
                clock.tick(1.9)
                call.last_token()
                with post_processing():
                    clock.tick(0.3)
    """
    sent = send(stack, tmp_path_factory.mktemp("waves"), "waves", body)
    stack.jaeger.wait_for_spans(*sent.trace_ids, len(sent.spans))
    return sent


def test_the_program_did_what_is_to_be_seen(sent):
    assert sent.out.splitlines() == [
        "['word0', 'word1', 'word2', 'word3', 'word4']",
        "refused",
        "3",
    ]
    names = Counter(span["name"] for span in sent.spans)
    assert names["answer"] == names["place_boxes"] == 3
    assert {"retrieval", "prompt_build", "time_to_first_token", "generation", "retry"} <= set(names)
    assert {"process_startup", "queue_wait", "process_shutdown", "connect"} <= set(names)


def test_every_span_comes_back_as_it_was_sent(sent, kept):
    """Attribute for attribute, with their types, and nanosecond for nanosecond."""
    by_id = {span["spanId"]: plain(span) for span in kept}
    assert len(kept) == len(by_id) == len(sent.spans)
    for span in sent.spans:
        assert by_id[span["spanId"]] == plain(span)


def test_jaegers_pages_show_the_same_times_and_parents(sent, traces):
    """RC-097, RC-098: none is moved, cut, or longer than it was.

    In whole microseconds; ours are whole microseconds, so nothing is rounded either.
    """
    bars = {bar.span_id: bar for trace in traces for bar in bars_of(trace)}
    assert len(bars) == len(sent.spans)
    for span in map(plain, sent.spans):
        bar = bars[span["id"]]
        assert (bar.start_us * 1000, bar.end_us * 1000) == (span["start"], span["end"])
        assert (bar.name, bar.parent_id or "") == (span["name"], span["parent"])
        assert {name for name in span["attributes"] if name not in bar.tags} == set()


def test_jaeger_has_nothing_to_remark_on_our_spans(traces):
    """RC-097: it says so on a span that it has moved."""
    assert [
        span["warnings"] for trace in traces for span in trace["spans"] if span["warnings"]
    ] == []


def test_numbers_are_numbers_on_jaegers_pages(traces):
    """So that its search and its statistics can reckon with them."""
    tags = [tag for trace in traces for span in trace["spans"] for tag in span["tags"]]
    types = {tag["key"]: tag["type"] for tag in tags}
    assert types["llmphases.fixed.duration"] == "float64"
    assert types["gen_ai.usage.output_tokens"] == "int64"
    assert types["llmphases.call.nested"] == "bool"
    assert types["llmphases.cost"] == "string"


def test_a_failed_call_is_an_error_on_jaegers_pages(traces):
    spans = [span for trace in traces for span in trace["spans"]]
    failed = [
        {tag["key"]: tag["value"] for tag in span["tags"]}
        for span in spans
        if any(tag["key"] == "error" and tag["value"] is True for tag in span["tags"])
    ]
    assert {tags["error.type"] for tags in failed} == {"BadRequestError", "400", "503"}


def test_phases_of_a_call_never_touch(traces):
    """A microsecond at least lies between, else the critical path leaves every second one out."""
    pairs = 0
    for trace in traces:
        bars = bars_of(trace)
        for call in (bar for bar in bars if UNATTRIBUTED in bar.tags):
            phases = [bar for bar in bars if bar.parent_id == call.span_id]
            phases.sort(key=lambda bar: bar.start_us)
            for one, next_one in pairwise(phases):
                assert next_one.start_us > one.end_us
                pairs += 1
    assert pairs > 15


def test_the_critical_path_blames_the_phases_and_no_call(traces):
    """What is said to be a call's own is what no phase of it covers, or is too short to draw."""
    for trace in traces:
        bars = bars_of(trace)
        calls = [bar for bar in bars if UNATTRIBUTED in bar.tags]
        path = seconds_by_name(critical_path(bars))
        own = sum(path.get(name, 0) for name in {bar.name for bar in calls})
        uncovered = sum(bar.tags[UNATTRIBUTED] + bar.tags.get(STALLED, 0) for bar in calls)
        assert own <= uncovered + slack_s(bars)


def test_the_critical_path_of_the_first_call_names_its_first_token(traces):
    """The server waited 0.1 s before the first token."""
    path = seconds_by_name(critical_path(bars_of(traces[0])))
    waiting = ("time_to_first_token", "connect", "send", "wait_headers", "read_first")
    assert sum(path.get(name, 0) for name in waiting) >= 0.1
    assert {"generation", "retrieval", "prompt_build", "post_processing"} <= set(path)


def test_the_critical_path_of_many_waves_is_their_first_tokens(stack, waves):
    path = seconds_by_name(critical_path(bars_of(stack.jaeger.trace(*waves.trace_ids))))
    assert path["time_to_first_token"] == pytest.approx(6 * 67.6, abs=1e-4)
    assert path["generation"] == pytest.approx(6 * 1.9, abs=1e-4)
    assert path["prompt_build"] == pytest.approx(6 * 0.4, abs=1e-4)
    assert path["post_processing"] == pytest.approx(6 * 0.3, abs=1e-4)
    assert path["place_boxes"] < 1e-4


def test_a_search_by_attribute_finds_the_trace(stack, sent, kept):
    def having(**tags):
        return {
            span["trace"]
            for span in map(plain, sent.spans)
            if tags.items() <= {n: str(v) for n, (_, v) in span["attributes"].items()}.items()
        }

    for tags in ({"llmphases.phase": "retry"}, {"llmphases.retries": "1"}):
        assert 0 < len(having(**tags)) < len(sent.trace_ids)
        assert stack.jaeger.search("round-trip", **tags) == having(**tags)


def test_jaeger_lists_our_service_and_what_it_does(stack, kept):
    url = stack.jaeger_url
    assert "round-trip" in get(f"{url}/api/v3/services")["services"]
    operations = get(f"{url}/api/v3/operations", service="round-trip")["operations"]
    names = {operation["name"] for operation in operations}
    assert {"answer", "boxes", "time_to_first_token", "generation"} <= names
    assert "jaeger" not in get(f"{url}/api/v3/services")["services"]


# --- the statistics page ------------------------------------------------------------------------
def test_statistics_by_cost_are_the_table_of_the_report(sent, traces, capsys):
    """Group by `llmphases.cost`, look at the self time: what `llmphases report` says.

    Two things are told apart there and not here: waiting for a worker is fixed cost too, and a
    stall of the reader that is too short to be drawn stays in the phase around it.
    """
    totals = report_of(sent, capsys)
    bars = [bar for trace in traces for bar in bars_of(trace)]
    shown, slack = self_seconds_by("llmphases.cost", bars), slack_s(bars)
    stalled = totals["phases"]["transmission"]["total"]
    fixed = totals["fixed_s"]["total"] - totals["unattributed_s"]["fixed"]["total"]
    fixed += totals["queued_s"]["total"]
    generation = totals["generation_s"]["total"]
    assert fixed - slack <= shown["fixed"] <= fixed + stalled + slack
    assert generation - slack <= shown["generation"] <= generation + stalled + slack


def test_statistics_by_phase_are_the_phases_of_the_report(waves, stack, capsys):
    totals = report_of(waves, capsys)
    bars = bars_of(stack.jaeger.trace(*waves.trace_ids))
    shown = self_seconds_by("llmphases.phase", bars)
    reported = {name: of["total"] for name, of in totals["phases"].items()}
    shown.pop(None)
    shown.pop("queue_wait", None)
    assert shown == pytest.approx(reported, abs=slack_s(bars))
    by_cost = self_seconds_by("llmphases.cost", bars)
    assert by_cost["fixed"] == pytest.approx(6 * 68, abs=slack_s(bars))
    assert by_cost["generation"] == pytest.approx(6 * 1.9, abs=slack_s(bars))


def report_of(sent, capsys):
    assert main(["report", "--json", str(sent.file)]) == 0
    return json.loads(capsys.readouterr().out)["totals"]


# --- other ways in ------------------------------------------------------------------------------
def test_grpc_leads_to_the_same(stack, tmp_path):
    body = """
    with llm_call("by_grpc") as call:
        call.request_sent()
        call.first_token()
    """
    sent = send(stack, tmp_path, "by-grpc", body, protocol="grpc")
    (trace_id,) = sent.trace_ids
    kept = stack.jaeger.wait_for_spans(trace_id, len(sent.spans))
    assert {span["spanId"]: plain(span) for span in kept} == {
        span["spanId"]: plain(span) for span in sent.spans
    }
    (series,) = stack.wait_for('llmphases_call_duration_seconds_count{job="by-grpc"}')
    assert series[1] == 1


def test_a_command_that_is_run_shows_up_with_its_phases(stack, tmp_path):
    """`llmphases run`, with one variable in the environment and nothing else."""
    tool = [sys.executable, "-m", "llmphases.fake_cli", "--output-format", "stream-json"]
    told = ["--name", "review", "--format", "claude-stream-json"]
    run_llmphases(
        stack,
        tmp_path,
        *("run", *told, "--", *tool),
        read="one line\n",
        OTEL_SERVICE_NAME="commands",
    )
    (trace_id,) = until(lambda: stack.jaeger.find("commands"), "the command's trace")
    bars = {bar.name: bar for bar in bars_of(stack.jaeger.trace(trace_id))}
    assert {"review", "process_startup", "time_to_first_token", "generation"} <= set(bars)
    startup = bars["process_startup"]
    assert startup.end_us - startup.start_us >= 300_000 - 1
    assert startup.tags["process.exit.code"] == 0
    (memory,) = stack.wait_for('llmphases_process_memory_peak_bytes_count{job="commands"}')
    assert memory[1] == 1
    assert memory[0]["process_executable_name"].startswith("python")
