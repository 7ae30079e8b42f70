"""Every panel of the dashboards, asked of a real Prometheus after programs whose numbers are known.

Each service has been sent by one program, which is gone after its one push.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from types import SimpleNamespace

import grafana_foundation_sdk  # noqa: F401  # without it these are left out
import pytest

from backends import panel_programs
from backends.servers import Ports, Prometheus, until
from backends.workload import send
from dashboards.answers import Asked, courses, numbers
from dashboards.build import BOARDS
from dashboards.canvas import draw
from dashboards.model import Kind
from dashboards.pictures import answers_to
from dashboards.prometheus_names import label_name, metric_name
from dashboards.queries import boundary_pattern
from llmphases import conventions as names

PANELS = {panel.title: panel for board in BOARDS for panel in board.panels}
EACH_PANEL = pytest.mark.parametrize("title", PANELS)


@pytest.fixture(scope="module")
def sent(stack, tmp_path_factory):
    """What each program has sent, by its service, once all of it is there."""
    folder = tmp_path_factory.mktemp("panels")
    sent = {
        service: send(stack, folder / service, service, program)
        for service, program in panel_programs.ALL.items()
    }
    for service in sent:
        stack.wait_for(f'{{job="{service}"}}')
    return sent


@pytest.fixture
def shown(stack, sent):
    """What a panel shows: of one service, or of all; at the end of its range."""

    def shown(title, job=".*", **more):
        chosen = {"job": job, **more.pop("chosen", {})}
        asked = Asked(url=stack.prometheus_url, end_s=time.time(), chosen=chosen, **more)
        return numbers(PANELS[title], asked)

    return shown


def near(expected, **tolerance):
    return pytest.approx(expected, **{"rel": 1e-6, **tolerance})


# --- all of them --------------------------------------------------------------------------------
@EACH_PANEL
def test_each_query_of_each_panel_finds_something(stack, sent, title):
    panel = PANELS[title]
    for query in panel.queries:
        asked = Asked(url=stack.prometheus_url, end_s=time.time())
        found = stack.query(asked.expr(query), at=asked.end_s)
        assert found, query.expr
        assert [value for _, value in found if not math.isfinite(value)] == []


@EACH_PANEL
def test_what_is_drawn_over_time_has_points(stack, sent, title):
    asked = Asked(url=stack.prometheus_url, end_s=time.time(), window_s=600)
    drawn = courses(PANELS[title], asked)
    assert drawn
    assert all(points for points in drawn.values())
    assert all(math.isfinite(value) for points in drawn.values() for _, value in points)


@EACH_PANEL
def test_a_service_that_does_not_exist_leaves_a_gap_and_no_error(shown, title):
    assert shown(title, job="nobody") == {}


@pytest.fixture(scope="module")
def quiet_since(stack, tmp_path_factory):
    """A moment at which a program has been quiet for three seconds, with a push in each."""
    sent = send(stack, tmp_path_factory.mktemp("quiet"), "quiet", panel_programs.QUIET)
    counted = f'count_over_time({metric_name(names.CALL_DURATION)}_count{{job="quiet"}}[1m])'
    until(lambda: all(count >= 4 for _, count in stack.wait_for(counted)), "four pushes")
    return float(sent.out)


@EACH_PANEL
def test_where_nothing_happens_nothing_is_divided_by_nothing(stack, quiet_since, title):
    """The series are there, and grow by 0."""
    asked = Asked(
        url=stack.prometheus_url, end_s=quiet_since, window_s=3, rate_interval_s=3,
        chosen={"job": "quiet"},
    )  # fmt: skip
    found = numbers(PANELS[title], asked)
    assert [value for value in found.values() if not math.isfinite(value)] == []


def test_the_quiet_moment_is_one_at_which_series_are_there_and_do_not_grow(stack, quiet_since):
    count = f'{metric_name(names.CALL_DURATION)}_count{{job="quiet"}}'
    assert stack.value(f"sum(increase({count}[3s]))", at=quiet_since) == 0


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_is_drawn_from_what_was_found(stack, sent, board, tmp_path):
    asked = Asked(url=stack.prometheus_url, end_s=time.time(), window_s=120)
    draw(board, answers_to(board, asked), "a test", tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 20_000


def test_every_metric_of_ours_has_the_name_that_the_queries_use(stack, sent):
    there = {
        labels["__name__"] for labels, _ in stack.query('{__name__=~"llmphases_.*|gen_ai_.*"}')
    }
    unseen = {
        # What no program here does.
        names.EMBEDDINGS_DURATION, names.EMBEDDINGS_INPUT_TOKENS,
        names.USAGE_CACHE_READ_INPUT_TOKENS, names.USAGE_CACHE_WRITE_INPUT_TOKENS,
        names.USAGE_REASONING_OUTPUT_TOKENS,
    }  # fmt: skip
    for metric in vars(names).values():
        if isinstance(metric, names.Metric) and metric not in unseen:
            parts = ("_bucket", "_sum", "_count") if metric.boundaries else ("",)
            assert {f"{metric_name(metric)}{part}" for part in parts} <= there


# --- first token --------------------------------------------------------------------------------
# 15 calls with a first token: 5 after 1 s, 8 after 5 s, 2 after 20 s.
def test_quantiles_of_the_wait_lie_where_their_calls_are(shown):
    for title in ("How long do callers wait for the first token?", "The wait over time"):
        found = shown(title, "boxes")
        # Linear within their buckets: 3..5 s, 15..20 s.
        assert found == near({"p50": 3 + 2 * 2.5 / 8, "p95": 18.125, "p99": 19.625})


def test_two_of_fifteen_calls_are_over_the_target(shown):
    over = {"over the target": 2 / 15}
    assert shown("How many calls are over the target?", "boxes") == near(over)
    half_a_minute = {"target": boundary_pattern(30)}
    late = shown("How many calls are over the target?", "boxes", chosen=half_a_minute)
    assert late == near({"over the target": 0}, abs=1e-9)


def test_the_allowance_is_used_up_as_many_times_as_there_are_calls_over_the_target(shown):
    used = dict.fromkeys(("5 minutes", "1 hour", "6 hours"), 2 / 15 / 0.05)
    assert shown("How fast is the allowance used up?", "boxes") == near(used)


def test_the_heatmap_has_each_call_in_its_bucket(shown):
    found = {
        float(le): calls for le, calls in shown("How are the waits distributed?", "boxes").items()
    }
    assert (found[0.5], found[1], found[3], found[5]) == near((0, 5, 5, 13))
    assert (found[15], found[20], found[math.inf]) == near((13, 15, 15))


def test_the_wait_is_made_of_what_came_before_the_first_token(shown):
    # classify has no first token, so its prompt and all else of it are not in here.
    made_of = {"prompt_build": 10 / 15, "time_to_first_token": (8 * 4 + 2 * 19 + 5) / 15}
    assert shown("What is it made of in the whole time range?", "boxes") == near(made_of)
    assert shown("What is the wait made of?", "boxes") == near(made_of)


def test_waits_are_told_apart_by_call_model_and_provider(shown):
    quantiles = ("p50", "p95", "p99")

    def each(*names):
        return {f"{name} {quantile}" for name in names for quantile in quantiles}

    assert set(shown("Which calls wait?", "boxes")) == each("place_boxes", "summarize")
    by_model = shown("Which models and providers wait?", "boxes")
    assert set(by_model) == each("big acme", "small acme")
    assert by_model["small acme p95"] == near(0.5 + 0.5 * 0.95)
    assert by_model["big acme p50"] == near(3 + 2 * 5 / 8)
    chosen = shown("Which calls wait?", "boxes", chosen={"model": "small"})
    assert set(chosen) == each("summarize")


def test_first_chunks_are_found_under_either_generation_of_names(shown):
    title = "When does a request get its first chunk?"
    for service in ("streams", "old-names"):
        assert shown(title, service) == near({"big acme": 1.28 + 1.28 * 0.95})
    p95_of_a_bucket = near(2 + 2 * 0.95)
    assert shown(title, "others") == {
        "theirs acme": p95_of_a_bucket,
        "theirs acme (as others tell it)": p95_of_a_bucket,
    }


def test_dots_of_the_wait_over_time_lead_to_traces_that_jaeger_has(stack, sent):
    asked = Asked(url=stack.prometheus_url, end_s=time.time(), chosen={"job": "boxes"})
    (query, *_) = PANELS["The wait over time"].queries
    assert query.has_exemplars
    found = until(lambda: stack.prometheus.exemplars(asked.expr(query)), "exemplars")
    trace_ids = {one["labels"]["trace_id"] for one in found}
    assert trace_ids <= set(sent["boxes"].trace_ids)
    for trace_id in trace_ids:
        assert stack.jaeger.wait_for_spans(trace_id, 1)


# --- fixed cost ---------------------------------------------------------------------------------
FIXED = 10 * 1 + (8 * 4 + 2 * 19) + 10 * 0.5 + 5 * 1
GENERATION = 10 * 2 + 5 * 9


def test_fixed_cost_and_generation_are_the_sums_of_the_calls_that_are_split(shown):
    assert (FIXED, GENERATION) == (90, 65)
    share = FIXED / (FIXED + GENERATION)
    assert shown("How much of the time is fixed cost?", "boxes") == near({"fixed": share})
    title = "Seconds of fixed cost for each second of generation"
    assert shown(title, "boxes") == near({"fixed : generation": FIXED / GENERATION})
    assert shown("Fixed cost paid in all", "boxes") == near({"fixed": FIXED})
    assert shown("Fixed cost of one call", "boxes") == near({"per call": FIXED / 15})


def test_the_share_is_the_one_that_the_report_tells(shown, sent):
    told = subprocess.run(
        [sys.executable, "-m", "llmphases", "report", "--json", str(sent["boxes"].file)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    totals = json.loads(told.stdout)["totals"]
    found = shown("How much of the time is fixed cost?", "boxes")
    assert found == near({"fixed": totals["fixed_share"]})


def test_ten_of_fifteen_calls_are_mostly_fixed(shown):
    found = shown("In how many calls is more fixed than generated?", "boxes")
    assert found == near({"mostly fixed": 10 / 15})


def test_five_of_twenty_calls_are_not_told_apart(shown):
    title = "How many calls cannot be told apart?"
    assert shown(title, "boxes") == near({"not told apart": 5 / 20})
    assert shown(title, "boxes", chosen={"call": "summarize"}) == near(
        {"not told apart": 0}, abs=1e-9
    )
    assert shown(title, "boxes", chosen={"call": "classify"}) == near({"not told apart": 1})


def test_phases_and_what_no_phase_covers_are_all_of_the_time(shown, sent):
    seconds = {
        "prompt_build": 10, "time_to_first_token": 75, "generation": 65, "inference": 15,
        "post_processing": 5, "no phase": 5,
    }  # fmt: skip
    assert shown("How many seconds went into each phase?", "boxes") == near(seconds, rel=1e-5)
    assert shown("Which part of the time goes where?", "boxes") == near(seconds, rel=1e-5)
    assert sum(seconds.values()) == 10 * (4 + 4) + 2 * 15 + 5 * 10 + 5 * 3


def test_calls_inside_calls_count_once(shown):
    assert shown("Fixed cost paid in all", "nested") == near({"fixed": 1 + 2 * 2})
    assert shown("How many seconds went into each phase?", "nested") == near(
        {"time_to_first_token": 4, "generation": 2, "no phase": 1}
    )
    assert shown("How many calls were open on average?", "nested", rate_interval_s=300) == near(
        {"agent": 7 / 300}
    )


@pytest.mark.parametrize("call", ["agent", "ask"])
def test_of_a_part_of_calls_inside_calls_nobody_knows_what_no_phase_covers(shown, call):
    found = shown("How many seconds went into each phase?", "nested", chosen={"call": call})
    phases = {"time_to_first_token": 4, "generation": 2}
    assert found == near(phases if call == "ask" else {})


def test_of_one_call_beside_others_what_no_phase_covers_is_known(shown):
    found = shown("How many seconds went into each phase?", "boxes", chosen={"call": "place_boxes"})
    assert found["no phase"] == near(5, rel=1e-5)


def test_shares_and_costs_are_told_apart_by_call(shown):
    assert shown("Which calls are mostly fixed cost?", "boxes") == near(
        {"place_boxes": 85 / 105, "summarize": 0.1}
    )
    assert shown("What does one call of each name cost before its answer?", "boxes") == near(
        {"place_boxes": 8.5, "summarize": 1}
    )


@pytest.mark.parametrize(
    ("service", "break_even", "per_thousand"),
    [
        # 40 tokens in 2 s: 20 a second, times 8.5 s. 100 tokens in 9 s, times 1 s.
        ("boxes", {"big": 170, "small": 100 / 9}, {"big": 8500 / 40, "small": 10}),
        ("old-names", {"big": 50}, {"big": 40}),
        ("half-seen", {}, {}),
    ],
)
def test_an_answer_costs_as_much_as_its_call_at_so_many_tokens(
    shown, service, break_even, per_thousand
):
    title = "Tokens that an answer needs to cost as much as its call"
    assert shown(title, service) == near(break_even)
    assert shown("Fixed cost of a thousand tokens", service) == near(per_thousand)


# --- command-line tools -------------------------------------------------------------------------
@pytest.fixture
def children(sent):
    """What the spans say of each child of the tools' program."""
    known = {}
    for span in sent["tools"].spans:
        said = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
        if names.PHASE in said and names.PROCESS_PID in said:
            known[said[names.PROCESS_PID]] = {**said, "span": span}
    return list(known.values())


def test_processes_are_counted_by_how_they_ended(shown, children):
    (tool,) = {child[names.PROCESS_EXECUTABLE_NAME] for child in children}
    assert shown("How did they end?", "tools") == near(
        {f"{tool} exit 0": 3, f"{tool} exit 3": 1, f"{tool} exit -9": 1}
    )
    assert shown("How many processes failed?", "tools") == near({"failed": 2 / 5})
    assert shown("Processes that ended", "tools") == near({tool: 5})


def test_cpu_time_is_set_against_the_time_of_the_processes(shown, children):
    cpu = sum(child[names.PROCESS_CPU_TIME] for child in children)
    wall = sum(child[names.PROCESS_DURATION] for child in children)
    assert cpu > 0.4
    for title in ("How much of its time does a tool compute?", "Computing over time"):
        (found,) = shown(title, "tools").values()
        assert found == near(cpu / wall, rel=1e-4)


def test_start_up_and_memory_lie_in_the_buckets_of_the_processes(shown, children):
    def bucket(values, bounds):
        (least, most) = min(values), max(values)
        below = max((bound for bound in (0, *bounds) if bound < least), default=0)
        return below, min(bound for bound in bounds if bound >= most)

    started = [
        (int(child["span"]["endTimeUnixNano"]) - int(child["span"]["startTimeUnixNano"])) / 1e9
        for child in children
        if child[names.PHASE] == "process_startup"
    ]
    assert started
    for title, values, bounds in (
        ("How long does a tool take to start?", started, names.SECONDS),
        (
            "How much memory does a process take?",
            [int(c[names.PROCESS_MEMORY_PEAK]) for c in children if names.PROCESS_MEMORY_PEAK in c],
            names.MEMORY,
        ),
    ):
        below, above = bucket(values, bounds)
        found = shown(title, "tools")
        assert len(found) == 2
        assert all(below <= value <= above for value in found.values())
    (share,) = shown("How much of a process's life is its start?", "tools").values()
    wall = sum(child[names.PROCESS_DURATION] for child in children)
    assert share == near(sum(started) / wall, rel=1e-3)


# --- parallelism --------------------------------------------------------------------------------
def test_ten_chunks_on_four_workers_are_three_waves_with_two_places_empty(shown):
    assert shown("How many waves did a job take?", "job") == {"boxes": 3}
    assert shown("Into how many chunks, for how many workers?", "job") == {
        "boxes chunks": 10, "boxes workers": 4,
    }  # fmt: skip
    assert shown("How many places stayed empty?", "job") == near({"boxes": 2 / 12})
    assert shown("Open calls and workers", "job") == {"boxes open calls": 0, "boxes workers": 4}


def test_waits_for_a_worker_are_told_by_job_and_others_by_call(shown):
    found = shown("How long does work wait for a worker?", "job")
    assert set(found) == {"boxes p50", "boxes p95"}
    found = shown("How long does work wait for a worker?", "trouble")
    assert found == near({"waiting p50": 3 + 2 * 0.5, "waiting p95": 3 + 2 * 0.95})


def test_retries_time_outs_and_errors_are_counted_by_reason(shown):
    # 6 flaky calls, 3 broken ones, 1 that waits.
    assert shown("How many calls are sent again?", "trouble") == near({"retries per call": 3 / 10})
    assert shown("Time-outs", "trouble") == near({"time-outs": 2})
    # The last attempt of a broken call is one as well, though nothing came after it.
    attempts = {"retry": 3 * (2 + 1) + 3 * 5}
    assert shown("How much time did failed attempts take?", "trouble") == near(attempts)
    assert shown("Which errors ended calls?", "trouble") == near(
        {"broken TimeoutError": 2, "broken ValueError": 1}
    )
    assert shown("Why are requests sent again, or given up?", "trouble") == near(
        {"retry: RateLimitError": 3, "time-out: TimeoutError": 2}
    )


def test_where_nothing_fails_there_are_none_and_not_nothing(shown):
    for title, legend in (
        ("How many calls are sent again?", "retries per call"),
        ("Time-outs", "time-outs"),
        ("How much time did failed attempts take?", "retry"),
    ):
        assert shown(title, "boxes") == {legend: 0}


def test_three_of_four_look_ups_hit(shown):
    assert shown("Do caches help?", "trouble") == near({"all": 0.75, "flaky": 0.75})


# --- short jobs, long ones and odd ones ---------------------------------------------------------
def test_what_came_in_several_pushes_counts_in_full_and_is_not_stretched(shown):
    assert shown("Fixed cost paid in all", "pushes") == near({"fixed": 36})
    assert shown("In how many calls is more fixed than generated?", "pushes") == {"mostly fixed": 1}
    waits = shown("How are the waits distributed?", "pushes")
    assert (waits["+Inf"], waits["2"], waits["3"]) == (12, 0, 12)


def test_a_range_that_begins_within_a_programs_life_has_what_came_later(stack, sent):
    pushed_at = [float(line) for line in sent["pushes"].out.split()]
    for end_s, calls in ((pushed_at[1] + 1, 5), (pushed_at[1] + 60, 7)):
        asked = Asked(
            url=stack.prometheus_url, end_s=end_s, window_s=round(end_s - pushed_at[0] - 1),
            chosen={"job": "pushes"},
        )  # fmt: skip
        assert numbers(PANELS["Fixed cost paid in all"], asked) == near({"fixed": 3 * calls})


def test_a_prometheus_without_flags_shows_the_same(built, stack, tmp_path):
    """But for the receiver: neither start timestamps nor anything that is experimental."""
    prometheus = Prometheus(tmp_path / "prometheus", Ports(), features="exemplar-storage")
    try:
        prometheus.start()
        there = SimpleNamespace(
            otlp_endpoint=stack.otlp_endpoint,
            metrics_endpoint=f"{prometheus.url}/api/v1/otlp/v1/metrics",
        )
        for service in ("boxes", "pushes"):
            send(there, tmp_path / service, service, panel_programs.ALL[service])
        for service, fixed_s in (("boxes", 90), ("pushes", 36)):
            asked = Asked(url=prometheus.url, end_s=time.time(), chosen={"job": service})
            assert numbers(PANELS["Fixed cost paid in all"], asked) == near({"fixed": fixed_s})
    finally:
        prometheus.stop()


def test_processes_that_share_an_instance_add_up(stack, tmp_path, monkeypatch):
    """Somebody has given all of them one id: a counter that begins anew, each time."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=one")
    for n in range(3):
        send(stack, tmp_path / str(n), "shared", panel_programs.NESTED)
    begun = f'resets({metric_name(names.CALL_PAID)}{{job="shared"}}[5m])'
    until(lambda: all(again == 2 for _, again in stack.wait_for(begun)), "three processes")
    asked = Asked(url=stack.prometheus_url, end_s=time.time(), chosen={"job": "shared"})
    paid = numbers(PANELS["Fixed cost paid in all"], asked)["fixed"]
    # Here `increase()` has to help, which stretches: never less than the truth, at most half more.
    assert 15 <= paid + 1e-6 <= 15 * 1.5


@pytest.mark.parametrize("later_s", [60, 600, 3000])
def test_a_program_that_is_gone_is_still_in_the_range(stack, sent, later_s):
    asked = Asked(
        url=stack.prometheus_url, end_s=time.time() + later_s, chosen={"job": "boxes"},
        window_s=3600,
    )  # fmt: skip
    assert numbers(PANELS["Fixed cost paid in all"], asked) == near({"fixed": 90})
    assert numbers(PANELS["How many waves did a job take?"], Asked(
        url=stack.prometheus_url, end_s=time.time() + later_s, chosen={"job": "job"},
    )) == {"boxes": 3}  # fmt: skip


def test_tiles_are_about_the_range_and_lines_about_some_minutes():
    assert {panel.kind for panel in PANELS.values()} == set(Kind)


def test_labels_of_others_are_spelled_as_queries_have_them(stack, sent):
    (labels, _), *_ = stack.query('{__name__=~"gen_ai_server_.*", job="others"}')
    assert labels[label_name("gen_ai.system")] == "acme"
