"""The stand-in server keeps the delays it is given, and the real client understands it."""

from __future__ import annotations

import asyncio
import time

import pytest

from lab.sse_server import Script, Served, SseServer
from lab.tries import tries

openai = pytest.importorskip("openai")
pytestmark = pytest.mark.real


def client_of(server: SseServer, **options):
    return openai.OpenAI(base_url=server.base_url, api_key="none", **options)


def stream(client, script: Script):
    return client.chat.completions.create(
        model="lab",
        messages=[{"role": "user", "content": "hello"}],
        stream=True,
        extra_body=script.extra_body(),
    )


def served_by(server: SseServer, script: Script) -> Served:
    (served,) = server.served(script.label)
    return served


def test_the_client_reads_what_was_scripted(sse_server):
    script = Script(label=sse_server.fresh_label(), tokens=4, reasoning_tokens=2, usage=True)
    with client_of(sse_server) as client:
        chunks = list(stream(client, script))
    text = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
    assert text == ["word2 ", "word3 ", "word4 ", "word5 "]
    assert chunks[0].choices[0].delta.content == ""
    assert chunks[1].choices[0].delta.model_extra["reasoning_content"] == "word0 "
    assert chunks[-1].usage.completion_tokens == 6
    assert served_by(sse_server, script).ended == "done"


def test_delays_add_up_in_the_order_in_which_they_are_named(sse_server):
    script = Script(
        label=sse_server.fresh_label(), headers_s=0.05, first_token_s=0.1, gap_s=0.02, tokens=4
    )
    with client_of(sse_server) as client:
        list(stream(client, script))
    served = served_by(sse_server, script)
    assert served.headers_ns - served.received_ns >= 0.05e9
    assert served.first_token_ns - served.received_ns >= 0.15e9
    assert served.last_token_ns - served.received_ns >= 0.21e9
    assert [frame.kind for frame in served.frames] == ["role", *["token"] * 4, "finish", "done"]


def test_an_empty_role_chunk_comes_long_before_the_first_token(sse_server):
    for attempt in tries():
        script = Script(label=sse_server.fresh_label(), first_token_s=0.1, ping_s=0.05)
        with client_of(sse_server) as client:
            chunks = iter(stream(client, script))
            next(chunks)
            role_ns = time.monotonic_ns()
            rest = list(chunks)
        served = served_by(sse_server, script)
        assert [frame.kind for frame in served.frames[:3]] == ["role", "ping", "token"]
        assert rest[0].choices[0].delta.content == "word0 "
        with attempt:
            assert role_ns < served.first_token_ns


def test_without_a_role_chunk_the_first_frame_is_a_token(sse_server):
    script = Script(label=sse_server.fresh_label(), role_first=False)
    with client_of(sse_server) as client:
        first = next(iter(stream(client, script)))
    assert first.choices[0].delta.content == "word0 "


def test_a_tool_call_comes_in_pieces(sse_server):
    script = Script(label=sse_server.fresh_label(), tool_call=True, tokens=2)
    with client_of(sse_server) as client:
        calls = [
            chunk.choices[0].delta.tool_calls[0]
            for chunk in stream(client, script)
            if chunk.choices[0].delta.tool_calls
        ]
    assert calls[0].function.name == "look_up"
    assert [call.function.arguments for call in calls] == ["word0 ", "word1 "]


def test_a_cut_stream_breaks_in_the_client(sse_server):
    script = Script(label=sse_server.fresh_label(), tokens=5, cut_after=2)
    seen = []
    with (
        client_of(sse_server, max_retries=0) as client,
        pytest.raises(Exception, match=r"(?i)incomplete|closed|peer|connection") as caught,
    ):
        seen.extend(stream(client, script))
    assert caught.type.__module__.split(".")[0] != "builtins"
    assert len(served_by(sse_server, script).of_kind("token")) == 2


def test_a_failure_is_followed_by_success_under_the_same_label(sse_server):
    script = Script(label=sse_server.fresh_label(), fail_times=1, fail_s=0.02, retry_after_s=0.01)
    with client_of(sse_server, max_retries=1) as client:
        chunks = list(stream(client, script))
    first, second = sse_server.served(script.label)
    assert (first.status, first.ended) == (503, "failed")
    assert (second.status, second.ended) == (200, "done")
    assert second.received_ns - first.headers_ns >= 0.01e9
    assert chunks


def test_an_answer_that_is_no_stream_takes_as_long_as_one(sse_server):
    script = Script(label=sse_server.fresh_label(), first_token_s=0.05, gap_s=0.01, tokens=3)
    with client_of(sse_server) as client:
        answer = client.chat.completions.create(
            model="lab",
            messages=[{"role": "user", "content": "hello"}],
            extra_body=script.extra_body(),
        )
    served = served_by(sse_server, script)
    assert answer.choices[0].message.content == "word0 word1 word2 "
    assert served.headers_ns - served.received_ns >= 0.07e9


def test_its_own_account_of_the_time_is_what_it_did(sse_server):
    script = Script(
        label=sse_server.fresh_label(), first_token_s=0.05, gap_s=0.01, tokens=3, timings=True
    )
    with client_of(sse_server) as client:
        chunks = list(stream(client, script))
    served = served_by(sse_server, script)
    timings = next(c.model_extra["timings"] for c in chunks if "timings" in (c.model_extra or {}))
    assert timings["prompt_ms"] == (served.first_token_ns - served.headers_ns) / 1e6
    assert timings["predicted_n"] == 3


async def test_many_requests_side_by_side_keep_their_own_delays(sse_server):
    scripts = [
        Script(label=sse_server.fresh_label(), first_token_s=delay_s, tokens=2)
        for delay_s in (0.02, 0.08, 0.14)
    ]

    async def read(client, script):
        async for _ in await stream(client, script):
            pass

    async with openai.AsyncOpenAI(base_url=sse_server.base_url, api_key="none") as client:
        await asyncio.gather(*(read(client, script) for script in scripts))
    for script in scripts:
        served = served_by(sse_server, script)
        assert served.first_token_ns - served.received_ns >= script.first_token_s * 1e9
        assert served.ended == "done"


def test_a_client_that_goes_early_leaves_the_server_well(sse_server):
    script = Script(label=sse_server.fresh_label(), gap_s=0.005, tokens=400)
    with client_of(sse_server) as client, stream(client, script) as chunks:
        next(iter(chunks))
    list_again = Script(label=sse_server.fresh_label())
    with client_of(sse_server) as client:
        assert list(stream(client, list_again))
