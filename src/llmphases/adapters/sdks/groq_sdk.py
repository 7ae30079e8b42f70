"""The Groq Python SDK: chat and embeddings, sync and async. Seen in groq 0.11 to 1.7."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.sdks.hosts import provider_of_url
from llmphases.adapters.sdks.stainless import raw_responses, requests
from llmphases.capture.clients.contract import Method, Sdk

_OPERATIONS = {"/openai/v1/chat/completions": "chat", "/openai/v1/embeddings": "embeddings"}


def _provider(client: Any) -> str | None:
    return provider_of_url(client.base_url)


def _provider_of_resource(resource: Any) -> str | None:
    return _provider(resource._client)  # noqa: SLF001  # it is nowhere else


GROQ = Sdk(
    name="groq",
    package="groq",
    distribution="groq",
    since=(0, 11),
    before=(2,),
    methods=(
        *(
            Method(
                where=f"groq.resources.{name}.create",
                operation=operation,
                provider=_provider_of_resource,
            )
            for path, operation in (
                ("chat.completions:{}Completions", "chat"),
                ("embeddings:{}Embeddings", "embeddings"),
            )
            for name in (path.format(""), path.format("Async"))
        ),
        *requests("groq", _OPERATIONS, _provider),
    ),
    readings=raw_responses("groq"),
)
