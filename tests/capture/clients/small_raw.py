"""A client library as small as can be whose answers come within raw responses."""

from __future__ import annotations

import json
from typing import Any

SSE = "text/event-stream"


class Http:
    """A response whose body is there, or comes when it is read."""

    def __init__(self, body: Any, *, kind: str, is_closed: bool) -> None:
        self.headers = {"content-type": kind}
        self.is_closed = is_closed
        self._body = body

    def read(self) -> bytes:
        body = self._body() if callable(self._body) else self._body
        if isinstance(body, BaseException):
            raise body
        self.is_closed = True
        self._body = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._body

    @property
    def content(self) -> bytes:
        assert self.is_closed, "asked for before it was read"
        return self._body


class APIResponse:
    """`parse` gives the same object each time, and reads by `read`, as those of SDKs do."""

    def __init__(self, http: Http, stream: Any = None) -> None:
        self.http_response = http
        self._stream = stream
        self._parsed: Any = None

    def parse(self) -> Any:
        if self._parsed is None:
            self._parsed = self._stream or json.loads(self.read())
        return self._parsed

    def read(self) -> bytes:
        return self.http_response.read()

    def iter_lines(self) -> Any:
        yield from self._stream or self.read().decode().splitlines()

    def close(self) -> None:
        self.http_response.is_closed = True


class AsyncAPIResponse(APIResponse):
    """The same, awaited."""

    async def parse(self) -> Any:
        return APIResponse.parse(self)

    async def close(self) -> None:
        APIResponse.close(self)


class Helper:
    """Reads a stream, and closes what is below it."""

    def __init__(self, raw_stream: Any) -> None:
        self._raw_stream = raw_stream
        self.is_closed = False

    def __iter__(self) -> Any:
        for item in self._raw_stream:
            yield item, "derived"

    def close(self) -> None:
        self.is_closed = True


class AsyncHelper(Helper):
    """The same, awaited."""

    async def close(self) -> None:
        self.is_closed = True


class Client:
    """`ask` hands out its first argument, or what that gives."""

    def ask(self, answer: Any) -> Any:
        return answer() if callable(answer) else answer


class Stream:
    """As an SDK's stream: an iterator with a class of its own."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return next(self._source)

    def close(self) -> None:
        self._source.close()
