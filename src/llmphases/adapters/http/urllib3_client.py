"""urllib3, and so requests and botocore. It tells nothing, so its own steps are hooked into."""

from __future__ import annotations

from typing import Any

from llmphases.capture.clients.contract import Hook, Sdk
from llmphases.capture.clients.http_attempts import HttpAttempt, attempt_here, begin_http
from llmphases.conventions import CONNECT_TCP, CONNECT_TLS
from llmphases.observers import never_raises

_here = never_raises(attempt_here)


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
    path = url.partition("?")[0]
    address = f"{pool.scheme}://{pool.host}:{pool.port}{path}"
    is_connected, may_be_new = conn.sock is not None, pool.proxy is not None  # dug a tunnel before
    attempt = begin_http(method.upper(), address)
    if attempt is not None and is_connected:
        attempt.sending(may_be_new=may_be_new)
    return attempt


@never_raises
def _answered(attempt: HttpAttempt, response: Any) -> None:
    attempt.answered(response.status, response.headers.items())
    if response.closed:
        attempt.body_over()


def _connect(wrapped: Any, conn: Any, args: Any, kwargs: Any) -> Any:
    return _connected(wrapped, args, kwargs, is_tls=False)


def _connect_tls(wrapped: Any, conn: Any, args: Any, kwargs: Any) -> Any:
    return _connected(wrapped, args, kwargs, is_tls=True)


def _connected(wrapped: Any, args: Any, kwargs: Any, *, is_tls: bool) -> Any:
    attempt = _here()
    if attempt is None:
        return wrapped(*args, **kwargs)
    attempt.connecting()
    attempt.part_begins()
    result = wrapped(*args, **kwargs)
    if is_tls:
        attempt.part_ends(CONNECT_TLS)
    attempt.sending()
    return result


def _new_conn(wrapped: Any, conn: Any, args: Any, kwargs: Any) -> Any:
    """Resolve the name, and connect the socket."""
    sock = wrapped(*args, **kwargs)
    attempt = _here()
    if attempt is not None:
        attempt.part_ends(CONNECT_TCP)
        attempt.part_begins()
    return sock


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
    "urllib3.connectionpool:HTTPConnectionPool._make_request": _make_request,
    "urllib3.connection:HTTPConnection.connect": _connect,
    "urllib3.connection:HTTPSConnection.connect": _connect_tls,
    "urllib3.connection:HTTPConnection._new_conn": _new_conn,
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
