"""httpx and httpx2, and so every SDK that sits on one of them.

Both tell what their transport does to a function that a request carries (`extensions`, `trace`),
under the same names. One that the program gave is called as well.
"""

from __future__ import annotations

from typing import Any

from llmphases.adapters.http.httpx_events import Events
from llmphases.capture.clients.contract import Hook, Sdk
from llmphases.capture.clients.http_attempts import HttpAttempt, begin_http
from llmphases.observers import never_raises


def _send(wrapped: Any, transport: Any, args: Any, kwargs: Any) -> Any:
    request, attempt = _begin(args, kwargs)
    if attempt is None:
        return wrapped(*args, **kwargs)
    theirs = _listen(request, attempt, is_async=False)
    token = attempt.enter()
    try:
        response = wrapped(*args, **kwargs)
    except BaseException as error:
        attempt.failed(error)
        raise
    finally:
        attempt.leave(token)
        _give_back(request, theirs)
    _answered(attempt, response)
    return response


async def _send_async(wrapped: Any, transport: Any, args: Any, kwargs: Any) -> Any:
    request, attempt = _begin(args, kwargs)
    if attempt is None:
        return await wrapped(*args, **kwargs)
    theirs = _listen(request, attempt, is_async=True)
    token = attempt.enter()
    try:
        response = await wrapped(*args, **kwargs)
    except BaseException as error:
        attempt.failed(error)
        raise
    finally:
        attempt.leave(token)
        _give_back(request, theirs)
    _answered(attempt, response)
    return response


def _begin(args: Any, kwargs: Any) -> tuple[Any, HttpAttempt | None]:
    request = args[0] if args else kwargs.get("request")
    return request, _begin_of(request)


@never_raises
def _begin_of(request: Any) -> HttpAttempt | None:
    url = request.url
    return begin_http(request.method, f"{url.scheme}://{url.netloc.decode('ascii')}{url.path}")


@never_raises
def _answered(attempt: HttpAttempt, response: Any) -> None:
    attempt.answered(response.status_code, response.headers.multi_items())


# --- what the transport tells -------------------------------------------------------------------


@never_raises
def _listen(request: Any, attempt: HttpAttempt, *, is_async: bool) -> Any:
    """Have the transport tell us, and whoever listens already; gives the request's extensions."""
    theirs = request.extensions
    tells = Events(attempt).tell
    onward = theirs.get("trace") or (_nothing_async if is_async else _nothing)

    def told(name: str, info: dict[str, Any]) -> Any:
        tells(name, info)
        return onward(name, info)

    request.extensions = {**theirs, "trace": told}
    return theirs


@never_raises
def _give_back(request: Any, theirs: Any) -> None:
    """The program finds its request as it was; the transport has got what it needs."""
    if theirs is not None:
        request.extensions = theirs


def _nothing(name: str, info: dict[str, Any]) -> None:
    """Nobody else listens."""


async def _nothing_async(name: str, info: dict[str, Any]) -> None:
    """Nobody else listens."""


def _of(package: str, since: tuple[int, ...], before: tuple[int, ...]) -> Sdk:
    return Sdk(
        name=package,
        package=package,
        distribution=package,
        since=since,
        before=before,
        hooks=(
            Hook(where=f"{package}:HTTPTransport.handle_request", wrapper=_send),
            Hook(where=f"{package}:AsyncHTTPTransport.handle_async_request", wrapper=_send_async),
        ),
    )


HTTPX = _of("httpx", since=(0, 25), before=(1,))
HTTPX2 = _of("httpx2", since=(2,), before=(3,))
