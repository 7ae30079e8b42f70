"""What stands around the methods of an SDK once it is hooked into."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llmphases.capture.clients.closing import around_closing
from llmphases.capture.clients.contract import Closing, Hooked, Method, Reading
from llmphases.capture.clients.exchange import begin_exchange, run, run_async
from llmphases.capture.clients.raw_responses import around_reading
from llmphases.capture.clients.read_later import watched_from_first_read
from llmphases.capture.returned import Unstarted, named_as
from llmphases.observers import never_raises

Wrapper = Callable[[Any, Any, Any, Any], Any]


def wrapper_for(what: Hooked, function: Any) -> Wrapper:
    """What runs in place of a function that is hooked into."""
    if isinstance(what, Method):
        return around(what, function)
    if isinstance(what, Reading):
        return around_reading(what)
    return around_closing(what) if isinstance(what, Closing) else what.wrapper


def around(method: Method, function: Any) -> Wrapper:
    """What runs in place of a method; a coroutine begins its request when it is first awaited."""
    asks_when_read = never_raises(method.asks_when_read)

    def asked(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        if asks_when_read(instance, args, kwargs):
            given_out = wrapped(*args, **kwargs)
            return watched_from_first_read(method, given_out, instance, args, kwargs)
        exchange = begin_exchange(method, instance, args, kwargs)
        if exchange is None:
            return wrapped(*args, **kwargs)
        return run(exchange, wrapped, args, kwargs)

    async def later(held: Unstarted, instance: Any, args: Any, kwargs: Any) -> Any:
        body = held.taken()
        if asks_when_read(instance, args, kwargs):
            given_out = await body
            return watched_from_first_read(method, given_out, instance, args, kwargs)
        exchange = begin_exchange(method, instance, args, kwargs)
        return await body if exchange is None else await run_async(exchange, body)

    def asked_later(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        body = wrapped(*args, **kwargs)  # arguments are checked at the call
        if not inspect.iscoroutine(body):
            return body
        return named_as(later(Unstarted(body), instance, args, kwargs), body)

    # A decorator of the SDK's own may hide that a function is a coroutine function.
    is_async = inspect.iscoroutinefunction(inspect.unwrap(function))
    return asked_later if is_async else asked
