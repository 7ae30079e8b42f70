"""What a child process does, as moments of the call that it belongs to.

Whoever reads its output (our own runner, a hook, the command line) says what arrived and when; a
format reads it; the recorder gets moments.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Any

from llmphases.calls import ProcessUse
from llmphases.capture.children.formats import STDERR, STDOUT, CommandFormat
from llmphases.capture.children.lines import LONGEST_JSON, LONGEST_TEXT, Line, LineSplitter
from llmphases.capture.children.printable import PrintableText
from llmphases.capture.children.tap.held import HeldBack
from llmphases.capture.children.tap.moments import TapMoments
from llmphases.capture.children.told import Told
from llmphases.capture.current import wired
from llmphases.observers import Frame, never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.child_events import Event
from llmphases.recorder.children import ChildRecorder

_keys = count()


class ChildObservation:
    """One child process of an open call, from just before its spawn until all is known of it.

    `used` (or `not_spawned`) comes last. Everything may be called from any thread; nothing raises.
    """

    def __init__(
        self, call: CallRecorder, form: CommandFormat, at_ns: int, base: Any = None,
        tapped: TapMoments | None = None,
    ) -> None:  # fmt: skip
        """`at_ns` is the time of the spawn, `base` the context value in which it happens.

        `tapped` sees the child's requests to its model.
        """
        self._call = call
        self._form = form
        self._base = base
        self._child = ChildRecorder(call, at_ns, next(_keys), base)
        self._lock = threading.RLock()
        self._due: deque[Callable[[], None]] = deque()
        self._is_busy = False
        self._reader = form.reader()
        told = Told(call, self._child, at_ns, is_text=form.is_text)
        self._told: Told | HeldBack = told
        self._tapped = tapped
        if tapped is not None:
            tapped.bind(call, self._child, at_ns)
            self._told = HeldBack(told, self._child, tapped)
        self._text = PrintableText()
        self._lines = {
            STDOUT: LineSplitter(LONGEST_JSON),
            STDERR: LineSplitter(LONGEST_TEXT),
        }
        self._latest_ns: int | None = None
        self._line_ns: int | None = None
        self._exit_ns: int | None = None
        self._code: int | None = None
        self._is_over = False

    @property
    def context(self) -> Any:
        """The context value that the child is to go on in: the phase of its start is current."""
        carrier = wired().carrier
        frame = carrier.frame_of(self._base)
        job = frame.job if frame is not None else None
        owner = self._child.spawned or self._call
        return carrier.enter(self._base, Frame(call=self._call, owner=owner, job=job))

    @property
    def error_type(self) -> str | None:
        """Why it failed, by its exit or by its own word; None if it did not, or is not known to."""
        if self._code is not None and self._code < 0:
            return signal_name(-self._code)
        return self._told.error or (str(self._code) if self._code else None)

    @never_raises
    def output(self, stream: int, data: bytes, at_ns: int | None) -> None:
        """These bytes came out of a stream; `at_ns` is when, None if nobody saw it."""
        self._in_turn(partial(self._output, stream, data, at_ns))

    @never_raises
    def closed(self, stream: int) -> None:
        """No more will come of a stream."""
        self._in_turn(partial(self._close, stream))

    @never_raises
    def exited(self, at_ns: int | None, code: int | None) -> None:
        """The child is gone; its output may still come, if it left descendants. `at_ns` as above.

        `code` is negative for the signal that ended it.
        """
        self._in_turn(partial(self._exited, at_ns, code))

    @never_raises
    def not_spawned(self, error_type: str = "spawn failed") -> None:
        """There never was a child."""
        self._in_turn(partial(self._not_spawned, error_type))

    @never_raises
    def used(
        self, use: ProcessUse | None = None, error_type: str | None = None, *, meant: bool = False
    ) -> None:
        """All its output has been given, and this is what it has used.

        `error_type` is a reason that its exit does not tell, e.g. `timeout`. `meant`: somebody
        did not want the rest of it, so that the signal it ended by is no failure.
        """
        self._in_turn(partial(self._used, use, error_type, meant=meant))

    def _in_turn(self, act: Callable[[], None]) -> None:
        """One after the other: a thread waits for others, and what interrupts it waits for it.

        A signal's handler that comes in the middle of this, and looks after the same child, cannot
        wait for the very thread that it interrupts: what it has to tell is told by that.
        """
        with self._lock:
            self._due.append(act)
            if self._is_busy:
                return
            try:
                self._is_busy = True
                while self._due:
                    self._perform(self._due.popleft())
            finally:
                self._is_busy = False

    @never_raises
    def _perform(self, act: Callable[[], None]) -> None:
        act()

    def _output(self, stream: int, data: bytes, at_ns: int | None) -> None:
        if self._is_over or not data:
            return
        if at_ns is not None:
            self._latest_ns = at_ns
        if stream == STDOUT and self._form.is_text:
            self._text.feed(data, at_ns)
        elif stream in self._lines:
            for line in self._lines[stream].feed(data, at_ns):
                self._read(stream, line)

    def _exited(self, at_ns: int | None, code: int | None) -> None:
        self._exit_ns, self._code = at_ns, code

    def _not_spawned(self, error_type: str) -> None:
        self._is_over = True
        self._child.not_spawned(wired().now(), error_type)

    def _used(self, use: ProcessUse | None, error_type: str | None, *, meant: bool) -> None:
        if self._is_over:
            return
        self._is_over = True
        error = error_type or (None if meant else self.error_type)
        self._conclude(error)
        self._child.used(use, error)

    def _conclude(self, error: str | None) -> None:
        for stream in list(self._lines):
            self._close(stream)
        self._apply(self._reader.end(), self._line_ns)
        self._text.end()
        if self._tapped is not None:
            self._tapped.conclude(error)
        self._told.conclude(self._text, streams=self._form.streams)
        exit_ns = self._exit_ns
        if exit_ns is not None:
            self._child.exited(exit_ns, error_type=error)
        elif self._child.is_starting or self._child.has_open_request:
            self._child.exited(self._latest_ns or wired().now(), error_type=error)

    def _close(self, stream: int) -> None:
        splitter = self._lines.pop(stream, None)
        if splitter is not None:
            for line in splitter.end(self._latest_ns):
                self._read(stream, line)

    def _read(self, stream: int, line: Line) -> None:
        events = None if line.is_cut and stream == STDOUT else self._events(stream, line.data)
        if events is not None:
            self._line_ns = line.first_ns
            self._apply(events, line.first_ns)
        elif stream == STDOUT and not self._told.has_moments:
            self._text.feed(line.data[:1], line.first_ns)
            self._text.feed(line.data[1:] + b"\n", line.last_ns)

    def _events(self, stream: int, line: bytes) -> Iterable[Event] | None:
        events = self._reader.line(stream, line)
        if events is None and b"\r" in line:
            # What a progress display wrote before it is overwritten by now.
            events = self._reader.line(stream, line.rstrip(b"\r").rpartition(b"\r")[2])
        return events

    def _apply(self, events: Iterable[Event], at_ns: int | None) -> None:
        for event in events:
            self._told.event(event, at_ns)


def signal_name(number: int) -> str:
    """The name of a signal, `SIGKILL`; of one that has none, its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
