"""Events of a transport that no server on this machine brings about."""

from __future__ import annotations

import itertools

from llmphases import llm_call
from llmphases.adapters.http.httpx_events import Events
from llmphases.capture.clients.http_attempts import begin_http
from llmphases.testing import FakeClock, recorded


class Sent:
    def __init__(self, method):
        self.method = method


TUNNEL = [
    ("connection.connect_tcp.started", {}, 1),
    ("connection.connect_tcp.complete", {}, 0),
    ("http11.send_request_headers.started", {"request": Sent(b"CONNECT")}, 1),
    ("http11.send_request_headers.complete", {}, 0),
    ("http11.receive_response_headers.started", {"request": Sent(b"CONNECT")}, 1),
    ("http11.receive_response_headers.complete", {}, 0),
    ("http_proxy.start_tls.started", {}, 2),
    ("http_proxy.start_tls.complete", {}, 0),
    ("http11.send_request_headers.started", {"request": Sent(b"POST")}, 1),
    ("http11.receive_response_headers.started", {"request": Sent(b"POST")}, 1),
    ("http11.receive_response_headers.complete", {}, 1),
    ("http11.receive_response_body.started", {}, 0),
    ("http11.response_closed.started", {}, 0),
    ("http11.receive_response_body.failed", {"exception": GeneratorExit()}, 0),
    ("nobody.knows", {}, 0),
]


def test_a_tunnel_through_a_proxy_is_part_of_connecting():
    clock = FakeClock()
    with recorded(clock) as heard, llm_call("mine") as mine, mine.request():
        attempt = begin_http("POST", "https://there/")
        tells = Events(attempt)
        for name, info, seconds in TUNNEL:
            tells.tell(name, info)
            clock.tick(seconds)
    (call,) = heard.calls
    took = {d.name: (d.end_ns - d.start_ns) / 1e9 for d in call.details}
    assert took == {"connect": 5, "send": 1, "wait_headers": 1, "read_first": 1}
    (connect,) = [p for p in heard.phases if p.name == "connect"]
    assert connect.attributes == {"llmphases.connect.tcp": 1.0, "llmphases.connect.tls": 2.0}


def test_odd_events_change_nothing():
    with recorded(FakeClock()) as heard, llm_call("mine") as mine, mine.request():
        tells = Events(begin_http("POST", "https://there/"))
        for event, info in itertools.product(
            ("retry.started", "retry.complete", "", "receive_response_body.failed"), ({}, {"x": 1})
        ):
            tells.tell(f"connection.{event}", info)
    assert heard.calls[0].requests == 1
