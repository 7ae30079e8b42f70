"""Work in other processes: real pools, and what arrives of it in a file and at a receiver."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.otlp_receiver import OtlpReceiver
from llmphases import conventions as names
from llmphases import llm_call, llm_job, traced_llm_call
from llmphases.capture import current
from llmphases.observers import OpenJob
from otel.programs import silent_port

PROGRAM = Path(__file__).with_name("pool_program.py")
_PATIENCE_S = 60
KINDS = ["fork", "forkserver", "spawn", "loky"]


@dataclass(frozen=True)
class Seen:
    """A span, however it came."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]


def run(scenario: str, kind: str, cwd: Path, **environment: str) -> str:
    """Run the program; what it says on stderr."""
    if kind == "loky":
        pytest.importorskip("loky")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), scenario, kind],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr


def in_file(scenario: str, kind: str, cwd: Path) -> list[Seen]:
    """Run it without an endpoint: all processes append to one file."""
    said = run(scenario, kind, cwd)
    assert said == f"llmphases: traces go to {names.DEFAULT_FILE}\n"
    lines = (cwd / names.DEFAULT_FILE).read_text().splitlines()
    return [
        Seen(
            name=span["name"],
            trace_id=span["traceId"],
            span_id=span["spanId"],
            parent_id=span.get("parentSpanId", ""),
            start_ns=int(span["startTimeUnixNano"]),
            end_ns=int(span["endTimeUnixNano"]),
            attributes={a["key"]: next(iter(a["value"].values())) for a in span["attributes"]},
        )
        for line in lines
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def assert_in_job(spans: list[Any], calls: int) -> None:
    """All in one trace: the calls children of the job and within it, after their wait."""
    assert Counter(span.name for span in spans)["place"] == calls
    (job,) = [span for span in spans if span.name == "boxes"]
    assert {span.trace_id for span in spans} == {job.trace_id}
    placed = [span for span in spans if span.name == "place"]
    assert {span.parent_id for span in placed} == {job.span_id}
    assert {span.attributes[names.JOB_NAME] for span in placed} == {"boxes"}
    for span in placed:
        assert job.start_ns <= span.start_ns <= span.end_ns <= job.end_ns
    builds = [span.parent_id for span in spans if span.name == "prompt_build"]
    assert sorted(builds) == sorted(span.span_id for span in placed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_workers_of_every_kind_of_pool_append_to_one_file(tmp_path, kind):
    """Decorated functions, undecorated ones, streams and partials; `configure` is repeated."""
    spans = in_file("map_all", kind, tmp_path)
    assert_in_job(spans, 12)
    (job,) = [span for span in spans if span.name == "boxes"]
    waits = [span for span in spans if span.name == "queue_wait"]
    assert {wait.parent_id for wait in waits} == {job.span_id}
    assert len(waits) == 12
    queued = [s.attributes[names.QUEUED_DURATION] for s in spans if s.name == "place"]
    drawn = [round((wait.end_ns - wait.start_ns) / 1e9, 5) for wait in waits]
    assert sorted(drawn) == pytest.approx(sorted(queued), abs=1e-4)
    assert int(job.attributes[names.JOB_CHUNKS]) == 12
    assert int(job.attributes[names.JOB_WORKERS]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_workers_send_to_the_receiver_of_their_parent(tmp_path, kind):
    with OtlpReceiver() as receiver:
        run("map_all", kind, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url)
        spans = receiver.spans
    assert_in_job(spans, 12)
    assert {span.resource["service.name"] for span in spans} == {"boxes"}
    assert not (tmp_path / names.DEFAULT_FILE).exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_calls_of_workers_of_a_job_inside_a_call_are_nested(tmp_path, kind):
    """Else totals would count their time twice."""
    spans = in_file("inside_a_call", kind, tmp_path)
    assert_in_job([span for span in spans if span.name != "outer"], 3)
    assert all(span.attributes[names.CALL_NESTED] for span in spans if span.name == "place")


@pytest.mark.slow
def test_an_exception_of_a_worker_arrives_and_its_call_is_told(tmp_path):
    spans = in_file("exceptions", "fork", tmp_path)
    assert_in_job(spans, 3)
    errors = [span.attributes[names.ERROR_TYPE] for span in spans if span.name == "place"]
    assert errors == ["LookupError"] * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "kind"),
    [
        ("shut_down_at_once", "fork"),
        ("shut_down_at_once", "spawn"),
        ("shut_down_at_once", "loky"),
        ("one_task_per_worker", "forkserver"),
    ],
)
def test_workers_that_live_shortly_lose_nothing(tmp_path, scenario, kind):
    """RC-082: ten of ten."""
    assert_in_job(in_file(scenario, kind, tmp_path), 10)


@pytest.mark.slow
def test_workers_of_a_multiprocessing_pool_lose_nothing(tmp_path):
    """RC-082: ten of ten, though the pool ends its workers by SIGTERM.

    It starts them in a thread without context, so their calls are roots.
    """
    spans = in_file("multiprocessing_pool", "fork", tmp_path)
    assert Counter(span.name for span in spans) == {"place": 10, "prompt_build": 10}


@pytest.mark.slow
def test_a_collector_that_does_not_answer_holds_up_no_worker(tmp_path):
    """Waiting for it after each of forty pieces would take longer than the program may."""
    with silent_port() as port:
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        run("many", "fork", tmp_path, **endpoint)


@pytest.mark.slow
def test_arguments_that_cannot_be_pickled_fail_as_without_a_job(tmp_path):
    assert_in_job(in_file("cannot_be_pickled", "fork", tmp_path), 3)


@pytest.mark.slow
def test_a_pool_works_with_everything_switched_off(tmp_path):
    assert run("map_all", "spawn", tmp_path, LLMPHASES_DISABLED="1") == ""
    assert list(tmp_path.iterdir()) == []


# --- what travels -------------------------------------------------------------------------------


@traced_llm_call
def place(segment):
    return segment * 10


def through_a_pickle(job, function, *args):
    piece = pickle.loads(pickle.dumps(job._piece(function)))
    return piece(*args)


def test_a_pickled_piece_goes_on_in_the_job(exported):
    with llm_job("boxes", workers=2) as job:
        assert through_a_pickle(job, place, 1) == 10
    span, job_span = exported.one("place"), exported.one("boxes")
    assert span.parent.span_id == job_span.context.span_id
    assert span.parent.is_remote
    assert exported.calls[0].job == "boxes"
    assert exported.calls[0].queued_ns > 0


def test_the_wait_of_another_process_is_a_sample_with_the_jobs_name(timed, clock):
    with llm_job("boxes", workers=2) as job:
        work = pickle.dumps(job._piece(place))
        clock.tick(2)
        pickle.loads(work)(1)
    points = timed.points()[names.PHASE_DURATION.name]
    (point,) = [p for p in points if p.attributes[names.PHASE] == "queue_wait"]
    assert (point.sum, point.attributes[names.JOB_NAME]) == (2.0, "boxes")
    assert timed.calls[0].queued_ns == 2 * 10**9


def test_another_machine_has_another_clock_so_the_wait_is_unknown(timed, clock, monkeypatch):
    with llm_job("boxes", workers=2) as job:
        work = pickle.dumps(job._piece(place))
        monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
        clock.tick(2)
        pickle.loads(work)(1)
    assert timed.calls[0].queued_ns is None
    assert timed.named("queue_wait") == []
    assert timed.one("place").parent.span_id == timed.one("boxes").context.span_id


def test_a_wall_clock_that_is_set_meanwhile_moves_no_span_out_of_the_job(timed, clock):
    with llm_job("boxes", workers=2) as job:
        work = pickle.dumps(job._piece(place))
        clock.tick(1)
        clock.step_wall(-3600)
        pickle.loads(work)(1)
        clock.tick(1)
    assert timed.calls[0].queued_ns == 10**9
    assert timed.one("boxes").start_time < timed.one("place").start_time


def test_the_context_of_a_worker_is_left_as_it_was(exported):
    before = current.wired().carrier.variable.get()
    with llm_job("boxes", workers=2) as job:
        piece = pickle.loads(pickle.dumps(job._piece(place)))
    piece(1)
    assert current.wired().carrier.variable.get() == before


def test_a_function_that_lost_its_decoration_gets_it_back(exported):
    """Some pools pickle a function of the main program by its code, and see the inner one."""
    with llm_job("boxes", workers=2) as job:
        rebuild, (run_parcel, parcel, function) = job._piece(place).__reduce__()
        assert rebuild(run_parcel, parcel, function.__wrapped__)(1) == 10
        assert rebuild(run_parcel, parcel, function)(1) == 10
    assert [call.name for call in exported.calls] == ["place", "place"]


def test_settings_that_cannot_travel_stay_here(exported, monkeypatch):
    """A provider of the program's own is of this process, and so is all that goes with it."""
    monkeypatch.setattr(current._slot, "settings", {"file": "x", "tracer_provider": object()})
    with llm_job("boxes", workers=2) as job:
        _, (_, parcel, _) = job._piece(place).__reduce__()
    assert parcel.settings is None


def test_plain_settings_travel(exported, monkeypatch):
    given = {"file": Path("x"), "endpoint": "http://a", "metrics": None, "exit_deadline_s": 1.5}
    monkeypatch.setattr(current._slot, "settings", given)
    with llm_job("boxes", workers=2) as job:
        _, (_, parcel, _) = pickle.loads(pickle.dumps(job._piece(place).__reduce__()))
    assert parcel.settings == given


def test_keys_for_a_receiver_do_not_travel(exported, monkeypatch):
    given = {"endpoint": "http://a", "headers": {"authorization": "secret of ours"}}
    monkeypatch.setattr(current._slot, "settings", given)
    with llm_job("boxes", workers=2) as job:
        reduced = job._piece(place).__reduce__()
    assert reduced[1][1].settings == {"endpoint": "http://a"}
    assert b"secret of ours" not in pickle.dumps(reduced)


def test_settings_that_a_worker_cannot_follow_lose_no_call(exported, monkeypatch, caplog):
    def adopt(given):
        raise ValueError("no")

    monkeypatch.setattr(current._slot, "settings", {"file": "x"})
    with llm_job("boxes", workers=2) as job:
        work = pickle.dumps(job._piece(place))
        monkeypatch.setattr(current._slot, "settings", None)
        monkeypatch.setattr(current._slot, "adopt", adopt)
        assert pickle.loads(work)(1) == 10
    assert exported.one("place").parent.span_id == exported.one("boxes").context.span_id
    assert len(caplog.records) == 1


def test_where_nothing_can_be_packed_the_work_still_travels(exported, monkeypatch, caplog):
    def inject(context):
        raise ValueError("no")

    monkeypatch.setattr(current.wired().carrier, "inject", inject)
    with llm_job("boxes", workers=2) as job:
        assert through_a_pickle(job, place, 1) == 10
    assert len(caplog.records) == 1


def test_a_worker_tells_nobody_of_a_job(exported):
    """The job is its parent's to tell."""
    with llm_job("boxes", workers=2) as job:
        through_a_pickle(job, place, 1)
        assert exported.heard.jobs == []
    assert [type(one) for one in exported.heard.jobs] == [OpenJob]


def test_a_call_after_the_work_is_in_no_job(exported):
    with llm_job("boxes", workers=2) as job:
        piece = pickle.loads(pickle.dumps(job._piece(place)))
    piece(1)
    with llm_call("later"):
        pass
    assert [call.job for call in exported.calls] == ["boxes", None]
