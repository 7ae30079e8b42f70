"""What is known of a client library: which of its methods ask a model, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Told = Callable[[Any, tuple[Any, ...], Mapping[str, Any]], Any]
"""Tells something of one use of a method: of the object and the arguments."""


def model_argument(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    """The keyword argument `model`, as nearly every SDK has it."""
    return kwargs.get("model")


def no_provider(client: Any) -> None:
    """Nobody knows whose model it is."""
    return


def nothing_said(client: Any) -> None:
    """All that is known has been said by the answer itself."""
    return


def at_once(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """What a method gives out has been asked for when it does."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method that asks a model: one request, or several where the SDK tries again."""

    where: str
    """Module, colon, dotted path inside it: ``openai.resources.embeddings:Embeddings.create``.
    A function of the module itself is exchanged wherever else it was imported to."""
    operation: str | Told = "chat"
    """`gen_ai.operation.name`, or what tells it; None: this use of the method asks no model."""
    model: Told = model_argument
    """The requested model, of the object and the arguments; anything but a text is unknown."""
    provider: Callable[[Any], str | None] = no_provider
    """`gen_ai.provider.name`, of the object; None where it cannot be told."""
    answered_by: Callable[[Any], str | None] = no_provider
    """The same, of what the method gave, where only that tells."""
    asks_when_read: Told = at_once
    """Whether it gives out a generator that asks the model when it is first advanced."""
    said_after: Callable[[Any], Any] = nothing_said
    """What the object says of the answer once such a generator has ended and the chunks did not."""
    stream_at: str | None = None
    """The key of the stream, where it comes within a dict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A method of a raw response, by which the answer or its stream is taken out of that."""

    where: str
    """As in `Method`; its name (`parse`, `read`, `iter_lines`, `close` ...) says what it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A method of a helper that reads a stream and closes what is below that, not the stream."""

    where: str
    """As in `Method`."""
    stream: str
    """The helper's attribute that holds the stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A function of a client that something of its own is put around, such as an HTTP client's."""

    where: str
    """As in `Method`."""
    wrapper: Callable[[Any, Any, Any, Any], Any]
    """Called in its place with the function, the object it is bound to, arguments and keywords."""
    only_in_some: bool = False
    """Whether there are supported versions without it."""
    matters_before: bool = False
    """Whether it matters before the first call too: where a client is made that is used later."""


Hooked = Method | Reading | Closing | Hook


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """A client library: its methods are hooked into once it is imported, never before."""

    name: str
    """What `instrument` calls it."""
    package: str
    """The package that is imported."""
    distribution: str
    """The name that its version is found under."""
    since: tuple[int, ...]
    """The first version that is supported."""
    before: tuple[int, ...]
    """The first one that is not any more."""
    methods: tuple[Method, ...] = ()
    readings: tuple[Reading, ...] = ()
    closings: tuple[Closing, ...] = ()
    hooks: tuple[Hook, ...] = ()

    @property
    def hooked(self) -> tuple[Hooked, ...]:
        """All that is hooked into."""
        return (*self.methods, *self.readings, *self.closings, *self.hooks)
