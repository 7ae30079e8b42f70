"""Real SDKs on httpx2 and httpx, and plain clients, against a server with stated delays."""

from __future__ import annotations

import asyncio

import pytest

from adapters.http.seen import (
    HERE,
    MESSAGES,
    PARTS,
    Asks,
    attempts_are_true,
    closed_port,
    hooked,
    installed,
    parts,
    reused,
    waits,
)
from lab.sse_server import Script
from llmphases import llm_call
from llmphases.adapters.http.httpx_clients import HTTPX, HTTPX2
from llmphases.adapters.sdks.groq_sdk import GROQ
from llmphases.adapters.sdks.openai_sdk import OPENAI

pytestmark = pytest.mark.real
SDKS = installed("openai", "groq")
"""The first sits on httpx2, the second on httpx."""
PLAIN = installed("httpx", "httpx2")
"""Old versions of one are not to be had beside the other."""


def of_them(name, packages):
    """That class or module, of each package; for `except` and the like."""
    return tuple(getattr(package, name) for package in packages.values())


@pytest.fixture(autouse=True)
def _hooked():
    clients = {"openai": OPENAI, "groq": GROQ, "httpx": HTTPX, "httpx2": HTTPX2}
    with hooked(*(clients[name] for name in (*SDKS, *PLAIN))):
        yield


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """SDKs try again at once."""
    for package in SDKS.values():
        monkeypatch.setattr(package._base_client, "INITIAL_RETRY_DELAY", 0.01)
        monkeypatch.setattr(package._base_client, "MAX_RETRY_DELAY", 0.01)


MADE = {"openai": "OpenAI", "groq": "Groq"}


@pytest.fixture(params=SDKS)
def made(request):
    """What makes a client."""
    return getattr(SDKS[request.param], MADE[request.param])


@pytest.fixture
def client(made, sse_server):
    with made(base_url=sse_server.base_url, api_key="none", max_retries=2) as client:
        yield client


@pytest.fixture
def script(sse_server):
    return lambda **how: Script(label=sse_server.fresh_label(), **how)


def ask(client, script, *, port=None, **how):
    body = script.extra_body()
    return client.chat.completions.create(**MESSAGES, extra_body=body, **how)


def test_the_parts_of_a_stream_s_wait(client, script, heard, sse_server):
    asked = script(headers_s=0.02, first_token_s=0.02)
    list(ask(client, asked, stream=True))
    (call,), (served,) = heard.calls, sse_server.served(asked.label)
    assert (parts(call), call.requests) == (PARTS, 1)
    assert {p.error_type for p in heard.phases} == {None}
    connect, send, wait_headers, read_first = sorted(
        (p for p in heard.phases if p.is_detail), key=lambda p: p.start_ns
    )
    assert connect.attributes["llmphases.connect.tcp"] > 0
    assert send.start_ns <= served.received_ns
    assert wait_headers.end_ns >= served.headers_ns
    assert wait_headers.end_ns - wait_headers.start_ns <= read_first.start_ns - send.start_ns
    assert read_first.end_ns >= served.first_token_ns
    assert read_first.end_ns == waits(heard)[0].end_ns
    assert reused(heard) == [False]


def test_a_connection_that_is_used_again(client, script, heard):
    with llm_call("two"):
        ask(client, script())
        ask(client, script())
    assert reused(heard) == [False, True]
    assert parts(heard.calls[0]) == [*PARTS, *PARTS[1:]]


@pytest.mark.parametrize("status", [503, 429])
def test_attempts_that_fail_by_their_status(client, script, heard, sse_server, status):
    asked = script(fail_times=2, fail_status=status, fail_s=0.01, retry_after_s=0.02)
    list(ask(client, asked, stream=True))
    (call,) = heard.calls
    assert (call.requests, call.retries, call.error_type) == (3, 2, None)
    assert [p.name for p in waits(heard)] == ["retry", "retry", "time_to_first_token"]
    assert [p.error_type for p in waits(heard)] == [str(status), str(status), None]
    attempts_are_true(heard, sse_server.served(asked.label))
    first, second, third = waits(heard)
    assert (first.end_ns, second.end_ns) == (second.start_ns, third.start_ns)
    assert first.end_ns - first.start_ns >= 30_000_000  # the attempt and the pause


def test_attempts_whose_answer_breaks(client, script, heard, sse_server):
    asked = script(fail_times=1, fail_by_cutting=True)
    ask(client, asked)
    assert heard.calls[0].retries == 1
    assert [p.error_type for p in waits(heard)] == ["RemoteProtocolError", None]
    attempts_are_true(heard, sse_server.served(asked.label))


def test_the_last_failure_is_the_program_s(client, script, heard):
    with pytest.raises(of_them("InternalServerError", SDKS)):
        ask(client, script(fail_times=9, fail_status=500))
    (call,) = heard.calls
    assert (call.requests, call.retries, call.error_type) == (3, 2, "InternalServerError")
    assert [a.error_type for a in heard.open_calls[0].asked] == ["500"] * 3


def test_a_stream_that_is_cut_keeps_what_it_measured(client, script, heard):
    with llm_call("cut"):
        errors = of_them("HTTPError", PLAIN) + of_them("APIConnectionError", SDKS)
        with pytest.raises(errors):
            list(ask(client, script(cut_after=2), stream=True))
        list(ask(client, script(), stream=True))
    (call,) = heard.calls
    assert (call.requests, call.retries) == (2, 1)
    assert [p.name for p in heard.phases if p.name == "generation"] == ["generation"] * 2
    (retry,) = [p for p in heard.phases if p.name == "retry"]
    (failed, _) = heard.open_calls[0].asked
    assert failed.error_type is not None
    assert retry.error_type == failed.error_type


def test_who_closes_a_stream_has_no_error(client, script, heard):
    with ask(client, script(), stream=True) as stream:
        next(iter(stream))
    assert {p.error_type for p in heard.phases} == {None}


def test_a_server_that_is_not_there(made, heard):
    url = f"http://127.0.0.1:{closed_port()}"
    errors = of_them("APIConnectionError", SDKS)
    with made(base_url=url, api_key="none", max_retries=1) as client, pytest.raises(errors):
        client.chat.completions.create(**MESSAGES)
    (call,) = heard.calls
    assert (call.requests, parts(call)) == (2, ["connect"] * 2)
    assert [p.error_type for p in waits(heard)] == ["ConnectError"] * 2
    assert [p.error_type for p in heard.phases if p.is_detail] == ["ConnectError"] * 2


def test_an_attempt_that_takes_too_long(client, script, heard):
    """All attempts may, on a busy machine; the first one does."""
    slow = script(fail_times=1, fail_s=2)
    patient = client.with_options(timeout=0.3, max_retries=20)
    ask(patient, slow)
    first = waits(heard)[0]
    assert (first.name, first.error_type) == ("retry", "ReadTimeout")
    assert first.end_ns - first.start_ns >= 0.3e9
    assert {p.error_type for p in waits(heard)} <= {"ReadTimeout", "ConnectTimeout", None}


@pytest.fixture(params=SDKS)
def made_async(request):
    return getattr(SDKS[request.param], f"Async{MADE[request.param]}")


def test_all_of_it_awaited(made_async, script, heard, sse_server):
    async def main():
        async with made_async(base_url=sse_server.base_url, api_key="none") as client:
            await ask(client, script(fail_times=1, retry_after_s=0.01))
            asked = script(fail_times=1, retry_after_s=0.01)
            async for _ in await ask(client, asked, stream=True):
                pass

    asyncio.run(main())
    for call in heard.calls:
        assert (call.requests, call.retries) == (2, 1)
        assert parts(call)[-3:] == PARTS[1:]
        assert [name for name in parts(call) if name != "connect"] == PARTS[1:] * 2
    assert [call.stream for call in heard.calls] == [False, True]


def test_a_cancelled_request_ends_at_once(made_async, script, heard, sse_server):
    async def main():
        async with made_async(base_url=sse_server.base_url, api_key="none") as client:
            asking = asyncio.ensure_future(ask(client, script(headers_s=5), stream=True))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asking, 0.2)

    asyncio.run(main())
    (call,) = heard.calls
    assert (call.error_type, call.retries, call.requests) == ("CancelledError", 0, 1)
    assert call.duration_ns < 5e9


# --- plain clients ------------------------------------------------------------------------------


@pytest.fixture(params=PLAIN)
def package(request):
    return PLAIN[request.param]


def post(client, sse_server, script, **how):
    body = {**MESSAGES, **script.extra_body()}
    return client.post(f"{sse_server.base_url}/chat/completions", json=body, **how)


def test_in_a_request_block_of_the_program(package, script, heard, sse_server):
    with llm_call("mine") as mine, package.Client() as client, mine.request():
        response = post(client, sse_server, script(headers={"Server-Timing": "gpu;dur=5"}))
    (call,) = heard.calls
    assert (response.status_code, call.requests, parts(call)) == (200, 1, PARTS)
    assert call.reported == {"server-timing.gpu": 5.0}


def test_a_failed_status_in_a_block_is_the_program_s_to_judge(package, script, heard, sse_server):
    with llm_call("mine") as mine, package.Client() as client:
        with mine.request():
            post(client, sse_server, script(fail_times=1))
        with pytest.raises(package.HTTPStatusError), mine.request():
            post(client, sse_server, script(fail_times=1)).raise_for_status()
    (call,) = heard.calls
    assert (call.requests, call.retries) == (2, 0)
    assert [p.name for p in waits(heard)] == ["inference", "retry"]


def test_outside_of_it_nothing_is_looked_at(package, script, heard, sse_server):
    with llm_call("mine"), package.Client() as client:
        response = post(client, sse_server, script())
    (call,) = heard.calls
    assert (response.status_code, call.requests, call.details) == (200, 0, ())


@pytest.mark.parametrize("is_async", [False, True])
def test_who_listens_already_is_told_as_before(package, script, sse_server, heard, is_async):
    def told(names):
        def sync(name, info):
            names.append((name, sorted(info)))

        async def awaited(name, info):
            sync(name, info)

        return awaited if is_async else sync

    async def awaiting(how):
        async with package.AsyncClient() as client:
            return await post(client, sse_server, script(), **how)

    def get(names):
        how = {"extensions": {"trace": told(names), "mine": 1}}
        if is_async:
            return asyncio.run(awaiting(how))
        with package.Client() as client:
            return post(client, sse_server, script(), **how)

    plain, ours = [], []
    get(plain)
    with llm_call("mine") as mine, mine.request():
        response = get(ours)
    assert ours == plain
    assert parts(heard.calls[0]) == PARTS
    kept = response.request.extensions
    assert (kept["mine"], kept["trace"].__qualname__.split(".")[0]) == (1, "test_who_listens_already_is_told_as_before")  # fmt: skip  # noqa: E501


def test_a_listener_of_the_wrong_kind_is_refused_as_before(package, script, sse_server, heard):
    given = []

    async def awaited():
        """Of no use to a client that does not await."""

    def wrong(name, info):
        given.append(awaited())
        return given[-1]

    with llm_call("mine") as mine, package.Client() as client:  # noqa: SIM117  # that raises
        with pytest.raises(TypeError), mine.request():
            post(client, sse_server, script(), extensions={"trace": wrong})
    for body in given:
        body.close()


def test_a_transport_that_tries_to_connect_again(package, heard, monkeypatch):
    core = pytest.importorskip({"httpx": "httpcore", "httpx2": "httpcore2"}[package.__name__])
    monkeypatch.setattr(core._sync.connection, "RETRIES_BACKOFF_FACTOR", 0.01)

    def ask():
        transport = package.HTTPTransport(retries=2)
        with package.Client(transport=transport) as client:
            return client.post(f"http://127.0.0.1:{closed_port()}")

    with hooked(HERE), pytest.raises(package.ConnectError):
        Asks().ask(ask, model="m")
    (call,) = heard.calls
    assert (call.requests, call.retries, parts(call)) == (3, 2, ["connect"] * 3)
