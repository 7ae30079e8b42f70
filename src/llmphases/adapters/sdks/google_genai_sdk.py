"""The Google GenAI SDK: generated content and embeddings, sync and async, Gemini and Vertex AI.

Seen in google-genai 1.30 to 3.6. `generate_content` may ask several times, running the functions
that the model calls in between; so the methods that ask once are hooked into, one below. `chats`
and `generate_content_stream` go through these as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llmphases.adapters.sdks.hosts import provider_of_url
from llmphases.capture.clients.contract import Method, Sdk


def _provider(models: Any) -> str:
    options = models._api_client._http_options  # noqa: SLF001  # it is nowhere else
    return provider_of_url(options.base_url) or "gcp.gen_ai"


def _always(models: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    return True


def _method(path: str, operation: str = "generate_content") -> Method:
    return Method(where=f"google.genai.models:{path}", operation=operation, provider=_provider)


GOOGLE_GENAI = Sdk(
    name="google-genai",
    package="google.genai",
    distribution="google-genai",
    since=(1, 30),
    before=(4,),
    methods=(
        _method("Models._generate_content"),
        # A generator; the async one is given out after it has asked.
        replace(_method("Models._generate_content_stream"), asks_when_read=_always),
        _method("Models.embed_content", "embeddings"),
        _method("AsyncModels._generate_content"),
        _method("AsyncModels._generate_content_stream"),
        _method("AsyncModels.embed_content", "embeddings"),
    ),
)
