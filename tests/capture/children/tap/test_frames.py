"""Messages of a WebSocket connection, out of its bytes; written by a library of others."""

from __future__ import annotations

import pytest

from llmphases.capture.children.tap.frames import Frames, Message

websockets_frames = pytest.importorskip("websockets.frames")


def frame(data, opcode=1, *, fin=True, mask=False):
    return websockets_frames.Frame(opcode, data, fin).serialize(mask=mask)


@pytest.mark.parametrize("step", [1, 3, 1 << 20])
@pytest.mark.parametrize("size", [0, 5, 125, 126, 70_000])
def test_messages_of_any_length_in_any_pieces(size, step):
    frames, data = Frames(1 << 20), 2 * frame(b"x" * size)
    news = [m for i in range(0, len(data), step) for m in frames.feed(data[i : i + step])]
    assert news == 2 * [Message(), Message(b"x" * size, has_ended=True)]


def test_control_frames_are_no_messages_also_amid_one():
    parts = (frame(b"a", fin=False), frame(b"p", 9), frame(b"b", 0), frame(b"", 8))
    frames = Frames(100)
    news = [message for part in parts for message in frames.feed(part)]
    assert news == [Message(), Message(b"ab", has_ended=True)]


def test_what_the_child_says_is_not_kept():
    news = Frames(0).feed(frame(b"secret", mask=True))
    assert news == [Message(), Message(None, has_ended=True)]


def test_a_message_that_is_too_long_is_not_kept():
    frames = Frames(10)
    assert frames.feed(frame(b"x" * 11)) == [Message(), Message(None, has_ended=True)]
    assert frames.feed(frame(b"y")) == [Message(), Message(b"y", has_ended=True)]
