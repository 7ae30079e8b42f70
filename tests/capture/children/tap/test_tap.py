"""The tap as a whole: who may come in, for how long, by which ways, and what leaves it: nothing."""

from __future__ import annotations

import base64
import logging
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from capture.children.tap.peers import (
    STREAM,
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
from llmphases import ConfigurationError
from llmphases.capture.children.tap.contract import TapRoute
from llmphases.capture.children.tap.tap import Tap, what_to_do

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def ok(connection, number):
    while read_request(connection)[0]:
        connection.sendall(OK)


# --- who comes in -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [b"/v1/messages", b"/wrong/v1/messages", b"/", b"*"])
def test_without_the_secret_nobody_gets_through(path):
    with server(ok) as one, tapped(one.url) as tap:
        with tap.connect() as connection:
            connection.sendall(post(path))
            answer, _ = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 404 ")
        assert one.connections == []
        assert tap.heard.words == []


def test_what_is_no_http_is_cut_off():
    with server(ok) as one, tapped(one.url) as tap, tap.connect() as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        assert read_all(connection)[0] == b""
        assert one.connections == []


def test_a_connection_that_says_nothing_reaches_nobody():
    with server(ok) as one, tapped(one.url) as tap:
        tap.connect().close()
        with tap.connect() as connection:
            connection.sendall(post(tap.prefix + b"/v1/messages"))
            read_exactly(connection, len(OK))
        assert len(one.connections) == 1


def test_it_listens_on_this_machine_alone_and_no_longer_than_it_is_open():
    with server(ok) as one:
        with tapped(one.url) as tap:
            connection = tap.connect()
            assert connection.getpeername()[0] == "127.0.0.1"
            for address in others():
                with pytest.raises(OSError):
                    socket.create_connection((address, tap.port), timeout=5)
            connection.sendall(post(tap.prefix + b"/v1/messages"))
            read_exactly(connection, len(OK))
        assert read_all(connection)[0] == b""
        connection.close()
        with pytest.raises(ConnectionRefusedError):
            tap.connect()
    assert not [t for t in threading.enumerate() if t.name.startswith("llmphases-tap")]


def others():
    """Addresses of this machine beside the loopback's own."""
    infos = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    return {info[4][0] for info in infos} - {"127.0.0.1"}


def test_each_child_has_a_secret_of_its_own():
    with tapped("http://127.0.0.1:1") as one, tapped("http://127.0.0.1:1") as two:
        assert one.secret != two.secret
        assert len(one.secret) > 20


# --- https, and other proxies -------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for `localhost` that only those trust who are told of it."""
    if shutil.which("openssl") is None:
        pytest.skip("not installed: openssl")
    folder = tmp_path_factory.mktemp("ca")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-keyout", str(key), "-out", str(cert), "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, str(cert)


def over_tls(context, script):
    def wrapped(connection, number):
        try:
            secure = context.wrap_socket(connection, server_side=True)
        except (ssl.SSLError, ConnectionError):
            return
        with secure:
            script(secure, number)

    return wrapped


def streaming(connection, number):
    while read_request(connection)[0]:
        connection.sendall(STREAM + chunked(event(b"a")) + b"0\r\n\r\n")


ANSWER = STREAM + chunked(event(b"a")) + b"0\r\n\r\n"


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
def test_an_https_server_is_believed_by_the_childs_own_certificates(certificate, name):
    context, cert = certificate
    with server(over_tls(context, streaming)) as one:
        url = f"https://localhost:{one.port}"
        with tapped(url, env={name: cert}) as tap, tap.connect() as connection:
            for _ in range(2):
                connection.sendall(post(tap.prefix + b"/v1/messages"))
                assert read_exactly(connection, len(ANSWER)) == ANSWER
            tap.wait(lambda: tap.heard.ends() == 2)
            assert ("tokens", 1) in tap.heard.of(0)
        assert len(one.connections) == 1


def test_an_https_server_that_nobody_vouches_for_is_not_believed(certificate, caplog):
    with server(over_tls(certificate[0], streaming)) as one:
        url = f"https://localhost:{one.port}"
        with tapped(url) as tap, tap.connect() as connection:
            connection.sendall(post(tap.prefix + b"/v1/messages"))
            assert read_all(connection) == (b"", "reset")
    assert "SSLCertVerificationError" in caplog.text


def test_a_child_that_goes_is_gone_for_an_https_server_too(certificate):
    gone = threading.Event()

    def script(connection, number):
        read_request(connection)
        connection.sendall(STREAM)
        assert connection.recv(1) == b""
        gone.set()

    with server(over_tls(certificate[0], script)) as one:
        url = f"https://localhost:{one.port}"
        with tapped(url, env={"SSL_CERT_FILE": certificate[1]}) as tap:
            with tap.connect() as connection:
                connection.sendall(post(tap.prefix + b"/v1/messages"))
                read_exactly(connection, len(STREAM))
            assert gone.wait(30)


class Proxy:
    """A proxy that lets through to one port whatever is asked for."""

    def __init__(self, port):
        self.port, self.heads = port, []

    def __call__(self, connection, number):
        self.heads.append(head := read_head(connection))
        target = socket.create_connection(("127.0.0.1", self.port))
        if head.startswith(b"CONNECT "):
            connection.sendall(b"HTTP/1.1 200 Go\r\nX-Proxy: 1\r\n\r\n")
        else:
            target.sendall(head)
        back = threading.Thread(target=pour, args=(target, connection), daemon=True)
        back.start()
        pour(connection, target)
        back.join()
        target.close()


def pour(source, sink):
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def test_the_childs_own_proxy_is_used_for_https(certificate):
    context, cert = certificate
    with server(over_tls(context, streaming)) as one, server(proxy := Proxy(one.port)) as between:
        env = {"HTTPS_PROXY": f"http://me:it@127.0.0.1:{between.port}", "SSL_CERT_FILE": cert}
        # A name that only the proxy can make something of; the certificate is for another one.
        with tapped("https://model.invalid", env=env) as tap, tap.connect() as connection:
            connection.sendall(post(tap.prefix + b"/v1/messages"))
            assert read_all(connection) == (b"", "reset")
    told = base64.b64encode(b"me:it")
    assert proxy.heads == [
        b"CONNECT model.invalid:443 HTTP/1.1\r\nHost: model.invalid:443\r\n"
        b"Proxy-Authorization: Basic " + told + b"\r\n\r\n"
    ]


def test_the_childs_own_proxy_is_used_for_http_too():
    with server(streaming) as one, server(proxy := Proxy(one.port)) as between:
        env = {"HTTP_PROXY": f"http://127.0.0.1:{between.port}"}
        with tapped("http://model.invalid:8080/v1", env=env) as tap, tap.connect() as connection:
            connection.sendall(post(tap.prefix + b"/v1/messages", b""))
            assert read_exactly(connection, len(ANSWER)) == ANSWER
    assert proxy.heads[0].startswith(b"POST http://model.invalid:8080/v1/messages HTTP/1.1\r\n")


# --- CONNECT ------------------------------------------------------------------------------------


def door_of(tap):
    credentials, _, place = tap.env["HTTPS_PROXY"].removeprefix("http://").rpartition("@")
    return credentials, int(place.rpartition(":")[2])


def connected(tap, target, credentials=None, method="CONNECT"):
    own, port = door_of(tap)
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(30)
    told = base64.b64encode((credentials or own).encode()).decode()
    head = f"{method} {target} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic {told}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def test_a_tunnel_passes_bytes_both_ways_and_tells_that_some_came():
    def script(connection, number):
        assert read_exactly(connection, 5) == b"hello"
        connection.sendall(b"there")
        assert connection.recv(1) == b""

    with server(script) as one, tapped(proxied=True) as tap:
        with connected(tap, f"127.0.0.1:{one.port}") as connection:
            assert read_head(connection).startswith(b"HTTP/1.1 200 ")
            connection.sendall(b"hello")
            assert read_exactly(connection, 5) == b"there"
        tap.wait(lambda: len(tap.heard.words) > 1)
        assert tap.heard.words == [("connection",), ("bytes",)]


@pytest.mark.parametrize(
    ("target", "credentials", "method", "status"),
    [
        ("127.0.0.1:1", "llmphases:wrong", "CONNECT", b"407"),
        ("http://127.0.0.1/", None, "GET", b"405"),
        ("127.0.0.1:x", None, "CONNECT", b"405"),
        ("127.0.0.1:1", None, "CONNECT", b"502"),
    ],
)
def test_other_wishes_are_refused(target, credentials, method, status, caplog):
    with tapped(proxied=True) as tap, connected(tap, target, credentials, method) as connection:
        assert read_all(connection)[0].startswith(b"HTTP/1.1 " + status)


def test_a_tunnel_goes_through_the_childs_own_proxy():
    with server(ok) as one, server(proxy := Proxy(one.port)) as between:
        env = {"HTTPS_PROXY": f"http://127.0.0.1:{between.port}"}
        target = "model.invalid:443"
        with tapped(env=env, proxied=True) as tap, connected(tap, target) as connection:
            read_head(connection)
            connection.sendall(post())
            assert read_exactly(connection, len(OK)) == OK
    assert proxy.heads[0].startswith(b"CONNECT model.invalid:443 HTTP/1.1\r\n")


# --- WebSocket ----------------------------------------------------------------------------------


def test_a_websocket_is_tunnelled_and_its_messages_are_requests():
    frames = pytest.importorskip("websockets.frames")
    delta = b'{"type": "response.output_text.delta", "delta": "a"}'
    done = b'{"type": "response.completed", "response": {}}'
    agreed = (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    )
    said = [frames.Frame(1, text).serialize(mask=False) for text in (delta, done)]
    asked = frames.Frame(1, b'{"type": "response.create"}').serialize(mask=True)
    heads = []

    def script(connection, number):
        heads.append(read_head(connection))
        connection.sendall(agreed)
        for _ in range(2):
            assert read_exactly(connection, len(asked)) == asked
            for one in said:
                connection.sendall(one)

    with server(script) as one, tapped(one.url) as tap, tap.connect() as connection:
        connection.sendall(
            b"GET %s/v1/responses HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
            % tap.prefix
        )
        assert read_head(connection) == agreed
        assert tap.heard.words == []
        for _ in range(2):
            connection.sendall(asked)
            assert read_exactly(connection, len(b"".join(said))) == b"".join(said)
        tap.wait(lambda: tap.heard.ends() == 2)
    assert tap.heard.of(0) == tap.heard.of(1) == [("request",), ("tokens", 1), ("ended",)]
    assert b"permessage" not in heads[0]


def test_a_websocket_that_is_refused_is_an_answer_like_others():
    def script(connection, number):
        while read_request(connection)[0]:
            connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")

    with server(script) as one, tapped(one.url) as tap, tap.connect() as connection:
        for _ in range(2):
            connection.sendall(
                b"GET %s/v1/responses HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                b"Connection: Upgrade\r\n\r\n" % tap.prefix
            )
            assert read_head(connection).startswith(b"HTTP/1.1 404")
        connection.sendall(post(tap.prefix + b"/v1/responses"))
        assert read_head(connection).startswith(b"HTTP/1.1 404")
        tap.wait(lambda: tap.heard.ends())
    assert tap.heard.of() == [("request",), ("headers", 404), ("failed", "404")]


# --- what leaves it -----------------------------------------------------------------------------


def test_nothing_of_what_passes_is_logged(caplog):
    """RC-059: a key may be in the query, a prompt in the body, an answer in an error."""
    caplog.set_level(logging.DEBUG)
    secret = b"xyzzy-4711"
    answers = [
        b"HTTP/1.1 401 xyzzy-4711\r\nX-Key: xyzzy-4711\r\nContent-Length: 10\r\n\r\nxyzzy-4711",
        b"xyzzy-4711 is no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Key: xyzzy\x00-4711\r\n\r\n",
        STREAM + chunked(event(secret), b"data: {xyzzy-4711\n") + b"xyzzy-4711\r\n",
    ]

    def script(connection, number):
        read_request(connection)
        connection.sendall(answers[number])

    with server(script) as one, tapped(one.url) as tap:
        for _ in answers:
            with tap.connect() as connection:
                connection.sendall(
                    post(
                        tap.prefix + b"/v1/messages?key=" + secret,
                        secret,
                        b"X-Key: " + secret + b"\r\n",
                    )
                )
                read_all(connection)
        with tap.connect() as connection:
            connection.sendall(b"xyzzy-4711\x00: is no request\r\n\r\n")
            read_all(connection)
    assert "xyzzy" not in caplog.text
    assert tap.secret not in caplog.text
    assert "xyzzy" not in repr(tap.heard.words)


def test_a_fault_of_ours_is_not_felt_by_the_child(caplog):
    with server(streaming) as one, tapped(one.url) as tap:
        object.__setattr__(tap.tap._reading, "kind_of", lambda event: 1 / 0)
        with tap.connect() as connection:
            connection.sendall(post(tap.prefix + b"/v1/messages"))
            assert read_exactly(connection, len(ANSWER)) == ANSWER
    assert "ZeroDivisionError" in caplog.text


def test_without_a_socket_it_does_not_open(monkeypatch, caplog):
    def refuse(*args, **options):
        raise OSError("no more descriptors")

    monkeypatch.setattr("asyncio.start_server", refuse)
    with server(ok) as one:
        from capture.children.tap.peers import Heard, reading

        tap = Tap(TapRoute(variables={"X": one.url}), {}, Heard(), reading())
        assert tap.open() is False
        tap.close()


def test_certificates_matter_only_where_there_is_tls():
    env = {"SSL_CERT_FILE": "/absent.pem"}
    with server(ok) as one, tapped(one.url, env=env) as tap, tap.connect() as connection:
        connection.sendall(post(tap.prefix + b"/v1/messages"))
        assert read_exactly(connection, len(OK)) == OK
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"), tapped("https://x", env=env):
        pass


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (TapRoute(variables={"B": "x", "A": "y"}, unset=("C",)), ". A and B led here, but"),
        (TapRoute(unset=("D", "C", "B", "A"), proxied=True), "give it in D or C or B instead"),
        (TapRoute(), "the command's own settings may name"),
    ],
)
def test_a_command_that_was_not_seen_would_be_by_a_variable(route, said):
    assert said in what_to_do(route)
