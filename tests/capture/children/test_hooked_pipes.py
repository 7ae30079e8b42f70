"""Pipes that stamp: for the program nothing has changed."""

from __future__ import annotations

import io
import os
import signal
import threading
import warnings

import pytest

from llmphases.capture.children import hooked_pipes
from llmphases.capture.children.hooked_pipes import StampedPipe, stamped, stamped_pipe_of


class Heard:
    """What a pipe tells of its reads."""

    def __init__(self):
        self.data = []
        self.waited = []
        self.drained = []
        self.is_ended = False
        self.is_waiting = False
        self.when_read = None

    def is_empty(self, fd):
        return self.is_waiting

    def read(self, data, *, waited, is_drained):
        self.data.append(data)
        self.waited.append(waited)
        self.drained.append(is_drained)
        if self.when_read is not None:
            self.when_read()

    def ended(self):
        self.is_ended = True


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def pair():
    """A pipe: the descriptor to read, and a file to write."""
    read_fd, write_fd = os.pipe()
    with os.fdopen(write_fd, "wb", 0) as writer:
        yield read_fd, writer


def reading(pair, bufsize=-1):
    """What `Popen` makes of a descriptor."""
    return os.fdopen(pair[0], "rb", bufsize)


def fill(writer, data):
    writer.write(data)
    writer.close()


def test_each_kind_of_pipe_stays_of_its_kind(pair, heard):
    pipe = stamped(reading(pair), heard)
    assert type(pipe) is io.BufferedReader
    assert isinstance(pipe.raw, io.FileIO)
    assert (pipe.fileno(), pipe.name, pipe.mode) == (pair[0], pair[0], "rb")
    assert pipe.raw.closefd
    pipe.close()


def test_text_keeps_its_settings(pair, heard):
    text = io.TextIOWrapper(reading(pair), encoding="latin-1", errors="replace")
    pipe = stamped(text, heard)
    assert type(pipe) is io.TextIOWrapper
    assert (pipe.encoding, pipe.errors) == ("latin-1", "replace")
    fill(pair[1], b"\xe9\r\nx")
    assert pipe.read() == "é\nx"
    assert b"".join(heard.data) == b"\xe9\r\nx"
    pipe.close()


@pytest.mark.parametrize("size", [-1, 2, 100, 8192])
def test_buffers_keep_their_size(pair, heard, size):
    plain = reading(pair, size)
    length = plain.__sizeof__()
    with stamped(plain, heard) as pipe:
        assert pipe.__sizeof__() == length


@pytest.mark.parametrize("bufsize", [0, -1])
def test_all_of_it_is_read_and_told_and_then_its_end(pair, heard, bufsize):
    data = os.urandom(50_000)
    fill(pair[1], data)
    with stamped(reading(pair, bufsize), heard) as pipe:
        assert pipe.read() == data
        assert heard.is_ended
    assert b"".join(heard.data) == data


def test_more_than_a_pipe_holds_is_read_whole(pair, heard):
    data = os.urandom(1_000_000)
    threading.Thread(target=fill, args=(pair[1], data)).start()
    with stamped(reading(pair), heard) as pipe:
        assert pipe.read() == data
    assert b"".join(heard.data) == data


def test_a_short_read_has_drained_the_pipe(pair, heard):
    pair[1].write(b"12345")
    with stamped(reading(pair, 0), heard) as pipe:
        assert pipe.read(2) == b"12"
        assert pipe.read(100) == b"345"
    assert heard.drained == [False, True]


def test_readinto_other_buffers_than_bytes(pair, heard):
    import array

    pair[1].write(b"12345678")
    numbers = array.array("i", [0, 0, 0, 0])
    with stamped(reading(pair, 0), heard) as pipe:
        assert pipe.readinto(numbers) == 8
        assert pipe.readinto(bytearray()) == 0
    assert numbers.tobytes()[:8] == b"12345678"
    assert heard.data == [b"12345678"]


def test_without_anything_to_read_a_pipe_that_does_not_block_gives_none(pair, heard):
    os.set_blocking(pair[0], False)
    with stamped(reading(pair, 0), heard) as pipe:
        assert pipe.read(10) is None
        assert pipe.readall() is None
        assert pipe.readinto(bytearray(10)) is None
        pair[1].write(b"x")
        assert pipe.readall() == b"x"
    assert heard.data == [b"x"]


def test_a_closed_pipe_says_what_it_always_said(pair, heard):
    pipe = stamped(reading(pair, 0), heard)
    pipe.close()
    assert heard.is_ended
    assert pipe.closed
    for read in (lambda: pipe.read(1), pipe.readall, lambda: pipe.readinto(bytearray(1))):
        with pytest.raises(ValueError, match="closed file"):
            read()
    with pytest.raises(OSError):
        os.fstat(pair[0])
    pipe.close()


def test_a_pipe_that_nobody_closes_is_warned_about(pair, heard):
    pipe = stamped(reading(pair), heard)
    with pytest.warns(ResourceWarning, match="unclosed file"):
        del pipe


def test_a_detached_pipe_closes_what_it_should(pair, heard):
    raw = stamped(reading(pair), heard).detach()
    with warnings.catch_warnings(action="ignore"):
        raw.close()
    with pytest.raises(OSError):
        os.fstat(pair[0])


def test_an_interrupt_right_after_a_read_loses_nothing(pair, heard):
    """The signal's handler raises between our read and the program's getting of it."""

    def interrupt():
        heard.when_read = None
        raise KeyboardInterrupt

    pair[1].write(b"12345")
    heard.when_read = interrupt
    with stamped(reading(pair), heard) as pipe:
        with pytest.raises(KeyboardInterrupt):
            pipe.read1(100)
        assert pipe.raw.read(2) == b"12"
        assert pipe.read1(100) == b"345"


@pytest.mark.slow
def test_signals_that_raise_while_a_program_reads_lose_nothing(pair, heard):
    """A timer interrupts reads at any place; what comes out is what went in."""

    class Alarm(Exception):
        pass

    def ring(number, frame):
        if frame.f_code.co_filename == hooked_pipes.__file__:
            raise Alarm

    data = os.urandom(300_000)
    step = 100
    pieces = [data[i : i + step] for i in range(0, len(data), step)]
    threading.Thread(
        target=lambda: ([pair[1].write(piece) for piece in pieces], pair[1].close())
    ).start()
    pipe = stamped(reading(pair, 0), heard)
    buffer = bytearray(64)
    got, rung = bytearray(), 0
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
        while True:
            try:
                count = pipe.readinto(buffer)
            except Alarm:
                rung += 1
                continue
            if not count:
                break
            got += buffer[:count]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        pipe.close()
    assert bytes(got) == data
    assert rung


def test_what_is_unusual_is_left_alone(heard):
    odd = io.BytesIO(b"x")
    assert stamped(odd, heard) is odd
    assert stamped_pipe_of(odd) is None
    assert stamped_pipe_of(None) is None


def test_the_stamping_pipe_is_found_again(pair, heard):
    pipe = stamped(reading(pair), heard)
    assert type(stamped_pipe_of(pipe)) is StampedPipe
    assert stamped_pipe_of(pipe).stream is heard
    raw = pipe.detach()
    assert stamped_pipe_of(pipe) is None
    raw.close()
