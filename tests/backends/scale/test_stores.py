"""What becomes of what is stored: old spans are forgotten, metrics are handed on in full."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from backends.scale.roles import CONFIG, MetricsStore
from backends.servers import ROOT, Ports, Prometheus, get, until
from backends.workload import send

SHORT = """
clock = fake_clock(began_s_ago=200)
for _ in range(5):
    with llm_call("place_boxes", model="big", provider="acme") as call:
        call.request_sent()
        clock.tick(66)
        call.first_token()
        clock.tick(1.9)
        call.last_token()
"""


def put(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), method="PUT")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200


def forget(opensearch, days):
    done = subprocess.run(
        ["bash", CONFIG / "forget-old-spans.sh", "--once"],
        env={"PATH": "/usr/bin:/bin", "OPENSEARCH_URL": opensearch.url, "KEEP_DAYS": str(days)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_days_that_are_too_old_are_forgotten_and_no_others(pipeline):
    today = datetime.now(UTC).date()
    names = {
        days: f"llmphases-jaeger-{kind}-{today - timedelta(days=days)}"
        for days, kind in ((13, "span"), (14, "span"), (15, "span"), (40, "service"))
    }
    strangers = [f"other-jaeger-span-{today - timedelta(days=40)}", "llmphases-jaeger-dependencies"]
    for name in (*names.values(), *strangers):
        put(f"{pipeline.opensearch.url}/{name}", {"settings": {"number_of_replicas": 0}})
    assert sorted(forget(pipeline.opensearch, 14)) == sorted(
        f"deleted {names[days]}" for days in (15, 40)
    )
    left = {each["index"] for each in get(f"{pipeline.opensearch.url}/_cat/indices", format="json")}
    assert {names[13], names[14], *strangers} <= left
    assert forget(pipeline.opensearch, 14) == []
    assert forget(pipeline.opensearch, 13) == [f"deleted {names[14]}"]


def test_a_store_that_is_away_is_said(parts_here):
    nowhere = SimpleNamespace(url="http://127.0.0.1:9")
    with pytest.raises(AssertionError, match="curl"):
        forget(nowhere, 14)


def test_what_is_handed_on_counts_in_full_there(pipeline, tmp_path):
    """One push of a short program is an increase of five in the second Prometheus as well."""
    ports = Ports()
    store = MetricsStore(tmp_path / "store", ports)
    text = (CONFIG / "prometheus-remote-write.yml").read_text("utf-8")
    assert text.count("http://metrics-store:9090") == 1
    config = tmp_path / "prometheus.yml"
    config.write_text(
        text.replace("http://metrics-store:9090", store.url).replace(
            "../prometheus", str(ROOT / "deploy/prometheus")
        )
    )
    near = Prometheus(tmp_path / "near", ports, config=config)
    otlp = f"{near.url}/api/v1/otlp/v1/metrics"
    try:
        store.start()
        near.start()
        stack = SimpleNamespace(otlp_endpoint=pipeline.otlp_endpoint, metrics_endpoint=otlp)
        send(stack, tmp_path / "program", "handed-on", SHORT)
        name = "llmphases_call_time_to_first_token_seconds"
        increased = f'sum(increase({name}_%s{{job="handed-on"}}[10m]))'
        for prometheus in (near, store):
            until(lambda: prometheus.query(increased % "count"), "its calls")  # noqa: B023 - at once
            assert prometheus.value(increased % "sum") == pytest.approx(330)
            assert prometheus.value(increased % "count") == pytest.approx(5)
    finally:
        for prometheus in (near, store):
            prometheus.stop(signal.SIGKILL)
