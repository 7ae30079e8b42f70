"""What holds of every HTTP client over TLS, and by way of proxies.

A test file of a client has a fixture `opened`: `with opened(proxy=URL, trusts=BOOL) as post`, a
session of the client whose `post(url, script)` asks and reads the answer; gives its status. What
the client calls its failures is in the class that inherits from these.
"""

from __future__ import annotations

import pytest

from adapters.http.secured import Proxy, SecuredChat, SecuredProxy
from adapters.http.seen import (
    HERE,
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

S = 1_000_000_000
DELAY_S = 0.05
TCP = "llmphases.connect.tcp"
TLS = "llmphases.connect.tls"


def took_s(phase):
    return (phase.end_ns - phase.start_ns) / S


def connects(heard):
    """The details of connections that were made."""
    return [p for p in heard.phases if p.is_detail and p.name == "connect"]


def chat(server):
    return f"{server.base_url}/chat/completions"


def twice(post, url, script):
    """Two requests on one connection."""
    with llm_call("mine") as mine:
        for _ in range(2):
            with mine.request():
                assert post(url, script) == 200


def insists(post, url, script):
    """As an SDK would that tries once more."""

    def by():
        try:
            status = post(url, script)
        except Exception:  # noqa: BLE001  # each client has its own
            status = 0
        return status if status == 200 else post(url, script)

    with hooked(HERE):
        assert Asks().ask(by, model="m") == 200


def kinds(error):
    """An exception's class, and those of what it came from."""
    found = []
    while error is not None:
        found.append(type(error))
        error = error.__cause__ or error.__context__
    return found


def fails_as_ever(opened, url, script, **how):
    """A failure is the program's as it would be without us."""
    with opened(**how) as post, pytest.raises(Exception) as plain:
        post(url, script)
    with opened(**how) as post, hooked(HERE), pytest.raises(plain.type) as traced:
        Asks().ask(lambda: post(url, script), model="m")
    assert kinds(traced.value) == kinds(plain.value)


def went(heard):
    """Of each request, the phase it was up to its answer, and why it failed."""
    return [(phase.name, phase.error_type) for phase in waits(heard)]


class Secured:
    """What the tests below have in common."""

    untrusted: tuple[str, ...] = ()
    """Why a request may have failed: nobody vouches for the server."""
    broken = ""
    """Likewise, TLS was broken off."""
    tells_connecting = True
    """Whether the client says what making a connection was made of."""

    @pytest.fixture
    def secured(self):
        with SecuredChat() as server:
            yield server

    @pytest.fixture
    def script(self, sse_server):
        return Script(label=sse_server.fresh_label())

    def told(self, heard, *, at_least_s, beside_s=0.0):
        """TLS took that long, and is apart from what else connecting takes."""
        (connect,) = connects(heard)
        assert took_s(connect) >= at_least_s + beside_s
        if not self.tells_connecting:
            assert connect.attributes == {}
            return
        assert set(connect.attributes) == {TCP, TLS}
        assert connect.attributes[TLS] >= at_least_s
        # 1 us: each of them is a float of its own
        apart_s = connect.attributes[TCP] + connect.attributes[TLS] + beside_s
        assert apart_s <= took_s(connect) + 1e-6


class OverTls(Secured):
    """A server behind TLS."""

    def test_the_handshake_is_part_of_connecting(self, opened, secured, script, heard):
        secured.handshake_s = DELAY_S
        with opened() as post:
            twice(post, chat(secured), script)
        (call,), (handshake,) = heard.calls, secured.handshakes
        assert (parts(call), call.requests, call.retries) == ([*PARTS, *PARTS[1:]], 2, 0)
        assert reused(heard) == [False, True]
        self.told(heard, at_least_s=DELAY_S)
        (connect,) = connects(heard)
        assert connect.start_ns <= handshake.hello_ns
        assert handshake.answered_ns <= connect.end_ns
        attempts_are_true(heard, secured.served())

    def test_a_server_that_nobody_vouches_for(self, opened, secured, script, heard):
        fails_as_ever(opened, chat(secured), script, trusts=False)
        (call,), (connect,) = heard.calls, connects(heard)
        assert (call.requests, call.retries, parts(call)) == (1, 0, ["connect"])
        ((name, reason),) = went(heard)
        assert (name, reason in self.untrusted) == ("retry", True)
        assert connect.error_type is not None
        assert TLS not in connect.attributes
        assert secured.served() == []

    def test_a_handshake_that_is_broken_off(self, opened, secured, script, heard):
        secured.breaks_times = 1
        with opened() as post:
            insists(post, chat(secured), script)
        (call,), (failed, made) = heard.calls, connects(heard)
        assert (call.requests, call.retries, call.error_type) == (2, 1, None)
        assert parts(call) == ["connect", *PARTS]
        assert went(heard) == [("retry", self.broken), ("inference", None)]
        assert TLS not in failed.attributes
        assert (TLS in made.attributes) is self.tells_connecting
        first, second = waits(heard)
        assert first.end_ns == second.start_ns >= secured.handshakes[0].answered_ns


class ByProxies(Secured):
    """A proxy on the way."""

    refused = ""
    """Why a request has failed: the proxy does not dig a tunnel."""

    @pytest.fixture
    def proxy(self):
        with Proxy() as server:
            yield server

    def test_a_tunnel_is_part_of_connecting(self, opened, secured, proxy, script, heard):
        secured.handshake_s = proxy.answer_s = DELAY_S
        with opened(proxy=proxy.url) as post:
            twice(post, chat(secured), script)
        (call,) = heard.calls
        assert proxy.asked == [f"CONNECT 127.0.0.1:{secured.port}"]
        assert (parts(call), call.requests, call.retries) == ([*PARTS, *PARTS[1:]], 2, 0)
        assert reused(heard) == [False, True]
        self.told(heard, at_least_s=DELAY_S, beside_s=DELAY_S)
        attempts_are_true(heard, secured.served())

    def test_a_proxy_behind_tls(self, opened, secured, script, heard):
        with SecuredProxy() as proxy:
            secured.handshake_s = proxy.answer_s = proxy.handshake_s = DELAY_S
            with opened(proxy=proxy.url) as post:
                twice(post, chat(secured), script)
        assert (len(proxy.handshakes), len(secured.handshakes)) == (1, 1)
        assert (parts(heard.calls[0]), reused(heard)) == ([*PARTS, *PARTS[1:]], [False, True])
        self.told(heard, at_least_s=2 * DELAY_S, beside_s=DELAY_S)

    def test_what_is_forwarded(self, opened, sse_server, proxy, script, heard):
        with opened(proxy=proxy.url) as post:
            twice(post, chat(sse_server), script)
        assert proxy.asked == [f"POST {chat(sse_server)}"] * 2
        (call,), made = heard.calls, connects(heard)
        is_kept = proxy.connections == 1  # aiohttp 3.10 does not
        second = PARTS[1:] if is_kept else PARTS
        assert (parts(call), call.requests, call.retries) == ([*PARTS, *second], 2, 0)
        assert reused(heard) == [False, is_kept]
        assert len(made) == proxy.connections
        told = {TCP} if self.tells_connecting else set()
        assert {frozenset(one.attributes) for one in made} == {frozenset(told)}
        attempts_are_true(heard, sse_server.served(script.label))

    @pytest.fixture(params=[407, 502])
    def refusing(self, request, proxy):
        proxy.refuses_by, proxy.refuses_times, proxy.answer_s = request.param, 1, DELAY_S
        return proxy

    def test_a_tunnel_that_is_refused(self, opened, secured, refusing, script, heard):
        with opened(proxy=refusing.url) as post:
            insists(post, chat(secured), script)
        (call,) = heard.calls
        assert (call.requests, call.retries, call.error_type) == (2, 1, None)
        assert parts(call) == ["connect", *PARTS]
        assert went(heard) == [("retry", self.refused), ("inference", None)]
        first, second = waits(heard)
        assert first.end_ns == second.start_ns
        assert took_s(first) >= DELAY_S
        assert reused(heard) == [None, False]

    def test_a_proxy_that_always_refuses(self, opened, secured, proxy, script, heard):
        proxy.refuses_times = 99
        fails_as_ever(opened, chat(secured), script, proxy=proxy.url)
        assert (heard.calls[0].requests, went(heard)) == (1, [("retry", self.refused)])
        assert parts(heard.calls[0]) == ["connect"]
        assert secured.handshakes == []

    def test_a_request_that_a_proxy_does_not_forward(
        self, opened, sse_server, proxy, script, heard
    ):
        proxy.refuses_times = 1
        with opened(proxy=proxy.url) as post:
            insists(post, chat(sse_server), script)
        assert heard.calls[0].retries == 1
        assert went(heard) == [("retry", "502"), ("inference", None)]

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_a_proxy_that_is_not_there(self, opened, scheme, script, heard):
        url = f"{scheme}://127.0.0.1/chat"
        fails_as_ever(opened, url, script, proxy=f"http://127.0.0.1:{closed_port()}")
        ((name, reason),) = went(heard)
        assert (name, parts(heard.calls[0])) == ("retry", ["connect"])
        assert reason is not None
        assert heard.calls[0].requests == 1

    def test_a_tunnel_to_a_server_that_nobody_vouches_for(
        self, opened, secured, proxy, script, heard
    ):
        fails_as_ever(opened, chat(secured), script, proxy=proxy.url, trusts=False)
        (call,), (connect,) = heard.calls, connects(heard)
        assert (call.requests, parts(call)) == (1, ["connect"])
        ((name, reason),) = went(heard)
        assert (name, reason in self.untrusted) == ("retry", True)
        assert TLS not in connect.attributes
