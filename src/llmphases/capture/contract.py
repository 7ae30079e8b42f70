"""What capture asks of the rest: a clock, observers, a carrier, and how to read what it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from llmphases.calls import Usage
from llmphases.observers import Carrier, Observers
from llmphases.recorder.reported import ReportedTimes


class ChunkFacts(Protocol):
    """What a chunk says beside its text."""

    @property
    def usage(self) -> Usage | None: ...
    @property
    def response_model(self) -> str | None: ...
    @property
    def provider(self) -> str | None: ...
    @property
    def reported(self) -> ReportedTimes | None: ...
    def then(self, later: Any, /) -> ChunkFacts:
        """These, after later ones of the same stream have been heard."""
        ...


class ChunkShape(Protocol):
    """How to read the chunks of one kind of stream."""

    @property
    def kind(self) -> Callable[[Any], int]:
        """0: no token, 1: part of the answer, 2: reasoning."""
        ...

    @property
    def facts(self) -> Callable[[Any], ChunkFacts | None]: ...


@dataclass(slots=True, kw_only=True)
class Wiring:
    """Which clock ticks, who listens, who carries; how chunks, usage and children are read."""

    now: Callable[[], int]
    wall: Callable[[], int]
    observers: Observers
    carrier: Carrier
    shape_of: Callable[[Any], ChunkShape]
    shape_from_predicate: Callable[[Callable[[Any], bool]], ChunkShape]
    usage_of: Callable[[Any], Usage | None]
    facts_of: Callable[[Any], ChunkFacts | None]
    """Of a whole answer."""
    times_in: Callable[[Iterable[tuple[str, str]]], ReportedTimes | None]
    """Of the headers of a response: what the server says of its own time."""
    format_for: Callable[..., Any]
    """Of a command's words and maybe a format's name: its `children.formats.CommandFormat`."""
    route_for: Callable[..., Any]
    """Of a command's words, environment and folder: its `children.tap.contract.TapRoute`."""
    asks_a_model: Callable[[str, str], bool]
    """Whether an HTTP request (method, path) asks a model for an answer."""
