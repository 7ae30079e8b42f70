"""The Mistral Python SDK: chat, agents, fill-in-the-middle and embeddings, sync and async.

Seen in mistralai 1.9.1 (there is no 1.9.0) to 3.7; from 2 on its modules are one level down.
`parse` and `parse_stream` go through `complete` and `stream`.
"""

from __future__ import annotations

from typing import Any

from llmphases.capture.clients.contract import Method, Sdk

_ASKS = (
    ("chat:Chat", ("complete", "stream"), "chat"),
    ("agents:Agents", ("complete", "stream"), "chat"),
    ("fim:Fim", ("complete", "stream"), "text_completion"),
    ("embeddings:Embeddings", ("create",), "embeddings"),
)


def _provider(resource: Any) -> str:
    return "mistral_ai"


MISTRALAI = Sdk(
    name="mistralai",
    package="mistralai",
    distribution="mistralai",
    since=(1, 9, 1),
    before=(4,),
    methods=tuple(
        Method(
            where=f"{package}.{resource}.{name}{suffix}", operation=operation, provider=_provider
        )
        for package in ("mistralai", "mistralai.client")
        for resource, names, operation in _ASKS
        for name in names
        for suffix in ("", "_async")
    ),
)
