"""The real `llm` (0.36) against a real llama.cpp server: most of such a call is the tool itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lab.llama import LlamaServer
from lab.tries import tries
from lab.wired import wired
from llmphases import llm_call, run_command, stream_command
from llmphases.phases import Cost, Phase

LLM = Path(sys.executable).with_name("llm")
TOKENS = 32

pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(not LLM.exists(), reason="not installed: llm (make test installs it)"),
]


@pytest.fixture
def command(llama_server: LlamaServer, tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    """The command, and the environment in which it knows the server."""
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: local\n  model_name: mid\n  api_base: {llama_server.base_url}\n"
        "  headers:\n    Connection: close\n"
    )
    env = {**os.environ, "LLM_USER_PATH": str(tmp_path), "OPENAI_API_KEY": "none"}
    words = [str(LLM), "-m", "local", "--no-log", "-u", "-o", "max_tokens", str(TOKENS)]
    return [*words, "hello world this is a run"], env


def assert_is_mostly_the_tool(call):
    assert call.first_token_rule == "first_byte"
    start = call.exclusive_ns[Phase.PROCESS_STARTUP]
    end = call.exclusive_ns[Phase.PROCESS_SHUTDOWN]
    assert (start + end) / call.duration_ns > 0.8
    assert call.fixed_share > 0.8
    assert call.usage.output_tokens == pytest.approx(TOKENS, abs=2)
    assert call.cost_ns(Cost.UNSPLIT) == 0
    assert call.process.executable == "llm"
    assert call.process.cpu_ns > 100_000_000
    assert call.process.memory_peak > 30 * 2**20


def test_start_and_exit_are_most_of_the_call(command, tmp_path):
    argv, env = command
    for attempt in tries(3):
        with wired(file=tmp_path / "traces.jsonl") as sink:
            result = run_command(argv, env=env, timeout=300, check=True)
        assert result.stdout.strip()
        (call,) = sink.heard.calls
        assert call == result.call
        with attempt:
            assert_is_mostly_the_tool(call)


def test_pieces_come_as_the_model_gives_them(command, tmp_path):
    argv, env = command
    for attempt in tries(3):
        with wired(file=tmp_path / "traces.jsonl") as sink, llm_call("outer"):
            pieces = list(stream_command(argv, env=env, timeout=300, check=True))
        with attempt:
            assert len(pieces) > 1
            assert_is_mostly_the_tool(sink.heard.calls[0])
