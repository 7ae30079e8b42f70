from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.analysis.split import Processes, split
from llmphases.calls import Call, ProcessUse, Stretch, Usage
from llmphases.phases import Cost, Phase

SECOND = 1_000_000_000


def call(name="ask", /, *, unattributed=0.0, **more):
    """A call made of phases in seconds, by name; other fields as they are."""
    phases = {p: more.pop(p.value) for p in Phase if p.value in more}
    exclusive = {phase: round(s * SECOND) for phase, s in phases.items()}
    rest = round(unattributed * SECOND)
    more.setdefault("unattributed_cost", Cost.FIXED if rest else Cost.UNSPLIT)
    return Call(
        name=name,
        start_unix_ns=0,
        duration_ns=sum(exclusive.values()) + rest,
        exclusive_ns=exclusive,
        unattributed_ns=rest,
        **more,
    )


def streamed(fixed_s, tokens, *, per_token_s=0.01):
    """One request: its first token after `fixed_s`, the others one after the other."""
    begin = round(fixed_s * SECOND)
    end = begin + round((tokens - 1) * per_token_s * SECOND)
    return Call(
        name="ask",
        start_unix_ns=0,
        duration_ns=end,
        exclusive_ns={Phase.TIME_TO_FIRST_TOKEN: begin, Phase.GENERATION: end - begin},
        stretches=(
            Stretch(phase=Phase.TIME_TO_FIRST_TOKEN, start_ns=0, end_ns=begin, request=0),
            Stretch(phase=Phase.GENERATION, start_ns=begin, end_ns=end, request=0),
        ),
        usage=Usage(output_tokens=tokens),
        requests=1,
        first_token_ns=begin,
    )


def only(*calls):
    (group,) = split(calls).groups
    return group


def test_no_calls_have_no_groups_and_empty_totals():
    found = split([])
    assert (found.calls, found.groups) == (0, ())
    assert (found.totals.calls, found.totals.duration, found.totals.share) == (0, None, None)


def test_calls_are_grouped_by_name_the_longest_first():
    calls = [call("a", generation=1), call("b", generation=5), call("a", generation=2)]
    assert [(g.name, g.calls) for g in split(calls).groups] == [("b", 1), ("a", 2)]


def test_a_phase_is_summed_up_over_the_calls_in_which_it_occurs():
    group = only(call(generation=1), call(generation=3, retrieval=2), call(generation=5))
    assert group.phases[Phase.RETRIEVAL].count == 1
    assert group.phases[Phase.RETRIEVAL].p50_ns == 2 * SECOND
    assert group.phases[Phase.GENERATION].p50_ns == 3 * SECOND
    assert Phase.TOOL not in group.phases


def test_every_cost_is_summed_up_over_all_calls():
    group = only(call(generation=1), call(generation=3, retrieval=2))
    assert set(group.costs) == set(Cost)
    assert group.costs[Cost.FIXED].count == 2
    assert group.costs[Cost.FIXED].mean_ns == SECOND


def test_totals_are_taken_from_outermost_calls():
    outer = call("outer", time_to_first_token=1, generation=4, unattributed=1)
    inner = call("inner", time_to_first_token=1, generation=4, nested=True)
    found = split([outer, inner])
    assert (found.calls, found.totals.calls) == (2, 1)
    assert found.totals.duration.total_ns == 6 * SECOND
    assert found.totals.costs[Cost.GENERATION].total_ns == 4 * SECOND


def test_totals_of_requests_and_tokens_are_over_all_calls():
    """They stay with the inner call."""
    inner = call("inner", generation=1, nested=True, requests=3, retries=1,
                 usage=Usage(output_tokens=7))  # fmt: skip
    totals = split([call("outer", generation=1), inner]).totals
    assert (totals.requests, totals.retries, totals.usage) == (3, 1, Usage(output_tokens=7))


def test_a_group_says_how_many_of_its_calls_are_inside_others():
    assert only(call(generation=1), call(generation=1, nested=True)).nested == 1


def test_the_share_of_a_group_is_the_ratio_of_sums_not_the_mean_of_shares():
    share = only(
        call(time_to_first_token=9, generation=1), call(time_to_first_token=1, generation=89)
    ).share
    assert share.fixed == pytest.approx(0.1)
    assert share.calls == 2


def test_calls_that_cannot_be_told_apart_are_left_out_of_the_share():
    share = only(call(time_to_first_token=3, generation=1), call(inference=100)).share
    assert (share.fixed, share.calls) == (0.75, 1)


def test_without_any_call_that_can_be_told_apart_there_is_no_share():
    assert only(call(inference=2)).share is None
    assert only(call(tool=2)).share is None


def test_a_first_token_that_nobody_saw_is_no_sample_rc_022():
    """A call that was not streamed, and a stream whose chunks were not recognised."""
    group = only(
        call(inference=2),
        call(inference=2, stream=True, chunks=4),
        call(time_to_first_token=1, generation=1, first_token_ns=SECOND, stream=True),
    )
    assert (group.time_to_first_token.count, group.calls) == (1, 3)
    assert group.time_to_first_token.p95_ns == SECOND
    assert group.costs[Cost.UNSPLIT].total_ns == 4 * SECOND
    assert group.share.calls == 1


@pytest.mark.parametrize("tokens", [30, 200, 400])
def test_the_rate_of_generation_knows_nothing_of_fixed_cost_rc_026(tokens):
    """2.0 s fixed and 10 ms a token: 100 tokens a second however short the answer."""
    group = only(streamed(2.0, tokens))
    assert group.tokens_per_second == pytest.approx(100, rel=0.05)
    assert group.costs[Cost.FIXED].mean_ns == 2 * SECOND


def test_without_usage_there_is_no_rate_rc_025():
    group = only(call(generation=1, chunks=4))
    assert (group.tokens_per_second, group.calls_with_rate) == (None, 0)


def test_the_rate_of_a_group_is_the_median_of_its_calls():
    group = only(
        streamed(1.0, 11, per_token_s=0.1), streamed(1.0, 11), streamed(1.0, 11, per_token_s=0.02)
    )
    assert group.tokens_per_second == pytest.approx(50)
    assert group.calls_with_rate == 3


def test_the_wait_for_a_worker_is_told_apart_and_is_in_no_sum():
    group = only(call(generation=1, queued_ns=60 * SECOND), call(generation=1))
    assert (group.queued.count, group.queued.total_ns) == (1, 60 * SECOND)
    assert group.duration.total_ns == 2 * SECOND


def test_what_child_processes_used_is_told_of_those_of_which_it_is_known():
    uses = [
        ProcessUse(pid=1, cpu_ns=SECOND, wall_ns=10 * SECOND, memory_peak=100, survivors=2),
        ProcessUse(pid=2, cpu_ns=SECOND, wall_ns=30 * SECOND, memory_peak=200),
        ProcessUse(pid=3, cpu_ns=SECOND),
    ]
    group = only(*(call(inference=1, process=use) for use in [*uses, None]))
    assert group.processes == Processes(
        calls=3, memory_p50=150, memory_max=200, cpu_share=0.05, survivors=2
    )


def test_without_child_processes_nothing_is_told_of_them():
    assert only(call(generation=1)).processes is None
    nothing_known = only(call(generation=1, process=ProcessUse(pid=1))).processes
    assert nothing_known == Processes(
        calls=1, memory_p50=None, memory_max=None, cpu_share=None, survivors=0
    )


def test_errors_are_counted_by_their_type():
    group = only(
        call(generation=1, error_type="A"),
        call(generation=1, error_type="B"),
        call(generation=1, error_type="B"),
        call(generation=1),
    )
    assert group.errors == 3
    assert list(group.error_types.items()) == [("B", 2), ("A", 1)]


def test_what_no_phase_covers_is_shown_with_what_it_counts_as():
    group = only(
        call(generation=1, unattributed=2),
        call(unattributed=3, unattributed_cost=Cost.UNSPLIT),
        call(generation=1),
    )
    assert {cost: t.total_ns for cost, t in group.unattributed.items()} == {
        Cost.FIXED: 2 * SECOND, Cost.UNSPLIT: 3 * SECOND,
    }  # fmt: skip


@st.composite
def any_calls(draw):
    phases = st.dictionaries(st.sampled_from(Phase), st.integers(0, 10**14), max_size=5)
    exclusive, rest = draw(phases), draw(st.integers(0, 10**14))
    return Call(
        name=draw(st.sampled_from("abc")),
        start_unix_ns=0,
        duration_ns=sum(exclusive.values()) + rest,
        exclusive_ns=exclusive,
        unattributed_ns=rest,
        unattributed_cost=draw(st.sampled_from([Cost.FIXED, Cost.UNSPLIT])),
        nested=draw(st.booleans()),
    )


@given(st.lists(any_calls(), max_size=12))
def test_costs_and_parts_add_up_to_the_duration_of_every_group(calls):
    """To the nanosecond."""
    found = split(calls)
    for group in [*found.groups, *([found.totals] if found.totals.calls else [])]:
        total = group.duration.total_ns
        assert sum(times.total_ns for times in group.costs.values()) == total
        parts = [*group.phases.values(), *group.unattributed.values()]
        assert sum(times.total_ns for times in parts) == total
        for cost in Cost:
            inside = [t for p, t in group.phases.items() if p.cost is cost]
            inside += [t for c, t in group.unattributed.items() if c is cost]
            assert sum(t.total_ns for t in inside) == group.costs[cost].total_ns
