"""Output of a command as it comes, for sync and async readers."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, cast

from llmphases.calls import Call, Ended, ProcessUse
from llmphases.capture.children.command import Command, Text
from llmphases.capture.children.run import CommandRun
from llmphases.capture.children.sinks import Handed
from llmphases.capture.children.tap.contract import View


class _Stream(Generic[Text]):
    """What both kinds have in common."""

    def __init__(self, command: Command, news: Callable[[], object] = lambda: None) -> None:
        self._command = command
        self._handed = Handed(news)
        self._run = CommandRun(command, self._handed)
        self._is_started = False
        self._thread: threading.Thread | None = None
        decoder = codecs.getincrementaldecoder(command.encoding)("replace")
        self._decoder = decoder if command.text else None
        self._is_read = False

    def _start(self) -> None:
        if self._is_started:
            return
        self._is_started = True
        try:
            self._run.start()
            run, handed = self._run, self._handed
            # It knows the run, not the stream: a stream that is dropped has its child ended.
            thread = threading.Thread(
                target=_complete, args=(run, handed), name="llmphases-command", daemon=True
            )
            _started(thread, run)
            self._thread = thread
        except BaseException as error:
            self._is_read = True
            self._run.end(error)
            raise

    def _stop(self) -> None:
        if not self._is_started:
            self._is_started = self._is_read = True
        self._is_read = True
        self._handed.drop()
        self._run.stop("closed")

    def _next(self, *, wait: bool) -> Text | None:
        """The next piece; None: there is none now."""
        while True:
            data, was_full = self._handed.take(wait=wait)
            if data is None:
                return None
            if was_full:
                self._run.wake()
            piece = data if self._decoder is None else self._decoder.decode(data)
            if piece:
                return cast("Text", piece)

    def _last(self) -> Text | None:
        """What the end of output makes of an unfinished character; then what the run came to."""
        if not self._is_read:
            self._is_read = True
            rest: Any = "" if self._decoder is None else self._decoder.decode(b"", final=True)
            if rest:
                return cast("Text", rest)
        self._handed.raise_error()
        return None

    @property
    def stderr(self) -> Text:
        """What came out of stderr, the last 64 KiB of it."""
        return cast("Text", self._command.decoded(self._handed.so_far()[1]))

    @property
    def returncode(self) -> int | None:
        """The exit code (negative for a signal); None before the end."""
        return self._run.code

    @property
    def call(self) -> Call | None:
        """What happened, once it is over; None where it was part of a call, or tracing is off."""
        return self._run.call

    @property
    def process(self) -> ProcessUse | None:
        """What the child and its descendants have used, once it is gone."""
        return self._run.use

    @property
    def tap(self) -> View | None:
        """With `tap=True`: what could be seen, once it is over."""
        return self._run.tap_view

    def __del__(self) -> None:
        if getattr(self, "_thread", None) is not None:
            self._stop()


class CommandStream(_Stream[Text]):
    """Stdout of a command, piece by piece, as it comes; made by `stream_command`.

    The command starts with the first `next` (or with `with`). `close`, or dropping the stream, ends
    it.
    """

    def __init__(self, command: Command) -> None:
        super().__init__(command)

    def __iter__(self) -> Self:
        """Itself."""
        return self

    def __next__(self) -> Text:
        """The next piece; at the end raises what `check` and `timeout` ask for."""
        try:
            self._start()
            piece = None if self._is_read else self._next(wait=True)
        except BaseException:
            self._stop()
            raise
        piece = piece or self._last()
        if piece is None:
            raise StopIteration
        return piece

    def close(self) -> None:
        """End the command if it still runs, and wait until it is gone."""
        self._stop()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        """The command starts."""
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The command ends."""
        self.close()


class AsyncCommandStream(_Stream[Text]):
    """The same for `async for`; made by `stream_command_async`."""

    def __init__(self, command: Command) -> None:
        self._news = _News()
        super().__init__(command, self._news.tell)

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> Text:
        """The next piece; at the end raises what `check` and `timeout` ask for."""
        try:
            self._news.listen()
            self._start()
            piece = await self._piece()
        except BaseException as error:
            self._stop()
            if isinstance(error, asyncio.CancelledError):
                await self._gone()
            raise
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def _piece(self) -> Text | None:
        while not self._is_read:
            self._news.forget()
            piece = self._next(wait=False)
            if piece is not None:
                return piece
            if self._handed.is_over:
                break
            await self._news.wait()
        return self._last()

    async def aclose(self) -> None:
        """End the command if it still runs, and wait until it is gone."""
        self._stop()
        await self._gone()

    async def _gone(self) -> None:
        thread = self._thread
        while thread is not None and thread.is_alive() and not self._handed.is_over:
            self._news.forget()
            if self._handed.is_over:
                return
            try:
                await self._news.wait()
            except asyncio.CancelledError:
                self._run.kill()

    async def __aenter__(self) -> Self:
        """The command starts."""
        self._news.listen()
        self._start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The command ends."""
        await self.aclose()


class _News:
    """Wakes the one task that waits, from another thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event: asyncio.Event | None = None

    def listen(self) -> None:
        """From now on, in the running loop."""
        if self._event is None:
            self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()

    def tell(self) -> None:
        """There is something; from whatever thread."""
        if self._loop is not None and self._event is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(self._event.set)

    def forget(self) -> None:
        """What was told so far is known."""
        if self._event is not None:
            self._event.clear()

    async def wait(self) -> None:
        """Until there is something."""
        assert self._event is not None
        await self._event.wait()


def _started(thread: threading.Thread, run: CommandRun) -> None:
    try:
        thread.start()
    except RuntimeError:  # no more threads: a child that nobody reads is of no use
        run.stop("closed")
        run.complete()
        raise


def _complete(run: CommandRun, handed: Handed) -> None:
    error: BaseException | None = None
    try:
        run.complete()
        error = None if run.was_closed else run.failure()
    finally:
        error = error or sys.exception()
        done = Ended.CLOSED if run.was_closed else Ended.EXHAUSTED
        run.end(error, done if error is None else None)
        handed.over(error)
