"""`traced_stream` and `traced_llm_call` as people import them."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap

import pytest

from capture.fake_streams import PING, ROLE, FakeStream, token
from llmphases import (
    ArgumentError,
    Ended,
    Phase,
    llm_call,
    retrieval,
    traced_llm_call,
    traced_stream,
)

S = 1_000_000_000


def chunks(clock, *moments):
    """Chunks at given moments."""

    def source():
        now = 0.0
        for at, chunk in moments:
            clock.tick(at - now)
            now = at
            yield chunk

    return source()


def test_a_stream_read_inside_a_call_is_one_request_of_it(timed_calls, clock):
    @traced_llm_call
    def ask():
        with retrieval():
            clock.tick(1)
        words = []
        for chunk in traced_stream(
            chunks(clock, (0.4, ROLE), (0.8, token("a")), (2.8, token("b")))
        ):
            words.append(chunk["choices"][0]["delta"]["content"])
            clock.tick(0.1)
        return words

    assert ask() == ["", "a", "b"]
    (call,) = timed_calls
    assert call.requests == 1
    assert call.exclusive_ns[Phase.RETRIEVAL] == S
    assert call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] == 800_000_000
    assert call.exclusive_ns[Phase.GENERATION] == 2 * S
    assert call.exclusive_ns[Phase.TRANSMISSION] == 300_000_000


def test_a_stream_outside_any_call_is_a_call(timed_calls, clock):
    stream = traced_stream(chunks(clock, (1, "a"), (3, "b")), name="mine", model="m", provider="p")
    assert list(stream) == ["a", "b"]
    (call,) = timed_calls
    assert (call.name, call.request_model, call.provider) == ("mine", "m", "p")
    assert call.exclusive_ns == {Phase.TIME_TO_FIRST_TOKEN: S, Phase.GENERATION: 2 * S}


def test_a_stream_inside_a_block_belongs_to_the_block(calls):
    raw = FakeStream()
    with llm_call("call"), retrieval():
        assert traced_stream(raw) is raw


def test_a_stream_read_after_its_call_is_read_untraced(calls):
    with llm_call("call"):
        stream = traced_stream(n for n in range(3))
    got = [next(stream)]
    got.extend(stream)
    assert got == [0, 1, 2]
    assert len(calls) == 1


def test_a_stream_keeps_its_identity(calls):
    stream = traced_stream(FakeStream())
    assert isinstance(stream, FakeStream)
    with stream:
        next(stream)
    assert [call.ended for call in calls] == [Ended.CLOSED]


@pytest.mark.parametrize("wrong", [5, None, object(), lambda: None])
def test_what_is_no_stream_is_refused(wrong):
    with pytest.raises(ArgumentError, match="expected an iterator, async iterator or stream"):
        traced_stream(wrong)


def test_switched_off_the_stream_itself_comes_back(monkeypatch):
    raw = FakeStream()
    monkeypatch.setenv("LLMPHASES_DISABLED", "1")
    assert traced_stream(raw) is raw


def test_a_token_rule_of_the_programs_own_decides(timed_calls, clock):
    """RC-020"""
    items = [(1, 1), (2, None), (3, 3)]
    stream = traced_stream(chunks(clock, *items), is_token=lambda item: item is None)
    assert list(stream) == [1, None, 3]
    assert timed_calls[0].first_token_ns == 2 * S
    assert timed_calls[0].first_chunk_ns == S


@pytest.mark.parametrize("error", [ValueError, AttributeError, StopIteration, RecursionError])
def test_a_token_rule_that_raises_is_said_once_and_asked_no_more(timed_calls, clock, caplog, error):
    asked = []

    def rule(item):
        asked.append(item)
        raise error("PII-MARKER")

    @traced_llm_call(is_token=rule)
    def ask():
        yield from "abc"

    assert list(ask()) == list("abc")
    assert list(ask()) == list("abc")
    assert asked == ["a"]
    assert len(caplog.records) == 1
    assert [call.first_token_ns for call in timed_calls] == [None, None]


def test_role_empty_and_ping_chunks_are_no_tokens(timed, clock):
    """RC-020"""

    @traced_llm_call
    def ask():
        return chunks(clock, (0.1, ROLE), (0.2, {"choices": [{"delta": {"content": ""}}]}),
                      (0.3, PING), (1.0, token("Hi")))  # fmt: skip

    list(ask())
    (call,) = timed.calls
    assert (call.first_chunk_ns, call.first_token_ns) == (100_000_000, S)
    attributes = timed.one("ask").attributes
    assert attributes["gen_ai.response.time_to_first_chunk"] == pytest.approx(0.1)
    assert attributes["llmphases.call.time_to_first_token"] == pytest.approx(1.0)


def test_without_a_known_token_there_is_no_first_token(timed, clock):
    """RC-022"""

    @traced_llm_call
    def whole():
        clock.tick(2)
        return "answer"

    @traced_llm_call
    def unknown():
        for _ in range(3):
            clock.tick(1)
            yield object()

    whole()
    list(unknown())
    for name in ("whole", "unknown"):
        attributes = timed.one(name).attributes
        assert "llmphases.call.time_to_first_token" not in attributes
        assert "llmphases.fixed.share" not in attributes
        assert attributes["llmphases.unsplit.duration"] > 1.9
    points = timed.points()
    assert "llmphases.call.time_to_first_token" not in points
    assert sum(point.count for point in points["llmphases.call.duration"]) == 2


def test_a_stage_that_holds_chunks_back_has_a_first_token_of_its_own(timed_calls, clock):
    """RC-023"""

    @traced_llm_call
    def model():
        for n in range(4):
            clock.tick(1)
            yield f"word{n}"

    @traced_llm_call
    def stage():
        held = []
        for word in model():
            held.append(word)
            clock.tick(0.5)
            if len(held) == 3:
                yield from held
        yield word

    assert len(list(stage())) == 4
    inner, outer = timed_calls
    assert (inner.name, inner.first_token_ns) == ("model", S)
    assert (outer.name, outer.first_token_ns) == ("stage", 4_500_000_000)
    assert (inner.requests, outer.requests) == (1, 0)
    assert inner.exclusive_ns[Phase.TRANSMISSION] == 2 * S
    assert outer.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] == S
    assert outer.exclusive_ns[Phase.GENERATION] == inner.exclusive_ns[Phase.GENERATION]


def test_a_first_chunk_of_many_tokens_does_not_make_the_model_fast(timed_calls, clock):
    """RC-025"""

    def ask(*last):
        yield token("twenty words")
        for _ in range(3):
            clock.tick(0.1)
            yield token("word")
        yield from last

    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 23}}
    list(traced_llm_call(ask)(usage))
    list(traced_llm_call(ask)())
    with_usage, without = timed_calls
    assert with_usage.tokens_per_second == pytest.approx(22 / 0.3)
    assert without.tokens_per_second is None


@pytest.mark.parametrize("tokens", [30, 200, 400])
def test_the_rate_does_not_depend_on_the_length_of_the_answer(timed_calls, clock, tokens):
    """RC-026"""

    @traced_llm_call
    def ask():
        clock.tick(2)
        for n in range(tokens):
            if n:
                clock.tick(0.01)
            yield token()
        yield {"choices": [], "usage": {"completion_tokens": tokens}}

    list(ask())
    (call,) = timed_calls
    assert call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] == 2 * S
    assert call.tokens_per_second == pytest.approx(100)


def test_chunks_without_choices_are_harmless(timed_calls, clock):
    """RC-028"""
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    stream = chunks(clock, (1, {"choices": []}), (2, {"choices": [{"delta": None}]}),
                    (3, token()), (4, usage))  # fmt: skip
    list(traced_stream(stream))
    (call,) = timed_calls
    assert call.first_token_ns == 3 * S
    assert (call.usage.input_tokens, call.usage.output_tokens) == (3, 1)


def test_the_wall_clock_may_be_set_during_a_call(timed, clock):
    """RC-076, RC-077: durations are the monotonic clock's; spans stay inside one another."""
    for jump in (-10, 3600):
        with llm_call("call"):
            for _ in range(3):
                with retrieval():
                    clock.tick(1)
                    clock.step_wall(jump)
                clock.tick_ns(-5)
    assert [call.duration_ns for call in timed.calls] == [3 * S, 3 * S] or all(
        0 <= 3 * S - call.duration_ns <= 15 for call in timed.calls
    )
    for call in timed.calls:
        assert sum(call.exclusive_ns.values()) + call.unattributed_ns == call.duration_ns
    calls = {span.context.span_id: span for span in timed.named("call")}
    for span in timed.named("retrieval"):
        parent = calls[span.parent.span_id]
        assert parent.start_time <= span.start_time <= span.end_time <= parent.end_time


def test_ten_short_phases_stay_in_order(timed, clock):
    """RC-079"""
    with llm_call("call"):
        for _ in range(10):
            with retrieval():
                clock.tick_ns(200_000)
    spans = timed.named("retrieval")
    assert len(spans) == 10
    for one, next_one in itertools.pairwise(spans):
        assert one.start_time < one.end_time < next_one.start_time


def test_the_package_alone_loads_neither_wrapt_nor_the_sdk():
    program = """
        import sys
        from llmphases import traced_llm_call, retrieval, llm_call
        heavy = {"wrapt", "psutil", "opentelemetry.sdk", "openai", "asyncio"} & set(sys.modules)
        assert not heavy, heavy
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
