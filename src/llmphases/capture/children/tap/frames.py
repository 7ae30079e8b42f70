"""The messages of a WebSocket connection as they go by (RFC 6455), without its extensions."""

from __future__ import annotations

from dataclasses import dataclass

_CONTINUATION, _TEXT, _BINARY = 0, 1, 2
_MASK = 0x80
_LENGTH_16, _LENGTH_64 = 126, 127


@dataclass(frozen=True, slots=True)
class Message:
    """A piece of news about one data message: it begins, or it has ended."""

    payload: bytes | None = None
    """What was in it; None when it begins, and where it was too long to be kept."""
    has_ended: bool = False


class Frames:
    """One direction of a connection. Keeps at most `most` bytes of the message that comes in."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._head = bytearray()
        self._left = 0
        self._mask: bytes | None = None
        self._is_data = self._is_last = False
        self._payload: bytearray | None = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """What these bytes tell."""
        news: list[Message] = []
        view = memoryview(data)
        while view:
            if self._left:
                taken = view[: self._left]
                self._take(taken)
                view = view[len(taken) :]
            else:
                view = self._read_head(view, news)
            if not self._left and not self._head:
                self._frame_ended(news)
        return news

    def _read_head(self, view: memoryview, news: list[Message]) -> memoryview:
        self._head.append(view[0])
        if len(self._head) == _size_of_head(self._head):
            self._begin(news)
        return view[1:]

    def _begin(self, news: list[Message]) -> None:
        head = bytes(self._head)
        self._head.clear()
        opcode, is_masked = head[0] & 0x0F, bool(head[1] & _MASK)
        self._is_last = bool(head[0] & 0x80)
        self._is_data = opcode in (_CONTINUATION, _TEXT, _BINARY)
        self._mask = head[-4:] if is_masked else None
        length = head[1] & 0x7F
        after_length = head[2 : len(head) - (4 if is_masked else 0)]
        self._left = int.from_bytes(after_length, "big") if length >= _LENGTH_16 else length
        if opcode in (_TEXT, _BINARY):
            self._payload = bytearray()
            news.append(Message())

    def _take(self, piece: memoryview) -> None:
        self._left -= len(piece)
        if not self._is_data or self._payload is None:
            return
        if self._mask is not None or len(self._payload) + len(piece) > self._most:
            self._payload = None  # what the child says is nobody's business
        else:
            self._payload += piece

    def _frame_ended(self, news: list[Message]) -> None:
        if self._is_data and self._is_last:
            payload = None if self._payload is None else bytes(self._payload)
            news.append(Message(payload, has_ended=True))
        self._is_data = False


def _size_of_head(head: bytearray) -> int:
    if len(head) < 2:  # noqa: PLR2004  # the length is in the second byte
        return 2
    length = head[1] & 0x7F
    size = 2 + (2 if length == _LENGTH_16 else 8 if length == _LENGTH_64 else 0)
    return size + (4 if head[1] & _MASK else 0)
