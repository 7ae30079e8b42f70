"""No event is said out of its turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmphases.adapters.commands.turns import Turns
from llmphases.recorder.child_events import Answered, Ready, RequestSeen, Token, ToolResult
from llmphases.recorder.streams import ANSWER


def test_a_program_is_ready_once():
    turns = Turns()
    assert turns.ready("init_event") == [Ready("init_event")]
    assert turns.ready("init_event") == [RequestSeen()]


def test_a_request_is_answered_once():
    turns = Turns()
    turns.ready("init_event")
    assert turns.answered() == [Answered()]
    assert turns.answered() == []


def test_nothing_was_asked_so_nothing_is_answered():
    assert Turns().answered() == []


def test_a_token_opens_a_request_and_no_token_does_not():
    turns = Turns()
    assert turns.token(0) == []
    assert turns.answered() == []
    assert turns.token(ANSWER) == [Token(ANSWER)]
    assert turns.answered() == [Answered()]


def test_a_request_that_failed_is_not_answered():
    turns = Turns()
    turns.seen()
    assert turns.failed() == []
    assert turns.answered() == []


def test_a_new_request_shows_that_the_tools_are_done():
    turns = Turns()
    turns.seen()
    turns.tool_started("a")
    assert turns.has_tools
    turns.seen()
    assert not turns.has_tools


def test_results_of_tools_that_nobody_saw_start_do_not_end_others():
    turns = Turns()
    turns.seen()
    turns.tool_started("a")
    assert turns.answered() == [Answered()]
    assert turns.tool_ended("b") == []
    assert turns.tool_ended("a") == [ToolResult()]


def test_tools_that_never_end_take_no_memory():
    turns = Turns()
    for name in range(10_000):
        turns.tool_started(name)
    assert len(turns._tools) < 1000


STEPS = st.sampled_from(
    [
        lambda turns: turns.ready("init_event"),
        Turns.seen,
        lambda turns: turns.token(ANSWER),
        Turns.answered,
        Turns.failed,
        lambda turns: turns.tool_started("a") or [],
        lambda turns: turns.tool_started("b") or [],
        lambda turns: turns.tool_ended("a"),
        lambda turns: turns.tool_ended("b", still_answering=True),
    ]
)


@given(st.lists(STEPS))
def test_every_answer_and_every_result_of_a_tool_has_its_turn(steps):
    """An answer follows what opens a request; a tool's result never follows an open one."""
    turns, is_open, readies = Turns(), False, 0
    for step in steps:
        for event in step(turns):
            if isinstance(event, (Ready, RequestSeen, Token)):
                is_open = True
            elif isinstance(event, Answered):
                assert is_open
                is_open = False
            else:
                assert isinstance(event, ToolResult)
                assert not is_open
                is_open = True
            readies += isinstance(event, Ready)
        if step is Turns.failed:
            is_open = False
    assert readies <= 1
