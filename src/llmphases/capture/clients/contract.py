"""What is known of a client library: which of its methods ask a model, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def model_argument(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    """The keyword argument `model`, as nearly every SDK has it."""
    return kwargs.get("model")


def no_provider(client: Any) -> None:
    """Nobody knows whose model it is."""
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method that asks a model: one request, or several where the SDK tries again."""

    where: str
    """Module, colon, dotted path inside it: ``openai.resources.embeddings:Embeddings.create``."""
    operation: str = "chat"
    """`gen_ai.operation.name`."""
    model: Callable[[Any, tuple[Any, ...], Mapping[str, Any]], object] = model_argument
    """The requested model, of the object and the arguments; anything but a text is unknown."""
    provider: Callable[[Any], str | None] = no_provider
    """`gen_ai.provider.name`, of the object; None where it cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsing:
    """A method of a raw response that gives the answer, or the stream, after the request."""

    where: str
    """As in `Method`."""


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
    methods: tuple[Method, ...]
    parsings: tuple[Parsing, ...] = ()
