"""The tap: stands between one child and its model, from before its spawn until it is gone."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cache, partial
from typing import Any

from llmphases.capture.children.tap.contract import Reading, TapRoute
from llmphases.capture.children.tap.moments import TapMoments
from llmphases.capture.children.tap.relay import Gate, Relay
from llmphases.capture.children.tap.steering import Ends, steered, texts
from llmphases.capture.children.tap.tunnel import Door, Tunnel
from llmphases.capture.children.tap.upstream import (
    Address,
    Streams,
    Upstream,
    address_of,
    proxy_for,
    trust_of,
)
from llmphases.observers import never_raises

logger = logging.getLogger("llmphases")

_LIMIT = 1 << 16
_MOST_NAMES = 3
"""Of variables, in a message."""
_Way = Callable[[Streams], Coroutine[Any, Any, None]]


class Tap:
    """`open`, `steer` what is to be spawned, and `close` when it is gone.

    Listens on 127.0.0.1 only, and lets in who knows a secret that only the child is told.
    """

    def __init__(
        self, route: TapRoute, env: Mapping[Any, Any], moments: TapMoments, reading: Reading
    ) -> None:
        """`env` is the child's environment; raises `ConfigurationError` for what it cannot do."""
        self._route = route
        self._env = texts(env)
        self.moments = moments
        """What it sees."""
        self._reading = reading
        self._secret = secrets.token_urlsafe(18)
        self._trust = cache(partial(trust_of, self._env))
        urls = {*route.variables.values(), *(option.stands_for for option in route.options)}
        self._upstreams = {url: self._upstream(url) for url in sorted(urls)}
        if any(upstream.address.is_tls for upstream in self._upstreams.values()):
            self._trust()  # what is wrong with it is to be said now
        self._ports: dict[str, int] = {}
        self._door: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._is_ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_unreachable = False

    def _upstream(self, url: str) -> Upstream:
        address = address_of(url)
        assert address is not None  # a route holds base URLs only
        return self._to(address)

    def _to(self, address: Address) -> Upstream:
        return Upstream(address, proxy_for(self._env, address), self._trust)

    def _tunnel_to(self, target: str) -> Upstream | None:
        address = address_of(f"https://{target}")
        return None if address is None else self._to(address)

    # --- for whoever runs the child --------------------------------------------------------

    def open(self) -> bool:
        """Whether it listens now."""
        self._thread = threading.Thread(target=self._run, name="llmphases-tap", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # no more threads
            self._thread = None
            return False
        self._is_ready.wait()
        return self._stop is not None

    def steer(self, argv: Sequence[Any], env: Mapping[Any, Any]) -> tuple[Sequence[Any], Any]:
        """The command line and the environment that bring the child here."""
        return steered(
            argv, env, self._route, Ends(secret=self._secret, ports=self._ports, door=self._door)
        )

    def close(self) -> None:
        """The child is gone: nobody listens any more, and what is open is cut."""
        if self._thread is None:
            return
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = None
        if self.moments.view == "nothing":
            logger.warning(
                "llmphases: tap: no request to a model was seen, so the times are those of a run "
                "without it%s",
                what_to_do(self._route),
            )

    # --- in its own thread -----------------------------------------------------------------

    @never_raises
    def _run(self) -> None:
        try:
            # Not whatever loop the program prefers: this one is known to do all of it.
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._serve())
        finally:
            self._is_ready.set()

    async def _serve(self) -> None:
        servers: list[asyncio.Server] = []
        try:
            for url, upstream in self._upstreams.items():
                servers.append(await self._listen(self._gate(upstream)))
                self._ports[url] = _port_of(servers[-1])
            if self._route.proxied:
                servers.append(await self._listen(self._open_door()))
                self._door = _port_of(servers[-1])
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            self._is_ready.set()
            await self._stop.wait()
        finally:
            for server in servers:
                server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self, run: _Way) -> asyncio.Server:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(run((reader, writer)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(_look_at)

        return await asyncio.start_server(connected, "127.0.0.1", 0, limit=_LIMIT)

    def _gate(self, upstream: Upstream) -> _Way:
        gate = Gate(
            secret=self._secret.encode("ascii"), upstream=upstream, seen=self.moments,
            reading=self._reading, unreachable=self._unreachable,
        )  # fmt: skip
        return lambda child: Relay(child, gate).run()

    def _open_door(self) -> _Way:
        door = Door(
            secret=self._secret.encode("ascii"), upstream_for=self._tunnel_to, seen=self.moments,
            now=self._reading.now, unreachable=self._unreachable,
        )  # fmt: skip
        return lambda child: Tunnel(child, door).run()

    def _unreachable(self, error: OSError) -> None:
        """Said once: the child sees only that its connection breaks, and not why."""
        if not self._is_unreachable:
            self._is_unreachable = True
            logger.warning(
                "llmphases: tap: no connection to the model's server (%s); the command sees a "
                "connection that breaks",
                type(error).__name__,
            )


@never_raises
def _look_at(task: asyncio.Task[None]) -> None:
    """A fault of ours has ended one connection, and is to be known."""
    if not task.cancelled():
        task.result()


def _port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


def what_to_do(route: TapRoute) -> str:
    """How a command that was not seen would be."""
    if route.variables:
        names = " and ".join(sorted(route.variables))
        return (
            f". {names} led here, but it did not ask there: a URL in its arguments or its own "
            "settings goes before"
        )
    if route.unset:
        names = " or ".join(route.unset[:_MOST_NAMES])
        return (
            f". Where its model's URL is in its arguments or its own settings, give it in {names} "
            "instead, if it reads that: a base URL there leads here"
        )
    return "; the command's own settings may name where its model is"
