"""What the tap asks of the rest: how a command is pointed at it, and who hears what it sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

View = Literal["requests", "bytes", "nothing"]
"""What the tap could see of a child: its requests to a model; only that bytes went by (`CONNECT`);
or nothing at all, so that the times are those of a run without a tap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertedOption:
    """Words that are put into a command line to point the command at a base URL."""

    at: int
    """Before which word."""
    words: tuple[str, ...]
    """`{url}` stands for the base URL."""
    stands_for: str
    """The base URL that the command would use otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapRoute:
    """How one command line is pointed at the tap."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that hold a base URL, and the base URL that each stands for."""
    options: tuple[InsertedOption, ...] = ()
    proxied: bool = False
    """Whether its connections are to come through the tap by `HTTPS_PROXY`."""
    unset: tuple[str, ...] = ()
    """Variables that it may read as well, were a base URL in them."""


class SeenRequest(Protocol):
    """One request to a model, from the first byte of it on. The last three are an end each."""

    def connected(self, since_ns: int, at_ns: int) -> None:
        """The connection that had to be made for it stands."""
        ...

    def sent(self, since_ns: int, at_ns: int) -> None:
        """All of it has been handed on; it could be since that time."""
        ...

    def headers(self, at_ns: int, status: int) -> None:
        """The answer has begun."""
        ...

    def tokens(self, at_ns: int, kinds: int, *, by_bytes: bool = False) -> None:
        """Tokens of these kinds (bits) have arrived; `by_bytes`: bytes that cannot be read."""
        ...

    def ended(self, at_ns: int) -> None:
        """The answer is complete."""
        ...

    def failed(self, at_ns: int, error_type: str) -> None:
        """There is no answer, or not all of it."""
        ...

    def abandoned(self, at_ns: int) -> None:
        """The child has gone before its end."""
        ...


class Seen(Protocol):
    """Who hears of what passes the tap; called in its thread only."""

    def request(self, at_ns: int, target: str) -> SeenRequest | None:
        """The first byte of a request to a model came; `target` is kept to know a re-send by."""
        ...

    def connection(self, at_ns: int) -> None:
        """The child asked for a connection whose content nobody can read."""
        ...

    def some_bytes(self, at_ns: int) -> None:
        """Bytes came to the child on such a connection."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is needed to make sense of what passes by."""

    now: Callable[[], int]
    asks_a_model: Callable[[str, str], bool]
    """Whether a request (method, path without the query) asks a model for an answer."""
    kind_of: Callable[[dict[str, object]], int]
    """Of a decoded event: 0: no token, 1: part of the answer, 2: reasoning."""
