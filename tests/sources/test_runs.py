from __future__ import annotations

import io

from llmphases.phases import Phase
from llmphases.sources.contract import Reading
from llmphases.sources.otlp_file import OtlpFiles
from sources.trace_lines import WrittenCall, box_call, line_of


def read(*lines: str) -> Reading:
    return OtlpFiles([io.BytesIO("".join(lines).encode())]).read()


def runs_of(reading: Reading) -> list[int | None]:
    return [reading.run_of(call) for call in reading.calls]


def test_runs_are_numbered_in_order_of_their_beginnings_not_of_their_lines():
    late, early = box_call(at_s=100.0), box_call()
    reading = read(line_of(*late.spans(), process="b"), line_of(*early.spans(), process="a"))
    assert runs_of(reading) == [0, 1]


def test_a_process_has_one_run_however_many_traces():
    lines = [line_of(*box_call(at_s=float(n)).spans(), process="a") for n in range(3)]
    assert runs_of(read(*lines)) == [0, 0, 0]


def test_workers_that_record_into_the_traces_of_one_job_are_one_run():
    """A pool of two processes; one of them knows the other by the job's trace only."""
    job, *phases = box_call().spans()
    one = WrittenCall("one", [(Phase.GENERATION, 1.0)], parent=job)
    other = WrittenCall("other", [(Phase.GENERATION, 1.0)], parent=job)
    lines = [
        line_of(*one.spans(), process="b"),
        line_of(*other.spans(), process="c"),
        line_of(job, *phases, process="a"),
        line_of(*box_call(at_s=500.0).spans(), process="d"),
        line_of(*box_call(at_s=600.0).spans(), process="c"),
    ]
    assert runs_of(read(*lines)) == [0, 0, 0, 1, 0]


def test_processes_that_tell_of_one_run_are_one_whatever_their_traces():
    told = [("a", "one"), ("b", "one"), ("c", "two"), ("d", "")]
    lines = [
        line_of(*box_call(at_s=float(n)).spans(), process=process, run=run)
        for n, (process, run) in enumerate(told)
    ]
    assert runs_of(read(*lines)) == [0, 0, 1, 2]


def test_runs_that_record_into_one_trace_are_one():
    """A program and another one that it has started, inside of a call."""
    outer, *phases = box_call().spans()
    inner = WrittenCall("inner", [(Phase.GENERATION, 1.0)], parent=outer)
    lines = [
        line_of(*inner.spans(), process="b", run="two"),
        line_of(outer, *phases, process="a", run="one"),
    ]
    assert runs_of(read(*lines)) == [0, 0]


def test_without_an_id_of_the_process_no_run_is_known():
    assert runs_of(read(line_of(*box_call().spans()))) == [None]


def test_a_resource_that_is_none_is_a_damaged_line():
    assert read('{"resourceSpans": [{"resource": 5}]}').skipped.damaged_lines == 1
