"""A client library as small as can be; what it answers is what it was asked with."""

from __future__ import annotations

import functools
from typing import Any


def decorated(function: Any) -> Any:
    """As SDKs check arguments: a coroutine function is none any more, by its looks."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return checked


class Client:
    """`ask` hands out its first argument; what can be raised is raised."""

    @decorated
    def ask(self, answer: Any, *, model: str | None = None) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    def ask_inside(self, answer: Any, *, model: str) -> Any:
        """A method that asks by another one."""
        return self.ask(answer, model=model)

    def call(self, path: str, answer: Any) -> Any:
        """Everything that its server can do; `/ask` alone asks a model."""
        return {"path": path, "stream": answer}

    def read(self, answer: Any, *, model: str | None = None, stream: bool = True) -> Any:
        """A generator that asks with its first step, or a whole answer."""

        def read() -> Any:
            yield from answer()

        return read() if stream else answer


class AsyncClient:
    """The same, awaited."""

    @decorated
    async def ask(self, answer: Any, *, model: str | None = None) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return await answer() if callable(answer) else answer

    async def read(self, answer: Any, *, stream: bool = True) -> Any:
        """As that of `Client`."""

        async def read() -> Any:
            for item in answer():
                yield item

        return read() if stream else answer
