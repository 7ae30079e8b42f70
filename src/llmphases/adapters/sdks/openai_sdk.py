"""The OpenAI Python SDK: chat, responses, completions and embeddings, sync and async.

Seen in openai 1.40 to 3.57. `chat.completions.stream()` and `responses.stream()` go through
`create`; so do `with_raw_response` and `with_streaming_response`.
"""

from __future__ import annotations

from typing import Any

from llmphases.adapters.sdks.hosts import provider_of_url
from llmphases.capture.clients.contract import Method, Sdk


def _provider(resource: Any) -> str | None:
    """Whose models they are: this SDK talks to everyone who speaks OpenAI's language."""
    return provider_of_url(resource._client.base_url)  # noqa: SLF001  # nowhere else


def _methods(where: str, names: tuple[str, ...], operation: str) -> tuple[Method, ...]:
    module, _, resource = where.partition(":")
    return tuple(
        Method(where=f"{module}:{prefix}{resource}.{name}", operation=operation, provider=_provider)
        for prefix in ("", "Async")
        for name in names
    )


OPENAI = Sdk(
    name="openai",
    package="openai",
    distribution="openai",
    since=(1, 40),
    before=(4,),
    methods=(
        *_methods(
            "openai.resources.chat.completions.completions:Completions",
            ("create", "parse"),
            "chat",
        ),
        *_methods("openai.resources.responses.responses:Responses", ("create", "parse"), "chat"),
        *_methods("openai.resources.completions:Completions", ("create",), "text_completion"),
        *_methods("openai.resources.embeddings:Embeddings", ("create",), "embeddings"),
    ),
)
