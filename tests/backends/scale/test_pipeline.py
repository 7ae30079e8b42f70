"""Spans of many processes, through all parts of the scale path, whatever stops in between."""

from __future__ import annotations

import json
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from backends.scale.load import SPANS_OF_A_JOB, Load, post, request
from backends.servers import until
from backends.workload import send

PROGRAMS = 6
PACE = 1_000.0
"""Spans per second: eight times those of 1,000 parallel calls (docs/scale.md)."""
CALLS = """
clock = fake_clock(began_s_ago=200)
with llm_job("boxes", workers=1) as job:
    for _ in range(12):
        with llm_call("place_boxes", model="big", provider="acme") as call:
            with prompt_build():
                clock.tick(0.5)
            call.request_sent()
            clock.tick(8)
            call.first_token()
            clock.tick(1.9)
            call.last_token()
"""
SPANS_OF_A_PROGRAM = 1 + 12 * 4


def ids_of(sent):
    """Trace id -> ids of the spans, of what a program has sent."""
    found = {}
    for span in sent.spans:
        found.setdefault(span["traceId"], set()).add(span["spanId"])
    return {trace_id: frozenset(ids) for trace_id, ids in found.items()}


@pytest.fixture(scope="module")
def interrupted(pipeline, tmp_path_factory):
    """Programs and volume at once, while an ingester and a collector end and come back."""
    folder = tmp_path_factory.mktemp("programs")
    load = Load("volume", [pipeline.otlp_endpoint], pace=PACE)
    with ThreadPoolExecutor(PROGRAMS) as pool, load:
        programs = [
            pool.submit(send, pipeline, folder / str(n), f"program-{n}", CALLS)
            for n in range(PROGRAMS)
        ]
        load.wait(3_000)
        assert pipeline.ingester.stop(signal.SIGTERM) == 0
        load.wait(3_000)
        pipeline.collectors[0].stop(signal.SIGKILL)
        load.wait(3_000)
        pipeline.ingester.start()
        pipeline.collectors[0].start()
        load.wait(3_000)
        sent = [program.result() for program in programs]
    return load, sent


def test_every_span_of_real_programs_is_readable(pipeline, interrupted):
    _, programs = interrupted
    for sent in programs:
        assert len(sent.spans) == SPANS_OF_A_PROGRAM
        pipeline.wait_for(ids_of(sent))


def test_every_span_that_was_acknowledged_is_readable_once(pipeline, interrupted):
    load, _ = interrupted
    pipeline.wait_for(load.acknowledged)
    assert load.spans >= 12_000


def test_a_program_reads_as_it_was_sent(pipeline, interrupted):
    """Names, parents, times and attributes survive Kafka and the store."""
    _, (sent, *_) = interrupted
    pipeline.wait_for(ids_of(sent))
    (trace_id,) = ids_of(sent)
    stored = {span["spanId"]: span for span in pipeline.query.spans_of(trace_id)}
    for span in sent.spans:
        found = stored[span["spanId"]]
        for key in ("name", "kind", "startTimeUnixNano", "endTimeUnixNano"):
            assert found[key] == span[key]
        assert found.get("parentSpanId", "") == span.get("parentSpanId", "")
        names = {pair["key"] for pair in span.get("attributes", [])}
        assert names <= {pair["key"] for pair in found.get("attributes", [])}


def test_what_the_gateway_has_acknowledged_outlives_it(pipeline):
    """Nobody behind it takes spans, it is killed, and what it had is delivered by the next."""
    for collector in pipeline.collectors:
        collector.stop()
    with Load("outlived", [pipeline.otlp_endpoint], pace=PACE) as load:
        load.wait(3_000)
    pipeline.gateway.stop(signal.SIGKILL)
    for part in (*pipeline.collectors, pipeline.gateway):
        part.start()
    assert load.spans >= 3_000
    pipeline.wait_for(load.acknowledged)


def test_spans_wait_in_kafka_while_the_store_is_read_by_nobody(pipeline):
    pipeline.ingester.stop()
    with Load("waiting", [pipeline.otlp_endpoint], pace=PACE) as load:
        load.wait(3_000)
    before = pipeline.opensearch.spans()
    pipeline.ingester.start()
    pipeline.wait_for(load.acknowledged)
    assert pipeline.opensearch.spans() >= before + load.spans


def test_what_a_killed_ingester_has_read_is_read_again(pipeline):
    """Soon after its start, so that it has told Kafka of nothing that it read since."""
    pipeline.ingester.stop()
    pipeline.ingester.start()
    with Load("killed", [pipeline.otlp_endpoint], pace=PACE) as load:
        load.wait(3_000)
        pipeline.ingester.stop(signal.SIGKILL)
    pipeline.ingester.start()
    pipeline.wait_for(load.acknowledged)


@pytest.mark.parametrize("name", ["kafka", "opensearch"])
def test_spans_wait_while_a_part_is_away(pipeline, name):
    part = pipeline.parts[name]
    with Load(f"without-{name}", [pipeline.otlp_endpoint], pace=PACE / 2) as load:
        load.wait(1_000)
        part.stop(signal.SIGKILL)
        load.wait(1_000)
        part.start()
        load.wait(500)
    pipeline.wait_for(load.acknowledged)


def test_a_request_of_many_megabytes_passes_all_parts(pipeline):
    """One trace whose prompts are recorded; 4 MiB, 1 MB and 1 MB are the limits by default."""
    prompt = "".join(random.choices("abcdefghij ", k=1_000_000))
    spans = [("generation", {"gen_ai.input.messages": prompt})] * 15
    trace_id, span_ids, body = request("big", spans)
    assert len(body) > 15_000_000
    assert post(pipeline.otlp_endpoint, body)
    pipeline.wait_for({trace_id: span_ids})


def test_metrics_of_a_short_program_count_in_full(pipeline, tmp_path):
    """The gateway hands them on as they are: one push, and its increase is the truth."""
    send(pipeline, tmp_path, "short", CALLS)
    counted = 'sum(increase(llmphases_phase_duration_seconds_sum{job="short"%s}[10m]))'
    until(lambda: pipeline.prometheus.query(counted % ""), "its metrics")
    first_token = counted % ',llmphases_phase="time_to_first_token"'
    assert pipeline.prometheus.value(first_token) == pytest.approx(12 * 8)
    generation = counted % ',llmphases_phase="generation"'
    assert pipeline.prometheus.value(generation) == pytest.approx(12 * 1.9, abs=1e-3)


def test_metrics_of_spans_are_there_for_those_who_send_traces_only(pipeline, interrupted):
    calls = 'traces_span_metrics_calls_total{job="volume",span_name="place_boxes"}'
    until(lambda: pipeline.prometheus.query(calls), "metrics made of spans")


def test_how_much_passes_and_what_it_takes(pipeline, capsys):
    """No promise: what was seen is printed, for docs/scale.md."""
    before = pipeline.opensearch.spans()
    with Load("rate", [pipeline.otlp_endpoint]) as load:
        load.wait(30_000)
    until(lambda: pipeline.opensearch.spans() >= before + load.spans, "all of them", 240)
    stored_s = time.monotonic() - load.began
    pipeline.wait_for(load.acknowledged)
    seen = {
        "spans": load.spans,
        "acknowledged per s": round(load.per_second),
        "searchable per s": round(load.spans / stored_s),
        "bytes of disk per span": round(pipeline.opensearch.bytes_per_span()),
        "MiB at most": {name: round(mib) for name, mib in pipeline.memory().items()},
    }
    with capsys.disabled():
        print(f"\n== scale: {json.dumps(seen)}")
    assert load.spans % SPANS_OF_A_JOB == 0
    assert load.refused == 0
