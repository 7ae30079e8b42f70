"""Whatever the two sides do, they see each other as without the tap, which tells what it saw."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import zlib

import psutil
import pytest

from capture.children.tap.peers import (
    DONE,
    ROLE,
    STREAM,
    break_off,
    chunked,
    event,
    post,
    read_all,
    read_exactly,
    read_head,
    read_request,
    server,
    tapped,
)

END = chunked() + b"0\r\n\r\n"


def answering(answer, *, reset=False):
    def script(connection, number):
        read_request(connection)
        connection.sendall(answer)
        if reset:
            break_off(connection)

    return script


def asked(port, prefix=b"", request=None):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(30)
        connection.sendall(request or post(prefix + b"/v1/chat/completions"))
        return read_all(connection)


# --- what the server says -----------------------------------------------------------------------

ANSWERS = {
    "401": (
        b"HTTP/1.1 401 Unauthorized\r\nwww-AUTHENTICATE:   Bearer\r\nX-Odd:\r\n"
        b'content-length: 13\r\n\r\n{"error":"k"}'
    ),
    "429": (
        b"HTTP/1.1 429 Slow  down, please\r\nRetry-After: 3\r\nretry-after-ms: 12\r\n"
        b"Content-Length: 0\r\n\r\n"
    ),
    "500 without a length": b"HTTP/1.1 500 Oh\r\nServer: x\r\n\r\nall went wrong",
    "503 in chunks, with a trailer": (
        b"HTTP/1.1 503 Busy\r\nTRANSFER-encoding: chunked\r\n\r\n"
        b"3;ext=1\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"
    ),
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}",
    "an early hint": (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    ),
    "no HTTP": b"SSH-2.0-what\r\n\r\n\x00\xff",
    "nothing": b"",
    "a head that is cut": b"HTTP/1.1 200 OK\r\nContent-",
    "a body that is cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "chunks that are cut": STREAM + chunked(ROLE, event(b"a"))[:-3],
}


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_answers_and_their_ends_are_the_same_byte_for_byte(answer, reset):
    with server(answering(answer, reset=reset)) as one, tapped(one.url) as tap:
        direct, direct_end = asked(one.port)
        through, end = asked(tap.port, tap.prefix)
    assert end == direct_end
    if reset:  # which takes what has not been read yet
        assert answer.startswith(through)
    else:
        assert through == direct == answer


TOLD = {
    "401": [("headers", 401), ("failed", "401")],
    "429": [("headers", 429), ("failed", "429")],
    "500 without a length": [("headers", 500), ("failed", "500")],
    "503 in chunks, with a trailer": [("headers", 503), ("failed", "503")],
    "HTTP/1.0": [("headers", 200), ("ended",)],
    "an early hint": [("headers", 200), ("ended",)],
    "no HTTP": [("failed", "disconnected")],
    "nothing": [("failed", "disconnected")],
    "a head that is cut": [("failed", "disconnected")],
    "a body that is cut": [("headers", 200), ("failed", "disconnected")],
    "chunks that are cut": [("headers", 200), ("tokens", 1), ("failed", "disconnected")],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_became_of_a_request_is_told(name):
    with server(answering(ANSWERS[name])) as one, tapped(one.url) as tap:
        asked(tap.port, tap.prefix)
        tap.wait(lambda: tap.heard.ends())
        assert tap.heard.of() == [("request",), *TOLD[name]]


def streaming(*pieces, head=STREAM, go_on=None):
    """Sends each piece only when the client says that it has got the one before."""

    def script(connection, number):
        read_request(connection)
        connection.sendall(head)
        for piece in pieces:
            connection.sendall(piece)
            if go_on is not None:
                assert go_on.acquire(timeout=30)

    return script


def test_each_piece_is_there_before_the_next_is_sent():
    pieces = [chunked(ROLE), chunked(event(b"a")), chunked(event(b"b")), chunked(DONE), END]
    go_on = threading.Semaphore(0)
    with server(streaming(*pieces, go_on=go_on)) as one, tapped(one.url) as tap:
        with tap.connect() as connection:
            connection.sendall(post(tap.prefix + b"/v1/chat/completions"))
            assert read_exactly(connection, len(STREAM)) == STREAM
            for piece in pieces:
                assert read_exactly(connection, len(piece)) == piece
                go_on.release()
        tap.wait(lambda: tap.heard.ends())
        assert tap.heard.of(details=True) == [
            ("request",), ("connected",), ("sent",), ("headers", 200), ("tokens", 1),
            ("tokens", 1), ("ended",),
        ]  # fmt: skip


def test_an_error_inside_a_stream_is_a_failure():
    error = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n'
    with (
        server(streaming(chunked(event(b"a")), chunked(error), END)) as one,
        tapped(one.url) as tap,
    ):
        asked(tap.port, tap.prefix)
        tap.wait(lambda: tap.heard.ends())
        assert tap.heard.of()[-2:] == [("tokens", 1), ("failed", "error_in_stream")]


GZIP = STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
BROTLI = GZIP.replace(b"gzip", b"br")


def test_compressed_answers_go_through_as_they_are_and_are_read_if_they_can_be():
    packer = zlib.compressobj(wbits=31)
    pieces = [
        packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)
        for text in (ROLE, event(b"a"), event(b"b"))
    ]
    body = chunked(*pieces) + END
    with server(streaming(body, head=GZIP)) as one, tapped(one.url) as tap:
        assert asked(tap.port, tap.prefix)[0] == GZIP + body
        tap.wait(lambda: tap.heard.ends())
        assert ("tokens", 1) in tap.heard.of()


def test_of_what_cannot_be_read_bytes_are_told_and_marked_so():
    with server(streaming(chunked(b"\x0b\x02"), END, head=BROTLI)) as one, tapped(one.url) as tap:
        assert asked(tap.port, tap.prefix)[0] == BROTLI + chunked(b"\x0b\x02") + END
        tap.wait(lambda: tap.heard.ends())
        assert tap.heard.of() == [("request",), ("headers", 200), ("bytes", 1), ("ended",)]


# --- what the child says ------------------------------------------------------------------------


def noting(heads, answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"):
    def script(connection, number):
        while (request := read_request(connection))[0]:
            heads.append((number, *request))
            connection.sendall(answer)

    return script


def test_a_request_is_readdressed_and_otherwise_the_same():
    heads = []
    with server(noting(heads)) as one, tapped(f"{one.url}/v1") as tap:
        assert tap.url.endswith(f"/{tap.secret}/v1")
        with tap.connect() as connection:
            connection.sendall(
                b"POST /%s/v1/chat/completions?a=b%%20c HTTP/1.1\r\nX-One: 1\r\n"
                b"Host: 127.0.0.1:1\r\n"
                b"AUTHORIZATION: Bearer k\r\nAccept-Encoding: gzip, deflate, br;q=0.9, zstd\r\n"
                b"x-one: 2\r\nContent-Length: 3\r\n\r\nabc" % tap.secret.encode()
            )
            assert read_head(connection)
    ((_, head, body),) = heads
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/chat/completions?a=b%20c HTTP/1.1"
    assert sorted(lines[1:-2]) == [
        b"AUTHORIZATION: Bearer k",
        b"Accept-Encoding: gzip, deflate",
        b"Content-Length: 3",
        b"Host: 127.0.0.1:%d" % one.port,
        b"X-One: 1",
        b"x-one: 2",
    ]
    assert body == b"abc"


def test_requests_on_one_connection_stay_on_one_and_only_those_to_a_model_count():
    heads = []
    with server(noting(heads)) as one, tapped(one.url) as tap:
        with tap.connect() as connection:
            for method, path in (("HEAD", "/"), ("POST", "/v1/embeddings"), ("GET", "/v1/models")):
                connection.sendall(
                    f"{method} /{tap.secret}{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
                )
                read_head(connection)
                if method != "HEAD":
                    read_exactly(connection, 2)
                else:  # the server knows no better
                    read_exactly(connection, 2)
            assert tap.heard.words == []
            for _ in range(2):
                connection.sendall(post(tap.prefix + b"/v1/messages?beta=true"))
                read_exactly(connection, len(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
        tap.wait(lambda: tap.heard.ends() == 2)
    assert [number for number, *_ in heads] == [0] * 5


def test_requests_that_are_sent_ahead_get_their_answers_in_order():
    heads = []
    with server(noting(heads)) as one, tapped(one.url) as tap, tap.connect() as connection:
        connection.sendall(2 * post(tap.prefix + b"/v1/responses"))
        read_exactly(connection, 2 * len(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
        tap.wait(lambda: tap.heard.ends() == 2)
    assert tap.heard.of(0) == tap.heard.of(1) == [("request",), ("headers", 200), ("ended",)]


def test_parallel_requests_are_told_apart():
    both_there = threading.Barrier(2, timeout=30)

    def script(connection, number):
        read_request(connection)
        both_there.wait()
        connection.sendall(STREAM + chunked(event(b"a")) + END)

    with server(script) as one, tapped(one.url) as tap:
        threads = [threading.Thread(target=asked, args=(tap.port, tap.prefix)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tap.wait(lambda: tap.heard.ends() == 2)
    expected = [("request",), ("headers", 200), ("tokens", 1), ("ended",)]
    assert tap.heard.of(0) == tap.heard.of(1) == expected


def test_who_waits_for_leave_to_send_a_body_gets_it_from_the_server():
    def script(connection, number):
        head = read_head(connection)
        assert b"100-continue" in head
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert read_exactly(connection, 4) == b"body"
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with server(script) as one, tapped(one.url) as tap, tap.connect() as connection:
        head = post(tap.prefix + b"/v1/messages", b"body", b"Expect: 100-continue\r\n")[:-4]
        connection.sendall(head)
        assert read_head(connection) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"body")
        assert read_head(connection).startswith(b"HTTP/1.1 200")


def test_an_answer_that_comes_before_the_end_of_the_request_is_heard():
    answer = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"

    def script(connection, number):
        read_head(connection)
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)

    with server(script) as one, tapped(one.url) as tap, tap.connect() as connection:
        head = b"POST %s/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n"
        connection.sendall(head % tap.prefix)
        assert read_exactly(connection, len(answer)) == answer
        connection.sendall(b"x" * 8_000_000)
    assert tap.heard.of()[:3] == [("request",), ("headers", 413), ("failed", "413")]


def test_a_body_in_chunks_arrives_whole():
    got = []

    def script(connection, number):
        read_head(connection)
        got.append(read_exactly(connection, 16))
        connection.sendall(b"HTTP/1.1 204 Done\r\n\r\n")

    with server(script) as one, tapped(one.url) as tap, tap.connect() as connection:
        connection.sendall(
            b"POST %s/v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"6\r\nabcdef\r\n0\r\n\r\n" % tap.prefix
        )
        assert read_head(connection).startswith(b"HTTP/1.1 204")
    assert got == [b"6\r\nabcdef\r\n0\r\n\r\n"]


# --- ends and breaks ----------------------------------------------------------------------------


@pytest.mark.parametrize("leave", [socket.socket.close, break_off], ids=["closed", "reset"])
def test_a_child_that_goes_is_gone_for_the_server_too(leave):
    gone = threading.Event()

    def script(connection, number):
        read_request(connection)
        connection.sendall(STREAM + chunked(event(b"a")))
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        gone.set()

    with server(script) as one, tapped(one.url) as tap:
        connection = tap.connect()
        connection.sendall(post(tap.prefix + b"/v1/chat/completions"))
        read_exactly(connection, len(STREAM) + len(chunked(event(b"a"))))
        leave(connection)
        assert gone.wait(30)
        tap.wait(lambda: tap.heard.ends())
        assert tap.heard.of()[-2:] == [("tokens", 1), ("abandoned",)]


def test_a_server_that_ends_an_idle_connection_ends_it_for_the_child():
    script = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    with server(script) as one, tapped(one.url) as tap, tap.connect() as connection:
        connection.sendall(post(tap.prefix + b"/v1/messages"))
        assert read_head(connection).startswith(b"HTTP/1.1 200")
        assert connection.recv(1) == b""


def test_a_server_that_is_not_there_is_a_broken_connection_and_said(caplog):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with tapped(f"http://127.0.0.1:{port}") as tap:
        for _ in range(2):
            assert asked(tap.port, tap.prefix) == (b"", "reset")
        tap.wait(lambda: tap.heard.ends() == 2)
        assert tap.heard.of() == [("request",), ("failed", "disconnected")]
    (record,) = [one for one in caplog.records if "no connection" in one.message]
    assert "ConnectionRefusedError" in record.message


# --- much, and slowly ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_reader_that_is_slow_makes_the_server_wait():
    is_full = threading.Event()
    sent = []

    def script(connection, number):
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n")
        connection.settimeout(1.0)
        count = 0
        try:
            while count < 200_000_000:
                count += connection.send(bytes(100_000))
        except TimeoutError:
            sent.append(count)
        is_full.set()

    with server(script) as one, tapped(one.url) as tap, tap.connect() as connection:
        connection.sendall(post(tap.prefix + b"/v1/messages"))
        assert is_full.wait(60)
        assert sent
        assert sent[0] < 50_000_000


@pytest.mark.slow
@pytest.mark.parametrize("form", ["length", "chunks"])
def test_bodies_of_any_size_need_no_memory(form):
    size, piece = 200_000_000, os.urandom(1_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    head += b"Content-Length: %d\r\n\r\n" % size if form == "length" else (
        b"Transfer-Encoding: chunked\r\n\r\n"
    )  # fmt: skip
    sendable = piece if form == "length" else chunked(piece)
    total = len(sendable) * 200

    def script(connection, number):
        read_request_of(connection, size)
        connection.sendall(head)
        for _ in range(200):
            connection.sendall(sendable)

    def upload(connection):
        connection.sendall(
            b"POST %s/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
            % (tap.prefix, size)
        )
        for _ in range(200):
            connection.sendall(piece)

    with server(script) as one, tapped(one.url) as tap, tap.connect() as connection:
        before = psutil.Process().memory_info().rss
        upload(connection)
        read_head(connection)
        peak, left = before, total
        while left:
            left -= len(connection.recv(min(left, 1 << 16)))
            peak = max(peak, psutil.Process().memory_info().rss) if left % 7 == 0 else peak
        peak = max(peak, psutil.Process().memory_info().rss)
    assert peak - before < 60_000_000


def read_request_of(connection, size):
    read_head(connection)
    while size:
        size -= len(connection.recv(min(size, 1 << 16)))
