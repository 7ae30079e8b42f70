"""The body of one answer as it goes by: which of its bytes are tokens. No body is kept."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable

_LINES = ("text/event-stream", "application/x-ndjson", "application/jsonl", "application/x-jsonl")
_FRAMES = ("application/vnd.amazon.eventstream", "application/grpc", "application/connect+json")
_READABLE = {"gzip": 47, "x-gzip": 47, "deflate": 47}  # 47: whichever header there is
_LONGEST_LINE = 1 << 20
_INFLATED = 1 << 16

FAILURE, COMPLETE = 4, 8
"""Bits beside those of the kinds of tokens: the stream says that it failed, or is complete."""
TOKENS = 3
_LAST = frozenset({"response.completed", "response.incomplete", "response.done", "message_stop"})

Headers = Iterable[tuple[bytes, bytes]]
Kinds = Callable[[dict[str, object]], int]


class Content:
    """Reads one body. `feed` gives the kinds of tokens that were in a piece, as bits."""

    def __init__(self, headers: Headers, kind_of: Kinds) -> None:
        said = {name.lower(): value.decode("latin-1").strip().lower() for name, value in headers}
        kind = said.get(b"content-type", "").partition(";")[0].strip()
        coding = said.get(b"content-encoding", "identity")
        self._lines = EventLines(kind_of)
        self._inflate = zlib.decompressobj(_READABLE[coding]) if coding in _READABLE else None
        is_plain = self._inflate is not None or coding in ("", "identity")
        self.is_stream = kind in _LINES or kind in _FRAMES
        """Whether tokens come one by one; else the answer is there when all of it is."""
        self.is_readable = kind in _LINES and is_plain
        """Whether tokens can be told from other bytes."""

    def feed(self, data: bytes) -> int:
        """The kinds of tokens in a piece; of what cannot be read every byte is an answer."""
        if not self.is_stream or not data:
            return 0
        kinds = 0
        if self.is_readable and self._inflate is None:
            kinds = self._lines.feed(data)
        elif self.is_readable:
            kinds = self._feed_compressed(data)
        return kinds if self.is_readable else 1

    def _feed_compressed(self, data: bytes) -> int:
        assert self._inflate is not None
        kinds = 0
        try:
            while data:
                kinds |= self._lines.feed(self._inflate.decompress(data, _INFLATED))
                data = self._inflate.unconsumed_tail
        except zlib.error:
            self.is_readable = False
        return kinds


class EventLines:
    """Server-sent events or lines of JSON; keeps no more than a line that has not ended."""

    def __init__(self, kind_of: Kinds) -> None:
        self._kind_of = kind_of
        self._rest = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> int:
        """The kinds of tokens in the lines that end in this piece."""
        *ended, rest = data.replace(b"\r", b"\n").split(b"\n")
        kinds = 0
        for end_of_line in ended:
            line = b"" if self._is_too_long else bytes(self._rest) + end_of_line
            self._rest.clear()
            self._is_too_long = False
            if line:
                kinds |= self._kind_of_line(line)
        if len(self._rest) + len(rest) > _LONGEST_LINE:
            self._is_too_long = True
            self._rest.clear()
        elif not self._is_too_long:
            self._rest += rest
        return kinds

    def _kind_of_line(self, line: bytes) -> int:
        payload = line[5:] if line.startswith(b"data:") else line
        return kinds_of_message(payload, self._kind_of)


def kinds_of_message(payload: bytes, kind_of: Kinds) -> int:
    """The kind of one event, if it is a JSON object."""
    payload = payload.strip()
    if not payload.startswith(b"{"):
        return 0
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError):
        return 0
    if not isinstance(message, dict):
        return 0
    if _says_it_failed(message):
        return FAILURE
    return kind_of(message) | (COMPLETE if message.get("type") in _LAST else 0)


def _says_it_failed(message: dict[str, object]) -> bool:
    """An error that comes inside a stream, after headers that said all was well."""
    kind = message.get("type")
    return bool(message.get("error")) or kind in ("error", "response.failed")
