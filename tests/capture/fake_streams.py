"""Stream objects as SDKs have them: each answers one question about how streams are read."""

from __future__ import annotations

import contextlib

ROLE = {"choices": [{"delta": {"role": "assistant", "content": ""}}]}
EMPTY = {"choices": [{"delta": {"content": ""}}]}
PING = {"type": "ping"}


def token(text="word "):
    return {"choices": [{"delta": {"content": text}}]}


class Response:
    def __init__(self):
        self.closed = False

    def close(self):
        self.closed = True

    async def aclose(self):
        self.closed = True


class FakeStream:
    """As openai's: `iter()` makes a generator over one iterator, `next()` steps that iterator."""

    model = "fake"

    def __init__(self, chunks=("a", "b", "c"), clock=None, gap=0.0):
        self.response = Response()
        self.iterator = self._chunks(chunks, clock, gap)
        self.left = []

    def _chunks(self, chunks, clock, gap):
        for chunk in chunks:
            if clock is not None:
                clock.tick(gap)
            yield chunk

    def __iter__(self):
        try:
            yield from _steps(self.iterator)
        finally:
            self.left.append("iterator")

    def __next__(self):
        return next(self.iterator)

    def __enter__(self):
        return self

    def __exit__(self, *about):
        self.left.append(about[0])
        self.close()

    def close(self):
        self.response.close()

    def helper(self):
        return self.model

    def iter_text(self):
        yield from _steps(self.iterator)


def _steps(iterator):
    for chunk in iterator:  # noqa: UP028  # `yield from` would close it
        yield chunk


class FakeAsyncStream:
    """As openai's: `close` is to be awaited, and there is no `aclose`."""

    def __init__(self, chunks=("a", "b", "c")):
        self.response = Response()
        self.iterator = self._chunks(chunks)

    async def _chunks(self, chunks):
        for chunk in chunks:
            yield chunk

    async def __aiter__(self):
        async for chunk in self.iterator:
            yield chunk

    async def __anext__(self):
        return await anext(self.iterator)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *about):
        await self.close()

    async def close(self):
        await self.response.aclose()

    async def helper(self):
        return "helped"


class SelfIterating:
    """As litellm's: `iter()` is the stream itself, so what it knows is asked of the iterator."""

    def __init__(self, chunks=("a", "b", "c")):
        self.chunks = list(chunks)
        self.usage = None

    def __iter__(self):
        return self

    def __next__(self):
        if not self.chunks:
            self.usage = 3
            raise StopIteration
        return self.chunks.pop(0)


class AsyncSelfIterating:
    def __init__(self, chunks=("a", "b", "c")):
        self.chunks = list(chunks)

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.chunks:
            raise StopAsyncIteration
        return self.chunks.pop(0)

    async def aclose(self):
        self.chunks.clear()


class Poll:
    """A consumer of a queue: it may say `TimeoutError` and have more later."""

    def __init__(self, script):
        self.script = list(script)

    def __iter__(self):
        return self

    def __next__(self):
        item = self.script.pop(0)
        if isinstance(item, BaseException):
            raise item
        return item

    async def anext(self):
        return next(self)


class FakeStreamManager:
    """As anthropic's: entering it makes the request and gives the stream."""

    def __init__(self, stream=None):
        self.stream = stream or TextStream()

    def __enter__(self):
        return self.stream

    def __exit__(self, *about):
        self.stream.close()


class AsyncFakeStreamManager:
    def __init__(self, stream=None):
        self.stream = stream or FakeAsyncStream()

    async def __aenter__(self):
        return self.stream

    async def __aexit__(self, *about):
        await self.stream.close()


class TextStream(FakeStream):
    """As anthropic's: holds a generator of its text beside its events."""

    def __init__(self, chunks=("a", "b", "c")):
        super().__init__(chunks)
        self.text_stream = self.iter_text()

    def until_done(self):
        for _ in self:
            pass


class BodyStream:
    """As an HTTP body: many ways to read it."""

    def __init__(self):
        self.lines = [b"one\n", b"two\n"]

    def read(self):
        rest, self.lines = b"".join(self.lines), []
        return rest

    def readline(self):
        return self.lines.pop(0) if self.lines else b""

    def iter_lines(self):
        while self.lines:
            yield self.readline()

    def iter_chunks(self):
        return self.iter_lines()

    def __iter__(self):
        return self.iter_lines()


class Sized(FakeStream):
    def __len__(self):
        return 3

    def __bool__(self):
        return False

    def __getitem__(self, index):
        return "abc"[index]

    def __contains__(self, item):
        return item == "a"

    def __eq__(self, other):
        return isinstance(other, Sized)

    def __hash__(self):
        return 7


class ContextManagerStream(contextlib.AbstractContextManager):
    """Its base says that it is iterated nowhere."""

    def __exit__(self, *about):
        return None
