"""The work of the demonstration, and the ways to cut it into calls."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.cli import demo_story
from llmphases.cli.demo_story import (
    MANY_CALLS,
    ONE_CALL,
    ONE_WAVE,
    UNITS,
    WAYS,
    Answer,
    InterruptedToolError,
    ToolError,
    play,
)
from llmphases.testing import recorded


def test_one_call_takes_as_long_as_it_took_in_the_real_case():
    assert ONE_CALL.expected_s == pytest.approx(ONE_CALL.real_s, abs=0.5)


def test_each_wave_pays_the_fixed_cost_again():
    assert [way.waves for way in WAYS] == [1, 3, 1]
    assert MANY_CALLS.expected_s - ONE_WAVE.expected_s == pytest.approx(2 * demo_story.FIXED_S)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_every_way_does_the_whole_work_in_equal_chunks(way):
    prompts = way.prompts()
    assert len(prompts) == way.chunks
    assert len({len(prompt) for prompt in prompts}) == 1
    asked = [line for prompt in prompts for line in prompt]
    assert asked == [f"segment {number}" for number in range(1, UNITS + 1)]


def test_the_default_takes_well_under_forty_seconds():
    assert sum(way.expected_s for way in WAYS) / 30 < 30


async def played(monkeypatch, *words):
    """The error that comes of playing with this command."""
    monkeypatch.setattr(demo_story, "command", lambda scale: list(words))
    with recorded(), pytest.raises(ToolError) as raised:
        await play(MANY_CALLS, 30.0, lambda: None)
    return raised.value


async def test_a_tool_that_is_interrupted_is_told_from_one_that_fails(monkeypatch):
    error = await played(monkeypatch, "sh", "-c", "kill -INT $$")
    assert type(error) is InterruptedToolError


async def test_a_tool_that_fails_is_quoted(monkeypatch):
    error = await played(monkeypatch, "sh", "-c", "echo one >&2; echo two >&2; exit 3")
    assert type(error) is ToolError
    assert str(error) == "the stand-in tool has failed (exit code 3): two"


async def test_a_tool_that_cannot_be_started_is_an_error_of_its_own(monkeypatch):
    error = await played(monkeypatch, "/no/such/tool")
    assert str(error).startswith("cannot start the stand-in tool: ")


def events(*texts):
    """What the tool prints for these pieces of text."""
    lines = [{"type": "system", "subtype": "init", "model": "stand-in"}]
    lines += [{"type": "stream_event", "event": {"delta": {"text": text}}} for text in texts]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@given(st.lists(st.sampled_from(["a ", "b\n", ""]), max_size=8), st.lists(st.integers(0, 600)))
def test_an_answer_is_read_wherever_the_output_breaks_off(texts, cuts):
    output = events(*texts)
    edges = [0, *sorted(min(cut, len(output)) for cut in cuts), len(output)]
    answer = Answer()
    lines = sum(answer.add(output[a:b]) for a, b in pairwise(edges))
    assert answer.text == "".join(texts)
    assert lines == answer.text.count("\n")
