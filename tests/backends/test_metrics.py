"""What we send to one OTLP endpoint, asked of a real Prometheus: short programs count in full."""

from __future__ import annotations

import time
import urllib.request
import uuid
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from backends.servers import ROOT, Ports, Prometheus, get, until
from backends.workload import send
from lab.otlp_receiver import OtlpReceiver
from llmphases import conventions

yaml = pytest.importorskip("yaml")  # of the dev extra

FIVE_CALLS = """
clock = fake_clock(began_s_ago=400)
for seconds in (64, 65, 66, 67, 68):
    with llm_call("place_boxes", model="big", provider="acme") as call:
        call.request_sent()
        clock.tick(seconds)
        call.first_token()
        clock.tick(1.9)
        call.last_token()
        call.usage(input_tokens=100, output_tokens=20)
"""
FIRST_TOKEN = "llmphases_call_time_to_first_token_seconds"


@pytest.fixture(scope="module")
def short_job(stack, tmp_path_factory):
    """Five calls whose first tokens take 330 s together; the program is gone after one push."""
    sent = send(stack, tmp_path_factory.mktemp("short"), "short", FIVE_CALLS)
    stack.wait_for(f'{FIRST_TOKEN}_count{{job="short"}}')
    return sent


def test_a_short_job_counts_in_full(stack, short_job):
    """One push, and its increase is the truth: no nothing, no extrapolation."""
    increased = f'sum(increase({FIRST_TOKEN}_%s{{job="short"}}[5m]))'
    assert stack.value(increased % "sum") == pytest.approx(330)
    assert stack.value(increased % "count") == pytest.approx(5)


def test_a_short_job_still_counts_in_full_when_it_is_long_gone(stack, short_job):
    """RC-092: the last hour, looked at half an hour later, is the same."""
    increased = f'sum(increase({FIRST_TOKEN}_sum{{job="short"}}[1h]))'
    for later_s in (60, 600, 1800):
        assert stack.value(increased, at=time.time() + later_s) == pytest.approx(330)


def test_the_split_of_a_short_job_is_exact(stack, short_job):
    query = (
        "sum by (llmphases_phase) "
        '(increase(llmphases_phase_duration_seconds_sum{job="short"}[10m]))'
    )
    found = {labels["llmphases_phase"]: value for labels, value in stack.query(query)}
    assert found == pytest.approx({"time_to_first_token": 330, "generation": 9.5}, abs=1e-4)


def test_a_counter_of_a_short_job_is_exact(stack, short_job):
    query = 'sum(increase(gen_ai_client_inference_usage_output_tokens_total{job="short"}[10m]))'
    assert stack.value(query) == pytest.approx(100)


def test_what_is_at_the_end_of_a_bucket_is_not_said_to_be_far_from_it(stack, tmp_path):
    """A p95 of values between 61 and 73 s is between 60 and 75; not 80, as with doubling widths."""
    body = """
    clock = fake_clock(began_s_ago=900)
    for seconds in range(61, 74):
        with llm_call("place_boxes") as call:
            call.request_sent()
            clock.tick(seconds)
            call.first_token()
    """
    send(stack, tmp_path, "quantiles", body)
    stack.wait_for(f'{FIRST_TOKEN}_count{{job="quantiles"}}')
    increased = f'sum by (le) (increase({FIRST_TOKEN}_bucket{{job="quantiles"}}[5m]))'
    assert 60 <= stack.value(f"histogram_quantile(0.95, {increased})") <= 75
    assert 60 <= stack.value(f"histogram_quantile(0.5, {increased})") <= 75


@pytest.fixture(scope="module")
def several_pushes(stack, tmp_path_factory):
    """Twelve calls by a program that has sent three times."""
    body = """
    clock = fake_clock(began_s_ago=60)
    for n in range(12):
        with llm_call("place_boxes") as call:
            call.request_sent()
            clock.tick(1)
            call.first_token()
        if n in (2, 7):
            assert flush()
            time.sleep(1.1)  # another timestamp
    """
    counted = f'{FIRST_TOKEN}_count{{job="twelve"}}'
    send(stack, tmp_path_factory.mktemp("several"), "twelve", body)
    until(lambda: stack.value(counted) == 12, "the third push")
    return counted


def test_twelve_calls_over_several_pushes_are_twelve(stack, several_pushes):
    """RC-092: the first push is not lost, none is counted twice, and so it stays."""
    for later_s in (0, 60, 1800):
        asked = f"sum(last_over_time({several_pushes}[1h]))"
        assert stack.value(asked, at=time.time() + later_s) == 12


def test_their_increase_is_an_estimate(stack, several_pushes):
    """It adds what half of the usual time between two pushes would have brought: at most half."""
    for later_s in (0, 60, 1800):
        estimate = stack.value(f"sum(increase({several_pushes}[1h]))", at=time.time() + later_s)
        assert 12 <= round(estimate, 6) <= 18


def test_processes_of_one_service_add_up(stack, tmp_path):
    """Each process has series of its own: none takes another's for a counter that began anew."""
    for n in range(3):
        send(stack, tmp_path / str(n), "many", FIVE_CALLS)
    counted = f'{FIRST_TOKEN}_count{{job="many"}}'
    until(lambda: len(stack.query(counted)) == 3, "three processes")
    assert stack.value(f"sum(increase({counted}[5m]))") == pytest.approx(15)
    assert stack.value(f"count(count by (instance) ({counted}))") == 3


def test_an_exemplar_leads_to_a_trace_that_jaeger_knows(stack, short_job):
    found = until(
        lambda: stack.prometheus.exemplars(f'{FIRST_TOKEN}_bucket{{job="short"}}'), "exemplars"
    )
    assert {one["labels"]["trace_id"] for one in found} <= set(short_job.trace_ids)
    for one in found:
        (span,) = [
            span
            for span in stack.jaeger.wait_for_spans(one["labels"]["trace_id"], 1)
            if span["spanId"] == one["labels"]["span_id"]
        ]
        assert span["name"] == "place_boxes"
        assert 64 <= float(one["value"]) <= 68


# --- names --------------------------------------------------------------------------------------
def test_names_and_labels_are_those_of_the_usual_translation(stack, short_job):
    """RC-091: what dashboards ask for is spelled so."""
    query = '{job="short", __name__=~"llmphases_.*|gen_ai_.*"}'
    series = [labels for labels, _ in stack.wait_for(query)]
    names = {labels["__name__"] for labels in series}
    assert {
        "llmphases_phase_duration_seconds_bucket",
        "llmphases_call_duration_seconds_sum",
        "llmphases_call_fixed_share_count",
        "llmphases_calls_active",
        "gen_ai_client_inference_duration_seconds_count",
        "gen_ai_client_inference_usage_input_tokens_total",
    } <= names
    ours = {
        "job", "instance", "le", "__name__", "llmphases_phase", "llmphases_cost",
        "llmphases_call_name", "llmphases_call_nested", "gen_ai_provider_name",
        "gen_ai_request_model", "gen_ai_operation_name",
    }  # fmt: skip
    assert {name for labels in series for name in labels} <= ours
    edges = {
        float(labels["le"])
        for labels in series
        if labels["__name__"] == "llmphases_call_duration_seconds_bucket"
    }
    assert edges == {*conventions.SECONDS, float("inf")}


def test_without_translation_the_names_keep_their_dots(built, stack, tmp_path):
    """RC-091: a Prometheus that is set up so has none of the names that dashboards ask for."""
    config = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8"))
    config["otlp"]["translation_strategy"] = "NoTranslation"
    with other_prometheus(tmp_path, config=config) as prometheus:
        send(straight_to(prometheus, stack), tmp_path / "sent", "dots", FIVE_CALLS)
        found = until(lambda: prometheus.query('{job="dots"}'), "what was sent")
    names = {labels["__name__"] for labels, _ in found}
    assert "llmphases.call.duration_count" in names
    assert [name for name in names if name.startswith("llmphases_")] == []


# --- another Prometheus -------------------------------------------------------------------------
def test_without_the_flags_a_short_job_is_not_counted(built, stack, tmp_path):
    """What the compose file's last two flags are for."""
    with other_prometheus(tmp_path, features="exemplar-storage") as prometheus:
        send(straight_to(prometheus, stack), tmp_path / "sent", "plain", FIVE_CALLS)
        counted = f'{FIRST_TOKEN}_sum{{job="plain"}}'
        assert until(lambda: prometheus.query(counted), "what was sent")[0][1] == pytest.approx(330)
        assert prometheus.query(f"increase({counted}[5m])") == []


@contextmanager
def other_prometheus(folder, config=None, **options):
    """With other features or configuration than those that are shipped, for a block."""
    if config is not None:
        options["config"] = folder / "prometheus.yml"
        text = yaml.safe_dump({**config, "rule_files": []})
        options["config"].write_text(text, "utf-8")
    prometheus = Prometheus(folder / "prometheus", Ports(), **options)
    try:
        yield prometheus.start()
    finally:
        prometheus.stop()


def straight_to(prometheus, stack):
    """Metrics go to this Prometheus, traces where they always go."""
    return SimpleNamespace(
        otlp_endpoint=stack.otlp_endpoint,
        metrics_endpoint=f"{prometheus.url}/api/v1/otlp/v1/metrics",
    )


# --- what it costs ------------------------------------------------------------------------------
@pytest.fixture
def one_push(tmp_path):
    """What a program with one kind of call sends when it ends."""
    bodies = []

    class Keeping(OtlpReceiver):
        def take(self, path, headers, body):
            if path == "/v1/metrics":
                bodies.append(body)
            return super().take(path, headers, body)

    with Keeping() as receiver:
        receiver.otlp_endpoint = receiver.url
        send(receiver, tmp_path / "sent", "crowd", FIVE_CALLS)
    return ExportMetricsServiceRequest.FromString(bodies[-1])


def test_many_short_processes_cost_series_each_and_still_add_up(built, tmp_path, one_push):
    """docs/backends.md has these figures, of 2,000 processes; `-rP` shows those of this run."""
    built("prometheus")
    processes = 200
    resource = one_push.resource_metrics[0].resource.attributes
    (instance,) = [pair for pair in resource if pair.key == "service.instance.id"]
    with other_prometheus(tmp_path) as prometheus:
        running = psutil.Process(prometheus.process.pid)
        before = running.memory_info().rss
        for _ in range(processes):
            instance.value.string_value = str(uuid.uuid4())
            request = urllib.request.Request(
                f"{prometheus.url}/api/v1/otlp/v1/metrics",
                data=one_push.SerializeToString(),
                headers={"content-type": "application/x-protobuf"},
            )
            urllib.request.urlopen(request, timeout=60).close()
        more_mib = (running.memory_info().rss - before) / 2**20
        began = time.monotonic()
        assert prometheus.value(f"sum(increase({FIRST_TOKEN}_sum[5m]))") == pytest.approx(
            330 * processes
        )
        took_s = time.monotonic() - began
        series = get(f"{prometheus.url}/api/v1/status/tsdb")["data"]["headStats"]["numSeries"]
    print(f"{processes} processes: {series} series, {more_mib:.0f} MiB, a sum in {took_s:.2f} s")
    assert series == 184 * processes


# --- made of spans ------------------------------------------------------------------------------
def test_jaegers_monitor_has_calls_of_programs_that_send_traces_only(stack, tmp_path):
    body = """
    for _ in range(3):
        with llm_call("monitored") as call:
            call.request_sent()
            call.first_token()
    """
    send(stack, tmp_path, "monitor", body)
    calls = 'traces_span_metrics_calls_total{service_name="monitor", span_name="monitored"}'
    until(lambda: stack.value(calls) == 3, calls)  # the first point that it makes is 0
    asked = {"service": "monitor", "spanKind": "client", "lookback": "3600000", "step": "5000"}

    def points():
        metrics = get(f"{stack.jaeger_url}/api/metrics/calls", **asked, quantile="0.95")["metrics"]
        return [point for metric in metrics for point in metric["metricPoints"]]

    assert until(points, "the Monitor page's calls", timeout_s=90)
