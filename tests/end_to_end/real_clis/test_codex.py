"""Codex against stated delays: it prints no tokens, so that the tap alone tells them."""

from __future__ import annotations

import json

import pytest

from end_to_end.real_clis.tools import (
    MS,
    NEAR_NS,
    OVERLOADED,
    PLAIN_WAYS,
    REFUSED,
    STATED,
    TAPPED_WAYS,
    Tool,
    by_hooks,
    by_runner,
)
from lab.agent_server import Turn
from lab.otlp_receiver import OtlpReceiver
from lab.tries import tries
from llmphases.calls import Usage
from llmphases.phases import Cost, Phase

pytestmark = [pytest.mark.clis, pytest.mark.slow, pytest.mark.real]

JSON = ["--json"]
SPLIT = ["process_startup", "time_to_first_token", "generation", "process_shutdown"]
INIT_IS_EARLY_NS = 500 * MS
"""`thread.started` comes before its first request: 0.03 to 0.2 s where this was tried."""
USED = Usage(
    input_tokens=16, output_tokens=4, cache_read_input_tokens=5, cache_write_input_tokens=0,
    reasoning_output_tokens=0,
)  # fmt: skip
RUNS_A_TOOL = Turn(first_token_s=0.3, gap_s=0.1, tool=("exec_command", {"cmd": "sleep 0.5"}))
SETTINGS = """
model_provider = "lab"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.lab]
name = "lab"
base_url = "{url}/v1"
wire_api = "responses"
"""
OWN_SPANS = """
[otel]
trace_exporter = {{ otlp-http = {{ endpoint = "{url}/v1/traces", protocol = "binary" }} }}
"""


@pytest.fixture
def codex(installed, server, base_env, tmp_path):
    path = installed("codex")
    (tmp_path / "config.toml").write_text(SETTINGS.format(url=server.url))
    # The network of the test is its fence: a fence inside it may not be possible.
    plain = ["--skip-git-repo-check", "-s", "danger-full-access", "say hello"]
    return Tool(
        words=lambda model: [path, "exec", "-m", model, *plain],
        env={**base_env, "CODEX_HOME": str(tmp_path), "OPENAI_API_KEY": "none"},
        folder=tmp_path,
        server=server,
    )


@pytest.mark.parametrize("way", PLAIN_WAYS)
def test_its_events_tell_its_start_and_its_end(codex, way):
    for attempt in tries(5):
        seen = codex.ask(way, more=JSON)
        assert (seen.code, seen.call.error_type, seen.call.process.exit_code) == (0, None, 0)
        assert (seen.call.first_token_rule, seen.call.requests) == ("init_event", 1)
        assert seen.call.usage == USED
        assert seen.phases == ["process_startup", "inference", "process_shutdown"]
        with attempt:
            assert -NEAR_NS < seen.start_is_early_by() < INIT_IS_EARLY_NS
            (inference,) = seen.of(Phase.INFERENCE)
            assert abs(inference.end_ns - seen.asked[0].last_token_ns) < NEAR_NS


@pytest.mark.parametrize("more", [JSON, []], ids=["events", "text"])
@pytest.mark.parametrize("way", TAPPED_WAYS)
def test_the_tap_tells_the_split_whatever_it_prints(codex, way, more):
    for attempt in tries(5):
        seen = codex.ask(way, more=more, tap=True)
        assert seen.code == 0
        assert (seen.call.first_token_rule, seen.call.requests) == ("tap", 1)
        assert seen.call.usage == (USED if more else None)
        assert seen.phases == SPLIT
        assert seen.call.cost_ns(Cost.UNSPLIT) == 0
        with attempt:
            assert abs(seen.start_is_early_by()) < NEAR_NS
            assert seen.tokens_are_off_by() < NEAR_NS
            assert seen.lasted(Phase.TIME_TO_FIRST_TOKEN) == pytest.approx(0.5e9, abs=NEAR_NS)
            assert seen.lasted(Phase.GENERATION) == pytest.approx(0.6e9, abs=NEAR_NS)


@pytest.mark.parametrize("way", PLAIN_WAYS)
def test_plain_text_comes_at_once_and_is_not_split(codex, way):
    seen = codex.ask(way)
    assert (seen.code, seen.stdout.strip()) == (0, "word0 word1 word2 word3")
    assert seen.phases == ["inference", "process_shutdown"]
    assert seen.call.fixed_share is None


def test_of_a_retry_it_says_nothing(codex):
    seen = codex.ask(by_runner, OVERLOADED, STATED, more=JSON)
    assert (seen.code, len(seen.asked)) == (0, 2)
    assert (seen.call.requests, seen.call.retries) == (1, 0)
    assert seen.phases == ["process_startup", "inference", "process_shutdown"]


def test_the_tap_sees_a_busy_server_asked_again(codex):
    for attempt in tries(5):
        seen = codex.ask(by_runner, OVERLOADED, STATED, more=JSON, tap=True)
        assert (seen.code, seen.call.requests, seen.call.retries) == (0, 2, 1)
        assert seen.phases == [SPLIT[0], "retry", *SPLIT[1:]]
        with attempt:
            (retry,) = seen.of(Phase.RETRY)
            assert abs(seen.start_is_early_by()) < NEAR_NS
            assert abs(retry.end_ns - seen.asked[1].received_ns) < NEAR_NS
            assert seen.tokens_are_off_by() < NEAR_NS


def test_a_turn_with_a_tool(codex):
    """Its event of the tool's start comes late, so that some of the tool is the model's."""
    for attempt in tries(5):
        seen = codex.ask(by_runner, RUNS_A_TOOL, STATED, more=JSON)
        assert (seen.code, seen.call.requests) == (0, 2)
        assert [kind for kind in seen.phases if kind != "process_startup"] == [
            "inference", "tool", "inference", "process_shutdown",
        ]  # fmt: skip
        with attempt:
            assert seen.lasted(Phase.TOOL) <= 0.5e9 + NEAR_NS
            assert abs(seen.of(Phase.TOOL)[0].end_ns - seen.asked[1].received_ns) < NEAR_NS


def test_the_tap_tells_a_tool_from_the_model(codex):
    for attempt in tries(5):
        seen = codex.ask(by_runner, RUNS_A_TOOL, STATED, more=JSON, tap=True)
        assert (seen.code, seen.call.requests) == (0, 2)
        assert seen.phases == [*SPLIT[:3], "tool", *SPLIT[1:]]
        with attempt:
            assert seen.lasted(Phase.TOOL) + NEAR_NS >= 0.5e9
            assert abs(seen.of(Phase.TOOL)[0].end_ns - seen.asked[1].received_ns) < NEAR_NS
            assert seen.tokens_are_off_by() < NEAR_NS


@pytest.mark.parametrize("way", PLAIN_WAYS)
def test_a_request_that_is_refused_is_a_failed_turn(codex, way):
    seen = codex.ask(way, REFUSED, more=JSON)
    assert (seen.code, seen.call.process.exit_code) == (1, 1)
    # By hooks it is part of a call whose code may take that as it likes.
    assert seen.call.error_type == (None if way is by_hooks else "turn.failed")
    assert "turn.failed" in {json.loads(line)["type"] for line in seen.stdout.splitlines()}
    assert Phase.GENERATION not in seen.call.exclusive_ns


def test_its_own_spans_are_in_our_trace_below_its_start(codex, tmp_path):
    with OtlpReceiver() as receiver:
        codex.endpoint = receiver.url
        with (tmp_path / "config.toml").open("a") as settings:
            settings.write(OWN_SPANS.format(url=receiver.url))
        assert codex.ask(by_runner, more=JSON).code == 0
        spans = receiver.spans
    (start,) = [span for span in spans if span.name == "process_startup"]
    theirs = [span for span in spans if span.scope == "codex_exec"]
    assert start.trace_id in {span.trace_id for span in theirs}  # not all of its spans have a root
    assert start.span_id in {span.parent_id for span in theirs}
