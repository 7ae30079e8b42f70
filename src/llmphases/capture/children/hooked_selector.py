"""The selector with which `subprocess` reads several pipes at once, and a stamp for each chunk.

`Popen.communicate` reads the descriptors itself, so `StampedPipe` does not see it; but it appends
each chunk to a list per pipe, one for each time that the selector called the pipe ready.
"""

from __future__ import annotations

import selectors
import subprocess
from typing import TYPE_CHECKING, Any

from llmphases.observers import never_raises

if TYPE_CHECKING:
    from llmphases.capture.children.hooked_child import HookedStream

_LONGEST_CHUNK = 32768
"""What `communicate` asks for at once."""

_Base: Any = subprocess._PopenSelector  # type: ignore[attr-defined]  # noqa: SLF001  # the place


class _Reading:
    """One pipe: what `communicate` has read of it so far, and when it was called ready."""

    __slots__ = ("chunks", "ready_ns", "seen", "stream", "waited")

    def __init__(self, stream: HookedStream, chunks: list[bytes]) -> None:
        self.stream = stream
        self.chunks = chunks
        self.seen = len(chunks)
        self.ready_ns: int | None = None
        self.waited = False

    def settle(self) -> None:
        """Give the chunk that was read since; after a time-out there is none."""
        ready_ns, self.ready_ns = self.ready_ns, None
        if ready_ns is None or len(self.chunks) <= self.seen:
            return
        self.seen = len(self.chunks)
        data = self.chunks[-1]
        if data:
            drained = len(data) < _LONGEST_CHUNK
            self.stream.read(data, waited=self.waited, is_drained=drained, at_ns=ready_ns)


class StampingSelector(_Base):  # type: ignore[misc]  # poll where there is one, else select
    """Waits as its base does, and looks before whether it will have to."""

    _readings: dict[Any, _Reading] | None = None

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key: selectors.SelectorKey = super().register(fileobj, events, data)
        if events & selectors.EVENT_READ:
            self._begin(fileobj)
        return key

    @never_raises
    def _begin(self, fileobj: Any) -> None:
        from llmphases.capture.children.hooked_pipes import stamped_pipe_of

        pipe = stamped_pipe_of(fileobj)
        chunks = pipe.stream.chunks_of(fileobj) if pipe is not None else None  # type: ignore[attr-defined]  # of a hooked child
        if pipe is not None and chunks is not None:
            self._readings = self._readings or {}
            self._readings[fileobj] = _Reading(pipe.stream, chunks)  # type: ignore[arg-type]  # likewise

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if not self._readings:
            return super().select(timeout)  # type: ignore[no-any-return]  # a base known at run time
        self._settle()
        ready = super().select(0)
        waited = not any(events & selectors.EVENT_READ for _, events in ready)
        if waited:
            self._seen_empty()
            if not ready and timeout != 0:
                ready = super().select(timeout)
        self._note(ready, waited=waited)
        return ready  # type: ignore[no-any-return]  # likewise

    @never_raises
    def _note(self, ready: Any, *, waited: bool) -> None:
        for key, events in ready:
            reading = self._readings.get(key.fileobj) if self._readings else None
            if reading is not None and events & selectors.EVENT_READ:
                reading.ready_ns, reading.waited = reading.stream.now(), waited

    @never_raises
    def _seen_empty(self) -> None:
        for reading in (self._readings or {}).values():
            reading.stream.seen_empty()

    @never_raises
    def _settle(self) -> None:
        for reading in (self._readings or {}).values():
            reading.settle()

    def close(self) -> None:
        self._settle()
        super().close()
