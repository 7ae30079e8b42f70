"""aiohttp, by its own tracing: sessions made while it is hooked into tell us as well."""

from __future__ import annotations

import sys
from typing import Any

from llmphases.capture.clients.contract import Hook, Sdk
from llmphases.capture.clients.http_attempts import HttpAttempt, begin_http
from llmphases.conventions import CONNECT_DNS
from llmphases.observers import never_raises


def _make_session(wrapped: Any, session: Any, args: Any, kwargs: Any) -> Any:
    listener = _listener()
    if listener is not None:
        kwargs = {**kwargs, "trace_configs": [*(kwargs.get("trace_configs") or ()), listener]}
    return wrapped(*args, **kwargs)


@never_raises
def _listener() -> Any:
    """What hears of the requests of a session; each has its own, as aiohttp counts them."""
    config = sys.modules["aiohttp"].TraceConfig()
    for signal, act in _SIGNALS.items():
        getattr(config, signal).append(_heard(act))
    return config


def _heard(act: Any) -> Any:
    acts = never_raises(act)

    async def heard(session: Any, about: Any, params: Any) -> None:
        acts(session, about, params)

    return heard


def _attempt(about: Any) -> HttpAttempt | None:
    return getattr(about, "llmphases_attempt", None)


def _started(session: Any, about: Any, params: Any) -> None:
    make_session = sys.modules["aiohttp"].ClientSession.__init__
    if hasattr(make_session, "__wrapped__"):  # else the hook is out again
        url = params.url
        address = f"{url.scheme}://{url.authority}{url.path}"
        about.llmphases_attempt = begin_http(params.method.upper(), address)


def _connecting(session: Any, about: Any, params: Any) -> None:
    if attempt := _attempt(about):
        attempt.connecting()


def _resolving(session: Any, about: Any, params: Any) -> None:
    if attempt := _attempt(about):
        attempt.part_begins()


def _resolved(session: Any, about: Any, params: Any) -> None:
    if attempt := _attempt(about):
        attempt.part_ends(CONNECT_DNS)


def _connected(session: Any, about: Any, params: Any) -> None:
    if attempt := _attempt(about):
        attempt.sending()


def _sent(session: Any, about: Any, params: Any) -> None:
    if attempt := _attempt(about):
        attempt.sent()


def _headers_came(session: Any, about: Any, params: Any) -> None:
    if attempt := _attempt(about):
        attempt.headers_came()
        attempt.answered(params.response.status, params.response.headers.items())


def _body_came(session: Any, about: Any, params: Any) -> None:
    """As a whole: of what is read piece by piece, aiohttp does not tell."""
    if attempt := _attempt(about):
        attempt.body_over()


def _failed(session: Any, about: Any, params: Any) -> None:
    if attempt := _attempt(about):
        error = params.exception
        status = getattr(error, "status", None)
        is_of_a_proxy = isinstance(error, sys.modules["aiohttp"].ClientHttpProxyError)
        if isinstance(status, int) and status > 0 and not is_of_a_proxy:
            attempt.answered(status, ())  # the session makes errors of these
        attempt.failed(error)


_SIGNALS = {
    "on_request_start": _started,
    "on_connection_create_start": _connecting,
    "on_dns_resolvehost_start": _resolving,
    "on_dns_resolvehost_end": _resolved,
    "on_connection_create_end": _connected,
    "on_connection_reuseconn": _connected,
    "on_request_headers_sent": _sent,
    "on_request_end": _headers_came,
    "on_response_chunk_received": _body_came,
    "on_request_exception": _failed,
}
AIOHTTP = Sdk(
    name="aiohttp",
    package="aiohttp",
    distribution="aiohttp",
    since=(3, 10),
    before=(4,),
    hooks=(
        Hook(where="aiohttp:ClientSession.__init__", wrapper=_make_session, matters_before=True),
    ),
)
