"""Which returned values are read on as streams, and which are handed out untouched."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import types
import unittest.mock

import pytest

from capture.fake_streams import (
    AsyncFakeStreamManager,
    AsyncSelfIterating,
    BodyStream,
    FakeAsyncStream,
    FakeStream,
    FakeStreamManager,
    SelfIterating,
)
from llmphases import Ended, call_of, traced_llm_call
from llmphases.capture.streams import is_stream


async def agen():
    yield 1


STREAMS = {
    "generator": lambda: (n for n in range(3)),
    "async generator": agen,
    "list iterator": lambda: iter([1]),
    "map": lambda: map(str, [1]),
    "chain": lambda: itertools.chain([1]),
    "sentinel": lambda: iter(lambda: 1, 2),
    "csv": lambda: csv.reader(["a,b"]),
    "iterable": FakeStream,
    "async iterable": FakeAsyncStream,
    "self": SelfIterating,
    "async self": AsyncSelfIterating,
    "manager": FakeStreamManager,
    "async manager": AsyncFakeStreamManager,
    "body": BodyStream,
}


class Response:
    """As requests': iterable, and no stream of ours."""

    def __iter__(self):
        return iter([b"body"])

    def iter_content(self):
        return iter(self)


class LazyProxy:
    """As werkzeug's, outside its context: even its class is an error."""

    @property
    def __class__(self):
        raise RuntimeError("outside of its context")


class OddMeta(type):
    def __getattr__(cls, name):
        raise RuntimeError("odd")


class Odd(metaclass=OddMeta):
    pass


def popen():
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    process.communicate()
    return process


VALUES = {
    "none": lambda: None,
    "text": lambda: "text",
    "bytes": lambda: b"bytes",
    "number": lambda: 5,
    "dict": lambda: {"a": 1},
    "list": lambda: [1],
    "tuple": lambda: (1,),
    "range": lambda: range(3),
    "bytes file": lambda: io.BytesIO(b"x"),
    "text file": lambda: io.StringIO("x"),
    "open file": lambda: open(os.devnull),  # noqa: SIM115, PTH123  # closed by the test
    "temporary file": tempfile.NamedTemporaryFile,
    "spooled file": tempfile.SpooledTemporaryFile,
    "codecs file": lambda: codecs.open(os.devnull),  # noqa: SIM115  # as above
    "popen": popen,
    "socket": lambda: socket.socket(),
    "response": Response,
    "mock": unittest.mock.Mock,
    "magic mock": unittest.mock.MagicMock,
    "lazy proxy": LazyProxy,
    "odd": Odd,
    "class": lambda: FakeStream,
    "function": lambda: print,
    "module": lambda: types,
    "exception": lambda: ValueError("x"),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_an_iterator_or_a_known_stream_is_read_on(kind):
    assert is_stream(STREAMS[kind]())


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.filterwarnings("ignore:codecs.open:DeprecationWarning")
def test_any_other_value_ends_the_call_and_is_handed_out_untouched(calls, caplog, kind):
    value = VALUES[kind]()
    try:
        assert traced_llm_call(lambda: value)() is value
        assert len(calls) == 1
        assert not is_stream(value)
    finally:
        if issubclass(type(value), (io.IOBase, socket.socket)) or "file" in kind:
            value.close()
    assert caplog.records == []


@pytest.mark.parametrize("kind", ["map", "chain", "sentinel", "csv", "list iterator"])
def test_iterators_of_the_library_stay_what_they_are(calls, kind):
    raw = STREAMS[kind]()
    stream = traced_llm_call(lambda: raw)()
    assert isinstance(stream, type(raw))
    assert iter(stream) is stream
    assert next(stream) is not None
    stream.__class__  # noqa: B018  # as pickle and the like ask
    del stream
    assert [call.ended for call in calls] == [Ended.DROPPED]


def test_generators_stay_generators(calls):
    def source():
        yield 1

    stream = traced_llm_call(lambda: source())()
    assert type(stream) is types.GeneratorType
    assert stream.__name__ == "source"
    assert stream.__qualname__ == source.__qualname__
    with call_of(stream) as call:
        assert call


def test_what_cannot_be_stood_in_for_is_handed_out_as_it_is(calls):
    """A fault of ours costs the measurement, never the stream."""

    class Untouchable(type):
        @property
        def __mro__(cls):
            return (*type.__mro__.__get__(cls), object)

        def __dir__(cls):
            raise RuntimeError

    class Stream(metaclass=Untouchable):
        def __iter__(self):
            return iter("abc")

        def __next__(self):
            return "a"

    raw = Stream()
    stream = traced_llm_call(lambda: raw)()
    assert stream is raw
    assert [call.ended for call in calls] == [Ended.UNOBSERVED]
