"""Sessions of aiohttp in a block of the program, and as an SDK would use them."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys

import aiohttp
import pytest

from adapters.http.seen import (
    HERE,
    MESSAGES,
    PARTS,
    Asks,
    attempts_are_true,
    closed_port,
    hooked,
    parts,
    reused,
    waits,
)
from lab.sse_server import Script
from llmphases import llm_call
from llmphases.adapters.http.aiohttp_client import AIOHTTP

pytestmark = pytest.mark.real


async def ask(session, url, script, *, times=1):
    body = {**MESSAGES, **script.extra_body()}

    async def by():
        for _ in range(times):
            async with session.post(url, json=body) as response:
                if response.status == 200:
                    return await response.json()
        return response.raise_for_status()

    return await Asks().ask_async(by, model="m")


@pytest.fixture(autouse=True)
def hooks():
    """They are out after `close`."""
    with hooked(HERE), contextlib.ExitStack() as hooks:
        hooks.enter_context(hooked(AIOHTTP))
        yield hooks


@pytest.fixture
def url(sse_server):
    return f"{sse_server.base_url}/chat/completions"


@pytest.fixture
def script(sse_server):
    return lambda **how: Script(label=sse_server.fresh_label(), **how)


async def test_the_parts_of_a_whole_answer_s_wait(url, script, heard, sse_server):
    asked = script(headers_s=0.02, headers={"openai-processing-ms": "20"})
    async with aiohttp.ClientSession() as session:
        await ask(session, url, asked)
        await ask(session, url, script())
    (call, again), (served,) = heard.calls, sse_server.served(asked.label)
    assert (parts(call), parts(again)) == (PARTS, PARTS[1:])
    assert reused(heard) == [False, True]
    assert call.reported == {"openai-processing-ms": 20.0}
    _connect, send, wait, read = (p for p in heard.phases[:4])
    assert send.start_ns <= served.received_ns
    assert served.headers_ns <= wait.end_ns == read.start_ns


async def test_a_name_is_resolved(url, script, heard):
    async with aiohttp.ClientSession() as session:
        await ask(session, url.replace("127.0.0.1", "localhost"), script())
    assert heard.phases[0].attributes["llmphases.connect.dns"] >= 0


async def test_attempts_that_fail(url, script, heard, sse_server):
    asked = script(fail_times=2, fail_status=429)
    async with aiohttp.ClientSession() as session:
        await ask(session, url, asked, times=3)
    (call,) = heard.calls
    assert (call.requests, call.retries) == (3, 2)
    assert [p.error_type for p in waits(heard)] == ["429", "429", None]
    attempts_are_true(heard, sse_server.served(asked.label))


async def test_a_status_that_the_session_makes_an_error_of(url, script, heard):
    async with aiohttp.ClientSession(raise_for_status=True) as session:
        with pytest.raises(aiohttp.ClientResponseError):
            await ask(session, url, script(fail_times=1))
    assert [p.error_type for p in waits(heard)] == ["503"]


async def test_a_server_that_is_not_there(script, heard):
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await ask(session, f"http://127.0.0.1:{closed_port()}", script())
    assert [p.error_type for p in waits(heard)] == ["ClientConnectorError"]
    assert parts(heard.calls[0]) == ["connect"]


async def test_a_cancelled_request_ends_at_once(url, script, heard):
    async with aiohttp.ClientSession() as session:
        asking = asyncio.ensure_future(ask(session, url, script(headers_s=5)))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asking, 0.2)
    (call,) = heard.calls
    assert (call.error_type, call.retries, call.requests) == ("CancelledError", 0, 1)
    assert call.duration_ns < 5e9


async def test_an_attempt_that_takes_too_long(url, script, heard):
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(sock_read=0.2)) as session:
        with pytest.raises(TimeoutError):
            await ask(session, url, script(headers_s=2))
    assert [p.error_type for p in waits(heard)] == ["SocketTimeoutError"]


async def test_a_stream_in_a_block_of_the_program(url, script, heard):
    body = {**MESSAGES, **script(first_token_s=0.02).extra_body(), "stream": True}
    async with (
        aiohttp.ClientSession() as session,
        llm_call("mine") as mine,
        mine.request(),
        session.post(url, json=body) as response,
    ):
        async for line in response.content:
            if b"word" in line:
                mine.first_token()
    assert parts(heard.calls[0]) == PARTS
    assert heard.phases[3].end_ns == waits(heard)[0].end_ns


async def test_outside_of_it_nothing_is_looked_at(url, script, heard):
    body = {**MESSAGES, **script().extra_body()}
    async with (
        aiohttp.ClientSession() as session,
        llm_call("mine"),
        session.post(url, json=body) as response,
    ):
        await response.read()
    assert (heard.calls[0].requests, heard.calls[0].details) == (0, ())


async def test_a_session_of_before_tells_nothing_when_the_hook_is_out(url, script, heard, hooks):
    async with aiohttp.ClientSession() as session:
        hooks.close()
        await ask(session, url, script())
    assert heard.calls[0].details == ()


async def test_who_listens_already_is_told_as_before(url, script, heard):
    told = []

    async def ended(session, context, params):
        told.append((context.trace_request_ctx, params.response.status))

    config = aiohttp.TraceConfig()
    config.on_request_end.append(ended)
    body = {**MESSAGES, **script().extra_body()}
    async with (
        aiohttp.ClientSession(trace_configs=[config]) as session,
        session.post(url, json=body, trace_request_ctx="mine") as response,
    ):
        await response.read()
    assert told == [("mine", 200)]


def test_a_session_that_is_made_before_the_first_call_tells_as_well():
    """A program makes its clients first, and calls later."""
    program = """if True:
        import asyncio, aiohttp, llmphases
        llmphases.instrument("aiohttp")
        async def made():
            async with aiohttp.ClientSession() as session:
                return len(session.trace_configs)
        print(asyncio.run(made()))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"1"]
