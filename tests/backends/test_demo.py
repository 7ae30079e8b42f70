"""The demonstration in a real Jaeger: what docs/jaeger.md says is to be seen there."""

from __future__ import annotations

from itertools import pairwise

import pytest

from backends.jaeger_views import bars_of, critical_path, seconds_by_name, self_seconds_by
from backends.servers import until
from backends.workload import run_llmphases

SCALE = 100
FIXED_S = 68 / SCALE


@pytest.fixture(scope="module")
def sections_and_bars(stack, tmp_path_factory):
    """The critical path and the bars of each of its three traces, by the name of the job."""
    said = run_llmphases(
        stack,
        tmp_path_factory.mktemp("demo"),
        *("demo", "--scale", str(SCALE)),
        OTEL_METRICS_EXPORTER="otlp",
    )
    assert stack.otlp_endpoint in said

    def three():
        found = stack.jaeger.find("llmphases-demo")
        return found if len(found) == 3 else None

    shown = {}
    for trace_id in until(three, "the demonstration's traces"):
        bars = bars_of(stack.jaeger.trace(trace_id))
        (root,) = [bar for bar in bars if bar.parent_id is None]
        shown[root.name] = (critical_path(bars), bars)
    return shown


def names_in_a_row(sections, *names):
    """In the order of time, each stretch of a name once."""
    forward = [section.bar for section in reversed(sections) if section.bar.name in names]
    return [bar.name for bar, next_one in pairwise([*forward, None]) if bar != next_one]


@pytest.mark.parametrize("job", ["one_call_job", "many_calls_job", "one_wave_job"])
def test_the_critical_path_ends_with_the_phases_of_one_call(sections_and_bars, job):
    sections, _ = sections_and_bars[job]
    names = ("process_startup", "time_to_first_token", "generation")
    assert names_in_a_row(sections, *names) == [*names]


def test_the_waves_before_the_last_are_a_wait_for_a_worker(sections_and_bars):
    """Two of three; where all calls run at once, there is next to none."""
    many, one = (
        seconds_by_name(sections_and_bars[job][0]) for job in ("many_calls_job", "one_wave_job")
    )
    assert many["queue_wait"] >= 2 * FIXED_S
    assert many["queue_wait"] > sum(many.values()) / 2
    assert one.get("queue_wait", 0) < many["queue_wait"]


@pytest.mark.parametrize(
    ("job", "calls"), [("one_call_job", 1), ("many_calls_job", 12), ("one_wave_job", 4)]
)
def test_the_statistics_pay_fixed_cost_once_for_each_call(sections_and_bars, job, calls):
    _, bars = sections_and_bars[job]
    paid = self_seconds_by("llmphases.cost", bars)
    assert paid["fixed"] >= calls * FIXED_S
    assert paid["generation"] > 0
    assert paid.keys() <= {"fixed", "generation", "delivery", None}


def test_its_metrics_arrive_if_they_are_asked_for(stack, sections_and_bars):
    calls = 'sum(last_over_time(llmphases_call_duration_seconds_count{job="llmphases-demo"}[1h]))'
    assert until(lambda: stack.value(calls), "its metrics") == 17
