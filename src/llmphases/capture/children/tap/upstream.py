"""Connections of the tap to where the child would have connected: its proxy and its CA included."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # undocumented

import h11

from llmphases.errors import ConfigurationError

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Trust = Callable[[], ssl.SSLContext]
"""Made when it is first needed: it takes a while."""

_PORTS = {"http": 80, "https": 443}
_ONLY_THESE_CAS = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_MORE_CAS = ("NODE_EXTRA_CA_CERTS",)
_LIMIT = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server, by its URL."""

    is_tls: bool
    host: str
    port: int
    authority: bytes
    """As the `Host` header has it."""
    credentials: str | None = None


def address_of(url: str | SplitResult) -> Address | None:
    """The server that a base URL is on; None for what is no URL of one."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else url
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or port is None or not parts.hostname:
        return None
    credentials, _, authority = parts.netloc.rpartition("@")
    return Address(
        is_tls=parts.scheme == "https", host=parts.hostname, port=port,
        authority=authority.encode("ascii", "ignore"), credentials=unquote(credentials) or None,
    )  # fmt: skip


def proxy_for(env: Mapping[str, str], address: Address) -> Address | None:
    """The proxy that a child with this environment would use; raises `ConfigurationError`."""
    if _is_loopback(address.host):
        return None
    names = ("https_proxy", "all_proxy") if address.is_tls else ("http_proxy", "all_proxy")
    both = (value for name in names for value in (env.get(name), env.get(name.upper())))
    url = next((value for value in both if value), None)
    rules = {"no": env.get("no_proxy") or env.get("NO_PROXY") or ""}
    if url is None or proxy_bypass_environment(f"{address.host}:{address.port}", rules):
        return None
    proxy = address_of(url if "://" in url else f"http://{url}")
    if proxy is None:
        scheme = urlsplit(url).scheme
        raise ConfigurationError(
            f"tap=True: the command's own proxy is of the kind {scheme!r}; the tap can go on to "
            "http:// and https:// proxies only. Set NO_PROXY for the model's host, or run without "
            "the tap"
        )
    return proxy


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def trust_of(env: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates that a child with this environment would trust."""
    own = [env[name] for name in _ONLY_THESE_CAS if env.get(name)]
    context = ssl.create_default_context() if not own else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for path in (*own, *(env[name] for name in _MORE_CAS if env.get(name))):
        _trust(context, path)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _trust(context: ssl.SSLContext, path: str) -> None:
    try:
        context.load_verify_locations(cafile=path)
    except IsADirectoryError:
        context.load_verify_locations(capath=path)
    except OSError as error:
        raise ConfigurationError(
            "tap=True: the command's environment names a file of certificates (SSL_CERT_FILE or "
            f"the like) that cannot be read: {error.strerror or type(error).__name__}. Correct "
            "the variable, or run without the tap"
        ) from None


class Upstream:
    """One server, and how it is reached."""

    def __init__(self, address: Address, proxy: Address | None, trust: Trust) -> None:
        self.address = address
        self._proxy = proxy
        self._trust = trust

    @property
    def absolute_form(self) -> bytes:
        """What stands before the path in a request: something only for a plain HTTP proxy."""
        plain = self._proxy is not None and not self.address.is_tls
        return b"http://" + self.address.authority if plain else b""

    @property
    def proxy_headers(self) -> list[tuple[bytes, bytes]]:
        """What a plain HTTP proxy is to be told with every request."""
        return _authorization(self._proxy) if self.absolute_form else []

    async def connect(self) -> Streams:
        """A new connection; raises `OSError`."""
        address = self.address
        tls = self._trust() if address.is_tls else None
        if self._proxy is None:
            return await _open(address, tls)
        streams = await _open(self._proxy, self._trust() if self._proxy.is_tls else None)
        if tls is not None:
            await _through_proxy(streams, self._proxy, address)
            await streams[1].start_tls(tls, server_hostname=address.host)
        return streams

    async def connect_raw(self) -> Streams:
        """A connection whose TLS, if it has any, is the child's own business."""
        if self._proxy is None:
            return await _open(self.address, None)
        streams = await _open(self._proxy, self._trust() if self._proxy.is_tls else None)
        await _through_proxy(streams, self._proxy, self.address)
        return streams


async def _open(address: Address, tls: ssl.SSLContext | None) -> Streams:
    """Tries one address after the other."""
    failure: OSError | None = None
    for place in await _addresses(address.host, address.port):
        try:
            return await asyncio.open_connection(
                place[0], place[1], ssl=tls, server_hostname=address.host if tls else None,
                limit=_LIMIT,
            )  # fmt: skip
        except OSError as error:
            failure = error
    raise failure or OSError("the host has no address")


async def _addresses(host: str, port: int) -> list[tuple[str, int]]:
    """Asked in a thread of its own: one that hangs must not keep the program from its end."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[tuple[str, int]]] = loop.create_future()

    def ask() -> None:
        places: list[tuple[str, int]] = []
        failure: OSError | None = None
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            places = [(str(info[4][0]), port) for info in infos]
        except OSError as error:
            failure = error
        except UnicodeError:
            failure = OSError("no name of a host")
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, places, failure)

    def tell(places: list[tuple[str, int]], failure: OSError | None) -> None:
        if found.done():
            return
        if failure is not None:
            found.set_exception(failure)
        else:
            found.set_result(places)

    try:
        ipaddress.ip_address(host)
    except ValueError:
        threading.Thread(target=ask, name="llmphases-resolve", daemon=True).start()
        return await found
    return [(host, port)]


async def _through_proxy(streams: Streams, proxy: Address, address: Address) -> None:
    reader, writer = streams
    target = f"{address.host}:{address.port}" if ":" not in address.host else (
        f"[{address.host}]:{address.port}"
    )  # fmt: skip
    talk = h11.Connection(h11.CLIENT)
    headers = [(b"Host", target.encode("ascii")), *_authorization(proxy)]
    asked = h11.Request(method=b"CONNECT", target=target.encode("ascii"), headers=headers)
    for event in (asked, h11.EndOfMessage()):
        writer.write(talk.send(event) or b"")
    await writer.drain()
    status = await _answer(talk, reader)
    if status // 100 != 2:  # noqa: PLR2004  # 2xx: it is connected
        writer.close()
        raise OSError(f"the proxy said {status}")


async def _answer(talk: h11.Connection, reader: asyncio.StreamReader) -> int:
    while True:
        try:
            event = talk.next_event()
        except h11.RemoteProtocolError as error:
            raise OSError("the proxy does not speak HTTP") from error
        if isinstance(event, h11.Response):
            return event.status_code
        if event is h11.NEED_DATA:
            talk.receive_data(await reader.read(_LIMIT))


def _authorization(proxy: Address | None) -> list[tuple[bytes, bytes]]:
    if proxy is None or proxy.credentials is None:
        return []
    told = base64.b64encode(proxy.credentials.encode("utf-8"))
    return [(b"Proxy-Authorization", b"Basic " + told)]
