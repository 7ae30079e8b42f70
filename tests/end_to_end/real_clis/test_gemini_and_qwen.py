"""Gemini CLI and Qwen Code against stated delays."""

from __future__ import annotations

import json

import pytest

from end_to_end.real_clis.tools import NEAR_NS, PLAIN_WAYS, Tool, by_runner
from lab.tries import tries
from llmphases.phases import Cost, Phase

pytestmark = [pytest.mark.clis, pytest.mark.slow, pytest.mark.real]

STREAM = ["--output-format", "stream-json"]
SPLIT = ["process_startup", "time_to_first_token", "generation", "process_shutdown"]


@pytest.fixture
def gemini(installed, server, base_env, tmp_path):
    path = installed("gemini")
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps(chosen))
    return Tool(
        words=lambda model: [path, "-p", "say hello", "-m", model, *STREAM],
        env={
            **base_env,
            "GOOGLE_GEMINI_BASE_URL": server.url,
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        folder=tmp_path,
        server=server,
    )


@pytest.fixture
def qwen(installed, server, base_env, tmp_path):
    path = installed("qwen")
    return Tool(
        words=lambda _: [path, "-p", "say hello", *STREAM, "--include-partial-messages"],
        env=lambda model: {
            **base_env,
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": model,
        },
        folder=tmp_path,
        server=server,
    )


@pytest.mark.parametrize("way", PLAIN_WAYS)
def test_the_events_of_gemini_tell_the_split(gemini, way):
    for attempt in tries(5):
        seen = gemini.ask(way)
        assert (seen.code, seen.call.requests, seen.call.process.exit_code) == (0, 1, 0)
        assert (seen.call.first_token_rule, seen.phases) == ("init_event", SPLIT)
        assert seen.call.usage.input_tokens == 16
        assert seen.call.usage.output_tokens == 4
        with attempt:
            assert seen.start_is_early_by() > -NEAR_NS
            assert seen.tokens_are_off_by() < NEAR_NS


def test_the_tap_sees_the_requests_of_gemini(gemini):
    for attempt in tries(5):
        seen = gemini.ask(by_runner, tap=True)
        assert (seen.code, seen.call.requests) == (0, 1)
        assert (seen.call.first_token_rule, seen.phases) == ("tap", SPLIT)
        with attempt:
            assert abs(seen.start_is_early_by()) < NEAR_NS
            assert seen.tokens_are_off_by() < NEAR_NS


@pytest.mark.parametrize("way", PLAIN_WAYS)
def test_the_events_of_qwen_tell_the_split_of_the_first_request(qwen, way):
    """It asks twice; of the second request it says nothing, but that it has used tokens."""
    for attempt in tries(5):
        seen = qwen.ask(way)
        assert (seen.code, seen.call.requests, len(seen.asked)) == (0, 1, 2)
        assert (seen.call.first_token_rule, seen.phases) == ("init_event", SPLIT)
        assert (seen.call.usage.input_tokens, seen.call.usage.output_tokens) == (22, 8)
        with attempt:
            (generation,) = seen.of(Phase.GENERATION)
            assert abs(generation.start_ns - seen.asked[0].first_token_ns) < NEAR_NS
            assert abs(generation.end_ns - seen.asked[0].last_token_ns) < NEAR_NS


def test_the_tap_sees_both_requests_of_qwen(qwen):
    for attempt in tries(5):
        seen = qwen.ask(by_runner, tap=True)
        assert (seen.code, seen.call.requests) == (0, 2)
        assert seen.call.first_token_rule == "tap"
        assert seen.phases == [*SPLIT[:3], *SPLIT[1:]]
        assert seen.call.cost_ns(Cost.UNSPLIT) == 0
        with attempt:
            assert abs(seen.start_is_early_by()) < NEAR_NS
            assert seen.tokens_are_off_by() < NEAR_NS
