"""`llm` as a library: prompts, sync and async, chains and conversations. Seen in llm 0.32 to 0.36.

A response asks its model when it is first read, in whatever way, and once: `_iter_events` and
`_ensure_async_generator` are where it does. What a model's plugin asks by an SDK is part of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmphases.adapters.contract import read
from llmphases.adapters.sdks.hosts import provider_of_url
from llmphases.capture.clients.contract import Hook, Method, Sdk


def _model(response: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    return response.model.model_id


def _provider(response: Any) -> str | None:
    """Where a model has an address of its own, as those do that speak OpenAI's language."""
    return provider_of_url(read(response.model, "api_base"))


def _when_read(response: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    return True


def _said(response: Any) -> dict[str, Any]:
    """The counts have names of their own, the details those of OpenAI."""
    usage = {"prompt_tokens": response.input_tokens, "completion_tokens": response.output_tokens}
    return {"model": response.resolved_model, "usage": (response.token_details or {}) | usage}


_ASKED = Method(
    where="llm.models:Response._iter_events",
    model=_model,
    provider=_provider,
    asks_when_read=_when_read,
    said_after=_said,
)


def _ensure_async_generator(wrapped: Any, response: Any, args: Any, kwargs: Any) -> Any:
    from llmphases.capture.clients.read_later import watched_from_first_read  # loads wrapt

    before = read(response, "_generator")
    result = wrapped(*args, **kwargs)
    asked = read(response, "_generator")
    if asked is not before:
        response._generator = watched_from_first_read(_ASKED, asked, response, (), {})  # noqa: SLF001  # the one place that all ways of reading share
    return result


LLM = Sdk(
    name="llm",
    package="llm",
    distribution="llm",
    since=(0, 32),
    before=(1,),
    methods=(_ASKED,),
    hooks=(
        Hook(
            where="llm.models:AsyncResponse._ensure_async_generator",
            wrapper=_ensure_async_generator,
        ),
    ),
)
