"""The OpenAI Python SDK: chat, responses, completions and embeddings, sync and async.

Seen in openai 1.40 to 3.57. The methods that people call are hooked into, so that what others put
around the sending is inside; and the sending itself, by which everything goes: `parse`, the
managers of `stream()` once they are entered, the beta paths of older versions, and
`with_raw_response` objects that are older than the hooks.
"""

from __future__ import annotations

from typing import Any

from llmphases.adapters.sdks.hosts import provider_of_url
from llmphases.adapters.sdks.stainless import raw_responses, requests
from llmphases.capture.clients.contract import Closing, Method, Sdk
from llmphases.capture.stand_in import mro_of

_OPERATIONS = {
    "/chat/completions": "chat",
    "/responses": "chat",
    "/completions": "text_completion",
    "/embeddings": "embeddings",
}
_RESOURCES = {
    "openai.resources.chat.completions.completions": ("Completions", "chat"),
    "openai.resources.responses.responses": ("Responses", "chat"),
    "openai.resources.completions": ("Completions", "text_completion"),
    "openai.resources.embeddings": ("Embeddings", "embeddings"),
}
_HELPERS = {
    "openai.lib.streaming.chat._completions": "ChatCompletionStream",
    "openai.lib.streaming.responses._responses": "ResponseStream",
}
"""They read a stream, and close the response below it."""


def _provider(client: Any) -> str | None:
    """Whose models they are: this SDK talks to everyone who speaks OpenAI's language."""
    if any(base.__name__.endswith("AzureOpenAI") for base in mro_of(type(client))):
        return "azure.ai.openai"
    return provider_of_url(client.base_url)


def _provider_of_resource(resource: Any) -> str | None:
    return _provider(resource._client)  # noqa: SLF001  # it is nowhere else


OPENAI = Sdk(
    name="openai",
    package="openai",
    distribution="openai",
    since=(1, 40),
    before=(4,),
    methods=(
        *(
            Method(
                where=f"{module}:{prefix}{name}.create",
                operation=operation,
                provider=_provider_of_resource,
            )
            for module, (name, operation) in _RESOURCES.items()
            for prefix in ("", "Async")
        ),
        *requests("openai", _OPERATIONS, _provider),
    ),
    readings=raw_responses("openai"),
    closings=tuple(
        Closing(where=f"{module}:{prefix}{name}.close", stream="_raw_stream")
        for module, name in _HELPERS.items()
        for prefix in ("", "Async")
    ),
)
