"""Output that is JSON: one event per line, or one value for the whole run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from llmphases.adapters.contract import ODD
from llmphases.capture.children.formats import STDOUT, FormatReader
from llmphases.recorder.child_events import Event

LARGEST = 16 * 2**20
"""Bytes of one JSON value that are looked at; what is larger says nothing."""

_TRIES = 4
_TAIL = 256
# Blanks, a byte order mark, and what a terminal takes for colours, titles and the cursor.
_UNSEEN = (
    rb"(?:\s|[\x00-\x1a\x7f]|\xef\xbb\xbf|\x1b\[[0-9;?]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\))"
)
_UNSEEN_FIRST = re.compile(_UNSEEN + rb"*")
_UNSEEN_LAST = re.compile(_UNSEEN + rb"+\Z")
_BEGINS_JSON = re.compile(rb'\{\s*(?:["}]|\Z)|\[\s*(?:[\[\]{"\d-]|true|false|null|\Z)')


class JsonLines(FormatReader):
    """Reads one JSON object per line of stdout. Every other line of it is text."""

    __slots__ = ("_at_end", "_events")

    def __init__(
        self,
        events: Callable[[dict[str, Any]], list[Event]],
        at_end: Callable[[], list[Event]] = list,
    ) -> None:
        """`events` are those of one object: it may raise what odd fields make it raise."""
        self._events = events
        self._at_end = at_end

    def line(self, stream: int, line: bytes) -> Iterable[Event] | None:
        if stream != STDOUT:
            return ()
        line = _visible(line)
        if not line:
            return ()
        if len(line) > LARGEST and _BEGINS_JSON.match(line):
            return ()
        found = _parsed(line)
        if not isinstance(found, dict):
            return None
        return _unless_odd(self._events, found)

    def end(self) -> Iterable[Event]:
        return self._at_end()


class WholeJson(FormatReader):
    """Reads one JSON value, on one line or on many; what comes before it is text."""

    __slots__ = ("_events", "_held", "_is_over", "_tries")

    def __init__(self, events: Callable[[list[dict[str, Any]]], list[Event]]) -> None:
        """`events` are those of the objects: of the one there is, or of those in an array."""
        self._events = events
        self._held = bytearray()
        self._tries = 0
        self._is_over = False

    def line(self, stream: int, line: bytes) -> Iterable[Event] | None:
        if stream != STDOUT or self._is_over:
            return ()
        if not self._held:
            line = _visible(line)
            if not line:
                return ()
            if not _BEGINS_JSON.match(line):
                return None
        return self._hold(line)

    def _hold(self, line: bytes) -> Iterable[Event]:
        is_first = not self._held
        if len(self._held) + len(line) > LARGEST:
            self._give_up()
            return ()
        self._held += line
        self._held += b"\n"
        # Laid out over many lines, only the last one is a bracket that is not indented.
        if (is_first or line.rstrip() in (b"}", b"]")) and self._tries < _TRIES:
            self._tries += 1
            return self._read()
        return ()

    def _read(self) -> Iterable[Event]:
        found = _parsed(_visible(bytes(self._held)))
        if found is None:
            return ()
        self._give_up()
        objects = found if isinstance(found, list) else [found]
        return _unless_odd(self._events, [one for one in objects if isinstance(one, dict)])

    def _give_up(self) -> None:
        self._is_over = True
        self._held = bytearray()

    def end(self) -> Iterable[Event]:
        return self._read() if self._held else ()


def _visible(line: bytes) -> bytes:
    """A line without what no one sees at its beginning and end."""
    if not line.startswith((b"{", b"[")) and (first := _UNSEEN_FIRST.match(line)):
        line = line[first.end() :]
    if not line.endswith((b"}", b"]")) and (last := _UNSEEN_LAST.search(line[-_TAIL:])):
        line = line[: -len(last.group())]
    return line


def _parsed(text: bytes) -> dict[str, Any] | list[Any] | None:
    if not text.startswith((b"{", b"[")):
        return None
    try:
        found = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, (dict, list)) else None


def _unless_odd(read: Callable[[Any], list[Event]], found: Any) -> list[Event]:
    try:
        return read(found)
    except ODD:
        return []  # an event that is not as documented has said nothing
