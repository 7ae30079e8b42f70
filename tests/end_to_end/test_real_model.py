"""A real llama.cpp server, the real `openai` client, a real OTLP receiver, and the file."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab.llama import LlamaServer
from lab.otlp_receiver import OtlpReceiver
from lab.tries import tries
from lab.wired import wired
from llmphases import Phase, prompt_build, traced_llm_call
from llmphases.clock import SystemClock
from llmphases.phases import Cost
from llmphases.sources.otlp_file import OtlpFiles

openai = pytest.importorskip("openai")

CALLS = 20
SLACK_MS = 30.0
"""How far client and server may be apart: in 520 calls on a loaded machine it was 10 ms."""

pytestmark = pytest.mark.real


@dataclass
class Told:
    """What the client saw and the server said of each call, in milliseconds."""

    headers_ms: list[float] = field(default_factory=list)
    timings: list[dict[str, float]] = field(default_factory=list)


@pytest.fixture
def client(llama_server: LlamaServer) -> Any:
    return openai.OpenAI(
        base_url=llama_server.base_url,
        api_key="none",
        max_retries=0,
        timeout=60,
        default_headers={"Connection": "close"},
    )


def asking(client: Any, told: Told) -> Any:
    @traced_llm_call(name="place_boxes", model="mid", provider="llama.cpp")
    def place_boxes(words: int) -> Iterator[str]:
        with prompt_build():
            prompt = f"{uuid.uuid4()} " + "hello world this is a run " * words
        sent = SystemClock.now()
        stream = client.chat.completions.create(
            model="mid",
            messages=[{"role": "user", "content": prompt}],
            max_tokens=64,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
            extra_body={"cache_prompt": False, "ignore_eos": True},
        )
        told.headers_ms.append((SystemClock.now() - sent) / 1e6)
        for chunk in stream:
            timings = (chunk.model_extra or {}).get("timings")
            if timings:
                told.timings.append(timings)
            yield chunk

    return place_boxes


def test_the_split_agrees_with_the_servers_own_timings(client: Any, tmp_path: Path) -> None:
    """Twenty streamed calls, each within 30 ms of what llama.cpp says of itself.

    On a busy machine client and server wait for each other's CPU, hence the tries.
    """
    for attempt in tries():
        told = Told()
        file = tmp_path / f"traces{attempt.number}.jsonl"
        with OtlpReceiver() as receiver, wired(endpoint=receiver.url, file=file) as seen:
            place_boxes = asking(client, told)
            list(place_boxes(8))  # the first request of a process warms the client up
            told.headers_ms.clear()
            told.timings.clear()
            for _ in range(CALLS):
                list(place_boxes(8))
            seen.provider.force_flush()
            spans = receiver.wait_for_spans(4 * (CALLS + 1))
        calls = seen.calls[1:]
        assert len(calls) == len(told.timings) == CALLS
        off_ms = []
        for call, headers_ms, timings in zip(calls, told.headers_ms, told.timings, strict=True):
            first_token_ms = call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] / 1e6
            generation_ms = call.exclusive_ns[Phase.GENERATION] / 1e6
            off_ms.append(
                max(
                    abs(first_token_ms - (headers_ms + timings["prompt_ms"])),
                    abs(generation_ms - timings["predicted_ms"]),
                )
            )
            assert first_token_ms > timings["prompt_ms"]
            assert sum(call.cost_ns(cost) for cost in Cost) == call.duration_ns
            assert call.usage is not None
            assert call.usage.output_tokens == 64
        assert {s.name for s in spans} >= {
            "place_boxes", "prompt_build", "time_to_first_token", "generation",
        }  # fmt: skip
        read_back = list(OtlpFiles([file]).read().calls)
        assert read_back == [call.as_exported() for call in seen.calls]
        with attempt:
            assert max(off_ms) < SLACK_MS
            assert all(call.reported_trusted for call in calls)


def test_a_fixed_cost_is_found_at_every_length(client: Any) -> None:
    """RC-026: tokens per second do not depend on how long the answer is."""
    for attempt in tries():
        told = Told()
        with wired() as seen:
            place_boxes = asking(client, told)
            list(place_boxes(8))
            for words in (2, 40):
                list(place_boxes(words))
        short, long = seen.calls[1:]
        with attempt:
            for call, timings in zip((short, long), told.timings[1:], strict=True):
                assert call.tokens_per_second is not None
                per_second = timings["predicted_per_second"]
                assert call.tokens_per_second == pytest.approx(per_second, rel=0.15)
            waits = [call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] for call in (short, long)]
            assert waits[0] < waits[1]
