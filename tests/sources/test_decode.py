from __future__ import annotations

import pytest

from llmphases import conventions as names
from llmphases.phases import Cost, Origin, Phase
from llmphases.sources.decode import decode
from llmphases.sources.otlp_json import span_record
from sources.trace_lines import NOON, SECOND, WrittenCall, box_call, raw_span


def decoded(*raw, parents=None):
    records = [span_record(one, "llmphases") for one in raw]
    return decode({record.key: record for record in records}, parents or {})


def piece(phase, start, end, parent, **more):
    about = {names.PHASE: phase.value, names.COST: phase.cost.value, **more}
    return raw_span(phase.value, start, end, about, parent=parent)


def test_the_story_of_68_seconds_and_1_9_seconds_is_read_back():
    (call,) = decoded(*box_call().spans()).calls
    assert call.duration_ns == 70_025_000_000
    assert call.cost_ns(Cost.FIXED) == 68 * SECOND
    assert call.cost_ns(Cost.GENERATION) == 1_900_000_000
    assert call.cost_ns(Cost.DELIVERY) == 125_000_000
    assert call.unattributed_cost is Cost.FIXED
    assert [s.phase for s in call.stretches] == [
        Phase.PROMPT_BUILD, Phase.PROCESS_STARTUP, Phase.TIME_TO_FIRST_TOKEN,
        Phase.GENERATION, Phase.POST_PROCESSING, Phase.PROCESS_SHUTDOWN,
    ]  # fmt: skip
    assert call.stretches[1].start_ns == 250_000_000
    assert call.start_unix_ns == NOON


def test_calls_come_in_the_order_of_their_start():
    late, early = box_call(at_s=100.0), box_call(at_s=5.0)
    starts = [call.start_unix_ns for call in decoded(*late.spans(), *early.spans()).calls]
    assert starts == [NOON + 5 * SECOND, NOON + 100 * SECOND]


def test_a_phase_below_a_span_of_the_program_belongs_to_the_call_above_it():
    call = WrittenCall("ask", [], unattributed_s=3.0).spans()[0]
    between = raw_span("my own step", 0, 2, {}, parent=call)
    phase = piece(Phase.RETRIEVAL, 0, 1, between)
    parents = {
        (between["traceId"], between["spanId"]): (call["traceId"], call["spanId"]),
    }
    (found,) = decoded(call, phase, parents=parents).calls
    assert [s.phase for s in found.stretches] == [Phase.RETRIEVAL]


def test_the_phases_of_an_inner_call_are_not_the_outer_one_s():
    outer = WrittenCall("outer", [(Phase.TIME_TO_FIRST_TOKEN, 1.0), (Phase.GENERATION, 2.0)])
    outer_span = outer.spans()[0]
    inner = WrittenCall("inner", outer.phases, at_s=0.0, parent=outer_span)
    calls = {call.name: call for call in decoded(outer_span, *inner.spans()).calls}
    assert calls["outer"].stretches == ()
    assert len(calls["inner"].stretches) == 2
    assert calls["outer"].exclusive_ns == calls["inner"].exclusive_ns


def test_a_wait_for_a_worker_under_a_job_is_no_phase_of_the_call_around_the_job():
    call = WrittenCall("outer", [], unattributed_s=3.0).spans()[0]
    job = raw_span("boxes", 0, 3, {names.JOB_NAME: "boxes", names.JOB_WORKERS: 4}, parent=call)
    wait = piece(Phase.QUEUE_WAIT, 0, 1, job)
    block = piece(Phase.PROMPT_BUILD, 1, 2, job)
    (found,) = decoded(call, job, wait, block).calls
    assert [s.phase for s in found.stretches] == [Phase.PROMPT_BUILD]


def test_a_wait_that_names_its_job_is_still_a_wait():
    job = raw_span("boxes", 0, 3, {names.JOB_NAME: "boxes"})
    wait = piece(Phase.QUEUE_WAIT, 0, 1, job, **{names.JOB_NAME: "boxes"})
    assert decoded(job, wait).calls == []


def test_a_block_outside_any_call_is_no_fault():
    alone = raw_span("retrieval", 0, 1, {names.PHASE: "retrieval", names.COST: "fixed"})
    found = decoded(alone)
    assert (found.calls, found.damaged_spans) == ([], 0)


def test_a_phase_whose_call_was_lost_is_no_fault():
    phases = box_call().spans()[1:]
    assert decoded(*phases).calls == []


def test_spans_that_are_each_other_s_parents_end_somewhere():
    one = piece(Phase.RETRIEVAL, 0, 1, None)
    two = piece(Phase.RETRIEVAL, 0, 1, one)
    one["traceId"], one["parentSpanId"] = two["traceId"], two["spanId"]
    assert decoded(one, two).calls == []


def test_details_and_stalls_are_kept_apart_from_phases():
    call = WrittenCall("ask", [(Phase.GENERATION, 2.0)]).spans()
    detail = piece(Phase.TIME_TO_FIRST_TOKEN, 0, 1, call[1], **{names.DETAIL: True})
    detail["name"] = "connect"
    stall = piece(Phase.TRANSMISSION, 1, 1.5, call[1], **{names.STALL: True})
    (found,) = decoded(*call, detail, stall).calls
    assert [d.name for d in found.details] == ["connect"]
    assert found.details[0].cost is Cost.FIXED
    assert [s.phase for s in found.stalls] == [Phase.TRANSMISSION]
    assert [s.phase for s in found.stretches] == [Phase.GENERATION]


def test_a_stretch_knows_its_request_and_who_said_it():
    call = WrittenCall("ask", [], unattributed_s=3.0).spans()[0]
    about = {names.REQUEST_INDEX: 1, names.ORIGIN: "reported"}
    (found,) = decoded(call, piece(Phase.GENERATION, 0, 1, call, **about)).calls
    assert (found.stretches[0].request, found.stretches[0].origin) == (1, Origin.REPORTED)


def test_of_two_phases_at_the_same_place_the_outer_one_comes_first():
    call = WrittenCall("ask", [], unattributed_s=3.0).spans()[0]
    outer = piece(Phase.RETRIEVAL, 0, 1, call)
    inner = piece(Phase.PROMPT_BUILD, 0, 1, outer)
    for order in ([outer, inner], [inner, outer]):
        (found,) = decoded(call, *order).calls
        assert [s.phase for s in found.stretches] == [Phase.RETRIEVAL, Phase.PROMPT_BUILD]


@pytest.mark.parametrize("missing", [names.cost_duration(Cost.TOOL), names.UNATTRIBUTED_DURATION])
def test_a_call_without_its_numbers_is_counted_and_left_out(missing):
    call = box_call().spans()[0]
    call["attributes"] = [pair for pair in call["attributes"] if pair["key"] != missing]
    found = decoded(call, *box_call().spans())
    assert (len(found.calls), found.incomplete_calls) == (1, 1)


def test_a_phase_of_an_unknown_kind_is_counted_and_its_call_is_kept():
    call = box_call().spans()
    call[2]["attributes"][0]["value"] = {"stringValue": "teleport"}
    found = decoded(*call)
    assert found.damaged_spans == 1
    assert len(found.calls[0].stretches) == 5
    assert found.calls[0].exclusive_ns[Phase.PROCESS_STARTUP] == 64_750_000_000
