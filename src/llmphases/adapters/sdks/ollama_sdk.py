"""The Ollama Python SDK: chat, generate and embed, sync and async.

Seen in ollama 0.5 to 0.6. Everything goes through `_request`; so do the functions of the module,
which are methods of a client that is made with it, whenever a program has imported them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmphases.adapters.contract import read
from llmphases.capture.clients.contract import Method, Sdk

_OPERATIONS = {
    "/api/chat": "chat",
    "/api/generate": "text_completion",
    "/api/embed": "embeddings",
    "/api/embeddings": "embeddings",
}
"""By address; models are pulled, listed and shown by others."""


def _operation(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    return next((_OPERATIONS[arg] for arg in args if arg in _OPERATIONS), None)


def _model(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    return read(kwargs.get("json"), "model")


def _provider(client: Any) -> str:
    return "ollama"  # whose server it is, nobody can tell; it is Ollama's language


def _streams(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    return bool(kwargs.get("stream"))  # a generator that asks when it is first advanced


OLLAMA = Sdk(
    name="ollama",
    package="ollama",
    distribution="ollama",
    since=(0, 5),
    before=(0, 7),
    methods=tuple(
        Method(
            where=f"ollama._client:{client}._request",
            operation=_operation,
            model=_model,
            provider=_provider,
            asks_when_read=_streams,
        )
        for client in ("Client", "AsyncClient")
    ),
)
