"""What tests of every wire format share: the server, and who asks it in each way."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator

import pytest

from lab.tries import tries
from lab.wire_asking import Apart, Recorded, Session
from lab.wire_server import Served, Timing, WireServer
from lab.wire_ways import Way

MS = 1_000_000
NEAR_NS = 30 * MS
MARKS = [
    pytest.mark.slow,
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession"),  # google-genai's
]

Ask = Callable[[Timing], tuple[Recorded, list[Served]]]


def in_every(ways: list[Way]) -> pytest.MarkDecorator:
    """A test for each way whose package is there."""
    params = []
    for way in ways:
        absent = pytest.mark.skipif(not _is_there(way), reason=f"{way.package} is not installed")
        params.append(pytest.param(way, id=way.name, marks=absent))
    return pytest.mark.parametrize("way", params)


def _is_there(way: Way) -> bool:
    try:
        return importlib.util.find_spec(way.package) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


class WireLab:
    """The server, and a process for those that need one of their own."""

    def __init__(self, server: WireServer) -> None:
        self.server = server
        self._apart: Apart | None = None

    @contextlib.contextmanager
    def asking(self, way: Way, what: str, *, retries: int = 0) -> Iterator[Ask]:
        """Asks for what takes its time as said; gives what was recorded, and what was served."""
        if way.is_apart:
            if self._apart is None:
                self._apart = Apart(self.server.url)
            yield self._asked(lambda model: self._apart.ask(way, retries, model, what))
            return
        with Session(self.server.url, way, retries=retries) as session:
            yield self._asked(lambda model: session.ask(model, what))

    def _asked(self, ask: Callable[[str], Recorded]) -> Ask:
        def asked(timing: Timing) -> tuple[Recorded, list[Served]]:
            model = self.server.asks(timing)
            return ask(model), self.server.served(model)

        return asked

    def close(self) -> None:
        """End the other process."""
        if self._apart is not None:
            self._apart.close()


def near_once(lateness: Callable[[], dict[str, int]]) -> None:
    """Each of these latenesses, in nanoseconds, has to be small once in a few tries.

    What holds however late everybody is, `lateness` asserts itself.
    """
    least: dict[str, int] = {}
    for attempt in tries(20):
        for what, late_ns in lateness().items():
            assert late_ns >= 0, what
            least[what] = min(late_ns, least.get(what, late_ns))
        with attempt:
            assert max(least.values()) < NEAR_NS, least
