"""What users' own tests are made of."""

from __future__ import annotations

from llmphases import Phase, llm_call, prompt_build, traced_stream
from llmphases.capture import current
from llmphases.testing import FakeClock, fake_llm, recorded, recorded_calls


def test_calls_are_recorded_on_a_clock_that_stands_still() -> None:
    clock = FakeClock()
    with recorded_calls(clock) as calls, llm_call("boxes"), prompt_build():
        clock.tick(2.5)
    assert calls[0].exclusive_ns == {Phase.PROMPT_BUILD: 2_500_000_000}


def test_the_wiring_of_before_is_in_force_again_afterwards() -> None:
    before = current.wired()
    with recorded():
        assert current.wired() is not before
    assert current.wired() is before


def test_the_observer_keeps_phases_and_open_calls() -> None:
    with recorded(FakeClock()) as kept, llm_call("boxes"), prompt_build():
        pass
    assert [phase.name for phase in kept.phases] == ["prompt_build"]
    assert [call.name for call in kept.open_calls] == ["boxes"]


def test_a_wall_clock_that_is_set_does_not_move_monotonic_time() -> None:
    clock = FakeClock()
    now, wall = clock.now(), clock.wall()
    clock.step_wall(3600)
    assert clock.now() == now
    assert clock.wall() == wall + 3600 * 10**9


def test_the_stand_in_model_streams_what_is_understood() -> None:
    with recorded_calls() as calls:
        model = fake_llm(time_to_first_token_s=0.02, per_token_s=0.001, tokens=3)
        for _ in traced_stream(model.stream("one two"), name="asked"):
            pass
    (call,) = calls
    assert call.usage is not None
    assert (call.usage.input_tokens, call.usage.output_tokens) == (2, 3)
    assert call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] >= 20_000_000
    assert call.response_model == "fake"


def test_the_stand_in_model_also_answers_at_once() -> None:
    assert (
        fake_llm(time_to_first_token_s=0, per_token_s=0, tokens=2).complete("x") == "word0 word1 "
    )
