"""The pipes of a child as the program gets them, with a stamp for what it reads.

The same descriptor, the same buffers of the same sizes; only the innermost object, the unbuffered
file, is of another class.
"""

from __future__ import annotations

import io
from typing import Any, Protocol, cast

_PIECE = 64 * 2**10
"""All that a pipe usually holds."""


class StreamReader(Protocol):
    """Who hears of each read."""

    def is_empty(self, fd: int) -> bool:
        """Whether there is nothing to read now, so that a read will wait."""
        ...

    def read(self, data: bytes, *, waited: bool, is_drained: bool) -> None:
        """These bytes were read just now. `is_drained`: there were no more."""
        ...

    def ended(self) -> None:
        """No more will be read."""
        ...


class StampedPipe(io.FileIO):
    """Reads what another file would, which still owns the descriptor."""

    def __init__(self, pipe: io.FileIO, stream: StreamReader) -> None:
        super().__init__(pipe.fileno(), "rb", closefd=False)
        self._pipe = pipe
        self._stream = stream
        self._unread = b""

    @property
    def stream(self) -> StreamReader:
        """Who hears of its reads."""
        return self._stream

    @property
    def closefd(self) -> bool:
        """As the owner has it."""
        return self._pipe.closefd

    def _dealloc_warn(self, source: object) -> None:
        # The buffer asks this of its raw file, so that an unclosed pipe is warned about.
        cast("Any", self._pipe)._dealloc_warn(source)  # noqa: SLF001  # of its own class

    def close(self) -> None:
        if not self.closed:
            self._stream.ended()
        try:
            super().close()
        finally:
            self._pipe.close()

    # A signal whose handler raises may come between any two steps here, where a file in C has none.
    # What was read but not handed over is then for whoever reads next. So a read happens inside
    # `map`, after which `got` knows of it before any handler runs, and what follows an exception
    # calls nothing: handlers run when something was called.

    def readinto(self, buffer: Any, /) -> int | None:
        view = memoryview(buffer)
        if view.nbytes == 0:
            return super().readinto(buffer)
        view = view.cast("B")
        if self._unread:
            length = min(len(view), len(self._unread))
            view[:length] = self._unread[:length]
            self._unread = self._unread[length:]
            return length
        got: list[int | None] = []
        data_of_got = map(bytes, map(view.__getitem__, map(slice, got)))
        waited = self._stream.is_empty(self.fileno())
        try:
            got.extend(map(super().readinto, (buffer,)))
            if got[0]:
                self._tell(bytes(view[: got[0]]), waited=waited, wanted=len(view))
            elif got[0] is not None:
                self._stream.ended()
            return got[0]
        except BaseException:
            if got and got[0]:
                [self._unread] = data_of_got
            raise

    def read(self, size: int | None = -1, /) -> bytes | None:  # type: ignore[override]  # as it is
        if size is None or size < 0:
            return self.readall()
        if self._unread:
            given, self._unread = self._unread[:size], self._unread[size:]
            return given
        waited = self._stream.is_empty(self.fileno())
        got: list[bytes | None] = []
        try:
            got.extend(map(super().read, (size,)))
            if got[0]:
                self._tell(got[0], waited=waited, wanted=size)
            elif got[0] is not None and size:
                self._stream.ended()
            return got[0]
        except BaseException:
            if got and got[0]:
                self._unread = got[0]
            raise

    def readall(self) -> bytes | None:  # type: ignore[override]  # likewise
        piece = self.read(_PIECE)
        if piece is None:  # it does not block, and there is nothing now
            return None
        whole = io.BytesIO()  # its value is no second copy
        while piece:
            whole.write(piece)
            piece = self.read(_PIECE)
        return whole.getvalue()

    def _tell(self, data: bytes, *, waited: bool, wanted: int) -> None:
        self._stream.read(data, waited=waited, is_drained=len(data) < wanted)


def stamped(pipe: Any, stream: StreamReader) -> Any:
    """The same pipe, rebuilt around a `StampedPipe`; anything unusual is left as it is."""
    inner = _innermost(pipe)
    if type(inner) is not io.FileIO:
        return pipe
    made = StampedPipe(inner, stream)  # whatever may fail, fails before anything is taken apart
    if type(pipe) is io.FileIO:
        return made
    if type(pipe) is io.BufferedReader:
        return _rebuffered(pipe, made)
    encoding, errors, by_line = pipe.encoding, pipe.errors, pipe.line_buffering
    buffered = _rebuffered(pipe.detach(), made)
    return io.TextIOWrapper(buffered, encoding=encoding, errors=errors, line_buffering=by_line)


def _rebuffered(pipe: io.BufferedReader, made: Any) -> io.BufferedReader:
    size = pipe.__sizeof__() - io.BufferedReader.__basicsize__  # `io.open` has its own rules
    pipe.detach()
    return io.BufferedReader(made, size)


def stamped_pipe_of(pipe: object) -> StampedPipe | None:
    """What `stamped` has put in the innermost place."""
    inner = _innermost(pipe)
    return inner if type(inner) is StampedPipe else None


def _innermost(pipe: object) -> object:
    try:
        if type(pipe) is io.TextIOWrapper:
            pipe = pipe.buffer
        return pipe.raw if type(pipe) is io.BufferedReader else pipe
    except ValueError:  # the program has detached it
        return None
