"""urllib3, and so requests and botocore. It tells nothing, so its own steps are hooked into."""

from __future__ import annotations

import ssl
import sys
from contextvars import ContextVar
from typing import Any

from llmphases.capture.clients.contract import Hook, Sdk
from llmphases.capture.clients.http_attempts import HttpAttempt, attempt_here, begin_http
from llmphases.conventions import CONNECT_TCP, CONNECT_TLS
from llmphases.observers import never_raises

_here = never_raises(attempt_here)


class _Sending:
    """What a pool sends, for which it may have to dig a tunnel through a proxy first."""

    __slots__ = ("attempt", "has_dug", "method", "path")

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self.has_dug = False
        self.attempt: HttpAttempt | None = None
        """The attempt that has begun with the tunnel."""


_sending: ContextVar[_Sending | None] = ContextVar("llmphases urllib3 sending", default=None)


def _urlopen(wrapped: Any, pool: Any, args: Any, kwargs: Any) -> Any:
    """Whoever digs the tunnel below is not told what for."""
    sending = None if pool.proxy is None else _sends(*args, **kwargs)
    if sending is None:
        return wrapped(*args, **kwargs)
    token = _sending.set(sending)
    try:
        return wrapped(*args, **kwargs)
    finally:
        _sending.reset(token)


@never_raises
def _sends(method: str, url: str, *_: Any, **__: Any) -> _Sending:
    return _Sending(method, url)


def _prepare_proxy(wrapped: Any, pool: Any, args: Any, kwargs: Any) -> Any:
    """A tunnel is made: the first thing that is done of an attempt."""
    sending = _sending.get()
    if sending is None:
        return wrapped(*args, **kwargs)
    sending.has_dug = True
    attempt = _begin_at(pool, sending.method, sending.path)
    if attempt is None:
        return wrapped(*args, **kwargs)
    token = attempt.enter()
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        attempt.failed(_as_told(error) or error)
        raise
    finally:
        attempt.leave(token)
    sending.attempt = attempt
    return result


@never_raises
def _as_told(error: BaseException) -> BaseException:
    """What urllib3 will tell the program of a tunnel that could not be made."""
    words: Any = sys.modules["urllib3.exceptions"]
    told = error
    if isinstance(error, ssl.SSLError):
        told = words.SSLError(error)
    elif type(error) is OSError:  # neither a time-out nor a broken connection: the proxy's answer
        told = words.ProxyError(str(error), error)
    return told


def _make_request(wrapped: Any, pool: Any, args: Any, kwargs: Any) -> Any:
    """One attempt: redirections and urllib3's own retries come here again."""
    attempt = _begin(pool, *args, **kwargs)
    if attempt is None:
        return wrapped(*args, **kwargs)
    token = attempt.enter()
    try:
        response = wrapped(*args, **kwargs)
    except BaseException as error:
        attempt.failed(error)
        raise
    finally:
        attempt.leave(token)
    _answered(attempt, response)
    return response


@never_raises
def _begin(pool: Any, conn: Any, method: str, url: str, *_: Any, **__: Any) -> HttpAttempt | None:
    sending = _sending.get()
    begun = sending.attempt if sending is not None else None
    if sending is not None and begun is not None:
        sending.attempt = None
        return begun
    is_connected, has_dug = conn.sock is not None, sending is not None and sending.has_dug
    attempt = _begin_at(pool, method, url)
    if attempt is not None and is_connected:
        attempt.sending(may_be_new=has_dug)
    return attempt


@never_raises
def _begin_at(pool: Any, method: str, url: str) -> HttpAttempt | None:
    path = url.partition("?")[0]
    return begin_http(method.upper(), f"{pool.scheme}://{pool.host}:{pool.port}{path}")


@never_raises
def _answered(attempt: HttpAttempt, response: Any) -> None:
    attempt.answered(response.status, response.headers.items())
    if response.closed:
        attempt.body_over()


def _connect(wrapped: Any, conn: Any, args: Any, kwargs: Any) -> Any:
    """The socket, a tunnel through a proxy, and TLS: whatever it takes."""
    attempt = _here()
    if attempt is None:
        return wrapped(*args, **kwargs)
    attempt.connecting()
    result = wrapped(*args, **kwargs)
    attempt.sending()
    return result


def _new_conn(wrapped: Any, conn: Any, args: Any, kwargs: Any) -> Any:
    """Resolve the name, and connect the socket."""
    return _timed(CONNECT_TCP, wrapped, args, kwargs)


def _wrap_socket(wrapped: Any, nobody: Any, args: Any, kwargs: Any) -> Any:
    """The handshake, and no certificates read from files for it."""
    return _timed(CONNECT_TLS, wrapped, args, kwargs)


def _timed(part: str, wrapped: Any, args: Any, kwargs: Any) -> Any:
    attempt = _here()
    if attempt is None:
        return wrapped(*args, **kwargs)
    attempt.part_begins()
    result = wrapped(*args, **kwargs)
    attempt.part_ends(part)
    return result


def _get_response(wrapped: Any, conn: Any, args: Any, kwargs: Any) -> Any:
    attempt = _here()
    if attempt is not None:
        attempt.sent()
    return wrapped(*args, **kwargs)


def _response(wrapped: Any, response: Any, args: Any, kwargs: Any) -> Any:
    """Its headers are there; the body as well once it is made, if the program wants that."""
    attempt = _here()
    if attempt is not None:
        attempt.headers_came()
    return wrapped(*args, **kwargs)


_HOOKS = {
    "urllib3.connectionpool:HTTPConnectionPool.urlopen": _urlopen,
    "urllib3.connectionpool:HTTPSConnectionPool._prepare_proxy": _prepare_proxy,
    "urllib3.connectionpool:HTTPConnectionPool._make_request": _make_request,
    "urllib3.connection:HTTPConnection.connect": _connect,
    "urllib3.connection:HTTPSConnection.connect": _connect,
    "urllib3.connection:HTTPConnection._new_conn": _new_conn,
    "urllib3.util.ssl_:_ssl_wrap_socket_impl": _wrap_socket,
    "urllib3.connection:HTTPConnection.getresponse": _get_response,
    "urllib3.response:HTTPResponse.__init__": _response,
}
URLLIB3 = Sdk(
    name="urllib3",
    package="urllib3",
    distribution="urllib3",
    since=(2,),
    before=(3,),
    hooks=tuple(Hook(where=where, wrapper=wrapper) for where, wrapper in _HOOKS.items()),
)
