"""The selector of `communicate`: what was ready, and whether somebody waited for it."""

from __future__ import annotations

import os
import selectors
import subprocess

import pytest

from llmphases.capture.children.hooked_pipes import stamped
from llmphases.capture.children.hooked_selector import StampingSelector


class Heard:
    """One stream whose chunks the reader keeps in a list."""

    def __init__(self):
        self.chunks = []
        self.reads = []
        self.empty = 0

    def now(self):
        return 7

    def is_empty(self, fd):
        return False

    def seen_empty(self):
        self.empty += 1

    def read(self, data, *, waited, is_drained, at_ns=None):
        self.reads.append((data, waited, is_drained, at_ns))

    def chunks_of(self, pipe):
        return self.chunks

    def ended(self):
        pass


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def pipe(heard):
    """A stamping pipe, and what writes into it."""
    read_fd, write_fd = os.pipe()
    with (
        os.fdopen(write_fd, "wb", 0) as writer,
        stamped(os.fdopen(read_fd, "rb"), heard) as reader,
    ):
        yield reader, writer


def take(reader, heard):
    """What `communicate` does with a pipe that is ready."""
    heard.chunks.append(os.read(reader.fileno(), 32768))


def test_it_is_what_subprocess_itself_would_use():
    assert isinstance(StampingSelector(), subprocess._PopenSelector)


def test_a_chunk_that_lay_there_was_not_waited_for(pipe, heard):
    reader, writer = pipe
    with StampingSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        writer.write(b"one")
        assert [key.fileobj for key, _ in selector.select(10)] == [reader]
        take(reader, heard)
        assert selector.select(0) == []
    assert heard.reads == [(b"one", False, True, 7)]


def test_a_chunk_that_came_while_we_waited_was(pipe, heard):
    reader, writer = pipe
    with StampingSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        real = StampingSelector.__mro__[1].select

        class Late(StampingSelector.__mro__[1]):
            """Writes when it is first asked to wait."""

            def select(self, timeout=None):
                if timeout != 0:
                    writer.write(b"two")
                return real(self, timeout)

        selector.__class__ = type("Waiting", (StampingSelector, Late), {})
        assert selector.select(10)
        take(reader, heard)
    assert heard.reads == [(b"two", True, True, 7)]
    assert heard.empty == 1


def test_what_was_ready_but_not_read_is_no_chunk(pipe, heard):
    """After a time-out `communicate` raises without reading what is ready."""
    reader, writer = pipe
    with StampingSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        writer.write(b"x")
        assert selector.select(10)
    assert heard.reads == []


def test_a_full_chunk_may_have_left_something(pipe, heard):
    reader, writer = pipe
    with StampingSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        writer.write(b"x" * 40000)
        assert selector.select(10)
        take(reader, heard)
    assert heard.reads[0][2] is False


def test_other_files_are_waited_for_as_ever():
    read_fd, write_fd = os.pipe()
    with StampingSelector() as selector:
        selector.register(read_fd, selectors.EVENT_READ)
        assert selector.select(0) == []
        os.write(write_fd, b"x")
        assert len(selector.select(10)) == 1
    os.close(read_fd)
    os.close(write_fd)
