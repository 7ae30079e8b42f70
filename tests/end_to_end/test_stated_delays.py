"""The real `openai` client against a server whose delays are stated: the numbers must be those."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from lab.sse_server import Script, Served, SseServer
from lab.tries import tries
from lab.wired import Wired, wired
from llmphases import Ended, Phase, current_call, traced_llm_call, traced_stream
from llmphases.calls import Call
from llmphases.clock import sleep
from llmphases.phases import Cost

openai = pytest.importorskip("openai")

SLACK_MS = 20.0
MESSAGES = [{"role": "user", "content": "where do the boxes go?"}]


@pytest.fixture(scope="module")
def client(sse_server: SseServer) -> Any:
    made = openai.OpenAI(base_url=f"{sse_server.url}/v1", api_key="none", max_retries=0)
    for _ in range(3):
        list(_asked(made, Script(label="warm up")))
    return made


def _asked(client: Any, script: Script) -> Any:
    return client.chat.completions.create(
        model="stand-in", messages=MESSAGES, stream=True, extra_body=script.extra_body()
    )


def _phases_ms(call: Call) -> dict[str, float]:
    return {phase.value: ns / 1e6 for phase, ns in call.exclusive_ns.items()}


def _only(seen: Wired, server: SseServer, label: str) -> tuple[Call, int, Served]:
    """The one call, its start on the monotonic clock, and what was served to it."""
    (call,) = seen.calls
    assert sum(call.cost_ns(cost) for cost in Cost) == call.duration_ns
    return call, seen.heard.open_calls[0].start_ns, server.served(label)[-1]


def _late_ms(found_ns: int | None, true_ns: int) -> float:
    """How much later than the server wrote it something was seen; earlier it cannot be."""
    assert found_ns is not None
    assert found_ns >= true_ns
    return (found_ns - true_ns) / 1e6


def _generation_is_off_by_ms(call: Call, served: Served) -> float:
    true_ns = served.last_token_ns - served.first_token_ns
    return abs(call.exclusive_ns[Phase.GENERATION] - true_ns) / 1e6


@pytest.mark.parametrize(
    ("headers_s", "first_token_s", "role_first"),
    [(0.0, 0.3, True), (0.0, 0.3, False), (0.3, 0.0, True)],
    ids=["an empty role chunk at once", "nothing before the token", "late headers"],
)
def test_the_first_token_is_the_first_token(
    client: Any, sse_server: SseServer, headers_s: float, first_token_s: float, role_first: bool
) -> None:
    """RC-020: eight tracing packages take the empty role chunk for the first token."""

    @traced_llm_call
    def ask(script: Script) -> Any:
        return _asked(client, script)

    for attempt in tries():
        script = Script(
            label=sse_server.fresh_label(), headers_s=headers_s, first_token_s=first_token_s,
            role_first=role_first, gap_s=0.01, tokens=20, usage=True,
        )  # fmt: skip
        with wired() as seen:
            stream = ask(script)
            assert isinstance(stream, openai.Stream)
            for _ in stream:
                pass
        call, start_ns, served = _only(seen, sse_server, script.label)
        assert call.usage is not None
        assert call.chunks is not None
        assert call.chunks > 20
        assert call.ended is Ended.EXHAUSTED
        assert call.response_model is not None
        late_ms = _late_ms(call.first_token_ns, served.first_token_ns - start_ns)
        with attempt:
            assert late_ms < SLACK_MS
            assert _generation_is_off_by_ms(call, served) < SLACK_MS


def test_the_first_chunk_and_the_first_token_are_two_numbers(
    client: Any, sse_server: SseServer
) -> None:
    @traced_llm_call
    def ask(script: Script) -> Iterator[Any]:
        yield from _asked(client, script)

    for attempt in tries():
        script = Script(label=sse_server.fresh_label(), first_token_s=0.3)
        with wired() as seen:
            list(ask(script))
        call, _, _ = _only(seen, sse_server, script.label)
        assert call.first_chunk_ns is not None
        assert call.first_token_ns is not None
        assert call.first_token_ns / 1e6 > 299
        with attempt:
            assert call.first_chunk_ns / 1e6 < 150


def test_a_slow_consumer_is_not_booked_on_the_model(client: Any, sse_server: SseServer) -> None:
    @traced_llm_call
    def ask(script: Script) -> Any:
        return _asked(client, script)

    for attempt in tries():
        script = Script(label=sse_server.fresh_label(), first_token_s=0.1, tokens=10)
        with wired() as seen:
            for chunk in ask(script):
                if chunk.choices and chunk.choices[0].delta.content:
                    sleep(0.03)
        call, _, _ = _only(seen, sse_server, script.label)
        assert _phases_ms(call)["transmission"] >= 300
        with attempt:
            assert _phases_ms(call)["generation"] < 100


def test_reasoning_comes_before_the_answer(client: Any, sse_server: SseServer) -> None:
    @traced_llm_call
    def ask(script: Script) -> Any:
        return _asked(client, script)

    for attempt in tries():
        script = Script(
            label=sse_server.fresh_label(), first_token_s=0.1, gap_s=0.05, reasoning_tokens=4,
            tokens=4,
        )  # fmt: skip
        with wired() as seen:
            list(ask(script))
        call, start_ns, served = _only(seen, sse_server, script.label)
        assert call.first_reasoning_ns == call.first_token_ns
        late_ms = _late_ms(call.first_answer_ns, served.of_kind("token")[0].at_ns - start_ns)
        with attempt:
            assert late_ms < SLACK_MS


def test_a_tool_call_is_an_answer(client: Any, sse_server: SseServer) -> None:
    @traced_llm_call
    def ask(script: Script) -> Any:
        return _asked(client, script)

    for attempt in tries():
        script = Script(label=sse_server.fresh_label(), first_token_s=0.1, tool_call=True)
        with wired() as seen:
            list(ask(script))
        call, start_ns, served = _only(seen, sse_server, script.label)
        late_ms = _late_ms(call.first_answer_ns, served.first_token_ns - start_ns)
        with attempt:
            assert late_ms < SLACK_MS


def test_a_cut_stream_that_is_asked_again_is_a_retry(client: Any, sse_server: SseServer) -> None:
    cut = Script(label=sse_server.fresh_label(), tokens=5, gap_s=0.02, cut_after=3)
    whole = Script(label=sse_server.fresh_label(), tokens=5, gap_s=0.02)

    @traced_llm_call
    def ask() -> int:
        for script in (cut, whole):
            with current_call().request():
                try:
                    stream = traced_stream(_asked(client, script))
                    return sum(1 for _ in stream)
                except Exception:
                    sleep(0.1)
                    if script is whole:
                        raise
        return 0

    with wired() as seen:
        assert ask() > 0
    (call,) = seen.calls
    assert (call.requests, call.retries) == (2, 1)
    assert _phases_ms(call)["retry"] >= 99
    assert len([s for s in call.stretches if s.phase is Phase.GENERATION]) == 2


def test_async_streams_have_the_same_numbers(sse_server: SseServer) -> None:
    @traced_llm_call
    async def ask(client: Any, script: Script) -> Any:
        return await _asked(client, script)

    @traced_llm_call
    async def relayed(client: Any, script: Script) -> AsyncIterator[Any]:
        async for chunk in await _asked(client, script):
            yield chunk

    async def off_by_ms(client: Any, script: Script) -> list[float]:
        with wired() as seen:
            stream = await ask(client, script)
            assert isinstance(stream, openai.AsyncStream)
            async for _ in stream:
                pass
            async for _ in relayed(client, script):
                pass
        starts = [opened.start_ns for opened in seen.heard.open_calls]
        found = []
        for call, start_ns, served in zip(
            seen.calls, starts, sse_server.served(script.label), strict=True
        ):
            found.append(_late_ms(call.first_token_ns, served.first_token_ns - start_ns))
            found.append(_generation_is_off_by_ms(call, served))
        assert len(found) == 4
        return found

    async def main() -> None:
        base = f"{sse_server.url}/v1"
        async with openai.AsyncOpenAI(base_url=base, api_key="none", max_retries=0) as client:
            async for _ in await _asked(client, Script(label="warm up")):
                pass
            for attempt in tries():
                script = Script(
                    label=sse_server.fresh_label(), first_token_s=0.3, gap_s=0.01, tokens=20
                )
                found = await off_by_ms(client, script)
                with attempt:
                    assert max(found) < SLACK_MS

    asyncio.run(main())


def test_leaving_a_stream_early_ends_its_call(client: Any, sse_server: SseServer) -> None:
    """RC-011"""
    script = Script(label=sse_server.fresh_label(), tokens=50, gap_s=0.01)

    @traced_llm_call
    def ask() -> Any:
        return _asked(client, script)

    with wired() as seen:
        with ask() as stream:
            next(iter(stream))
        stream = ask()
        next(stream)
        stream.close()
        stream = ask()
        next(stream)
        del stream
    assert [call.ended for call in seen.calls] == [Ended.CLOSED, Ended.CLOSED, Ended.DROPPED]
    assert all(call.error_type is None for call in seen.calls)
