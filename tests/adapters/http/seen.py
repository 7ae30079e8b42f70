"""What tests of HTTP clients look at."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import socket

from llmphases.capture.clients.contract import Method, Sdk
from llmphases.capture.clients.patches import Patches

MESSAGES = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
PARTS = ["connect", "send", "wait_headers", "read_first"]


class Asks:
    """What an SDK looks like, with any HTTP client below it."""

    def ask(self, by, *, model):
        return by()

    async def ask_async(self, by, *, model):
        return await by()


HERE = Sdk(
    name="here",
    package="adapters",
    distribution="there is none",
    since=(0,),
    before=(1,),
    methods=tuple(Method(where=f"{__name__}:Asks.{name}") for name in ("ask", "ask_async")),
)


def installed(*names):
    """Those of some packages that are there, by name; tests of the others are left out."""
    return {name: importlib.import_module(name) for name in names if importlib.util.find_spec(name)}


@contextlib.contextmanager
def hooked(*clients):
    """These clients, hooked into for a while."""
    patches = [Patches(client) for client in clients]
    for one in patches:
        assert one.install() is None
    try:
        yield
    finally:
        for one in patches:
            one.uninstall()


def parts(call):
    """The names of the details, in order."""
    return [detail.name for detail in call.details]


def waits(heard):
    """The phases of requests up to their first token, in order."""
    waiting = {"time_to_first_token", "inference", "retry"}
    return sorted(
        (p for p in heard.phases if not p.is_detail and p.name in waiting),
        key=lambda phase: phase.request,
    )


def reused(heard):
    """Of each request, whether its connection was there before."""
    return [phase.attributes.get("llmphases.connection.reused") for phase in waits(heard)]


def closed_port():
    """A port that refuses connections."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def attempts_are_true(heard, served):
    """Each attempt was sent before the server had it, and after it had answered the one before."""
    for phase, one in zip(waits(heard), served, strict=True):
        assert phase.start_ns <= one.received_ns
    for phase, before in zip(waits(heard)[1:], served, strict=False):
        assert before.headers_ns is None or before.headers_ns <= phase.start_ns
