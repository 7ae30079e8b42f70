"""Every way in which the SDKs stream, by one table: what is asked, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab import wire_clients as clients


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a client is asked for a stream."""

    name: str
    hooks: tuple[str, ...]
    """By which names `instrument` knows it; the first is the package that has to be there."""
    package: str
    client: Callable[[str, int], Any]
    """From the server's URL and how often it may try again by itself; it may be a `with`."""
    stream: Callable[[Any, str], Any]
    """From the client and the model; may have to be awaited, or entered."""
    whole: Callable[[Any, str], Any] | None = None
    is_another: bool = False
    """Whether the client has a plainer way in this list, of which this is a variant."""
    shows_opening: bool = True
    """Whether its chunks begin with what opens a stream, before the first token."""
    takes_its_time: bool = False
    """Whether it does much of its own before it sends anything, and after a failure."""
    tries_again: bool = True
    """Whether it tries again by itself what has failed."""
    is_async: bool = False
    is_apart: bool = False
    """Whether it needs a process of its own."""


def _chat(client: Any, model: str, **how: Any) -> Any:
    return client.chat.completions.create(model=model, messages=clients.MESSAGES, **how)


def _chat_stream(client: Any, model: str) -> Any:
    return _chat(client, model, stream=True)


def _message(client: Any, model: str, **how: Any) -> Any:
    return client.messages.create(model=model, max_tokens=9, messages=clients.MESSAGES, **how)


def _converse(method: str, client: Any, model: str) -> Any:
    messages = [{"role": "user", "content": [{"text": "hi"}]}]
    return getattr(client, method)(modelId=model, messages=messages)


def _both(name: str, sync: Any, awaited: Any, **rest: Any) -> list[Way]:
    """A way that looks the same from both clients."""
    of_async: dict[str, Any] = {"client": awaited, "is_async": True}
    return [
        Way(name=name, client=sync, **rest),
        Way(name=f"{name}, async", **of_async, **rest),
    ]


_OPENAI: dict[str, Any] = {
    "sync": clients.stainless("openai", "OpenAI", "/v1"),
    "awaited": clients.stainless("openai", "AsyncOpenAI", "/v1"),
    "hooks": ("openai",),
    "package": "openai",
}
_ANTHROPIC: dict[str, Any] = {
    "sync": clients.stainless("anthropic", "Anthropic"),
    "awaited": clients.stainless("anthropic", "AsyncAnthropic"),
    "hooks": ("anthropic",),
    "package": "anthropic",
}
_LITELLM: dict[str, Any] = {
    "hooks": ("litellm", "openai"),
    "package": "litellm",
    "takes_its_time": True,
    "is_apart": True,
}
_LLM: dict[str, Any] = {
    "hooks": ("llm", "openai"),
    "package": "llm",
    "shows_opening": False,  # it gives text only
    "takes_its_time": True,
    "is_apart": True,
}
_OLLAMA: dict[str, Any] = {
    "sync": clients.ollama,
    "awaited": clients.ollama_async,
    "hooks": ("ollama",),
    "package": "ollama",
    "shows_opening": False,  # the format has nothing of the kind
    "tries_again": False,
}
_MISTRAL: dict[str, Any] = {
    "client": clients.mistral,
    "hooks": ("mistralai",),
    "package": "mistralai",
    "takes_its_time": True,
}

WAYS = [
    *_both("openai chat", stream=_chat_stream, whole=_chat, **_OPENAI),
    *_both(
        "openai chat.stream()",
        is_another=True,
        stream=lambda client, model: client.chat.completions.stream(
            model=model, messages=clients.MESSAGES
        ),
        **_OPENAI,
    ),
    *_both(
        "openai responses",
        stream=lambda client, model: client.responses.create(model=model, input="a", stream=True),
        whole=lambda client, model: client.responses.create(model=model, input="a"),
        **_OPENAI,
    ),
    *_both(
        "openai responses.stream()",
        is_another=True,
        stream=lambda client, model: client.responses.stream(model=model, input="a"),
        **_OPENAI,
    ),
    *_both(
        "openai completions",
        is_another=True,
        stream=lambda client, model: client.completions.create(
            model=model, prompt="a", stream=True
        ),
        whole=lambda client, model: client.completions.create(model=model, prompt="a"),
        shows_opening=False,  # the format has nothing of the kind
        **_OPENAI,
    ),
    *_both(
        "anthropic",
        stream=lambda client, model: _message(client, model, stream=True),
        whole=_message,
        **_ANTHROPIC,
    ),
    *_both(
        "anthropic stream()",
        is_another=True,
        stream=lambda client, model: client.messages.stream(
            model=model, max_tokens=9, messages=clients.MESSAGES
        ),
        **_ANTHROPIC,
    ),
    *_both(
        "google-genai",
        stream=lambda client, model: client.models.generate_content_stream(
            model=model, contents="hi"
        ),
        whole=lambda client, model: client.models.generate_content(model=model, contents="hi"),
        sync=clients.google,
        awaited=clients.google_async,
        hooks=("google-genai",),
        package="google.genai",
    ),
    *_both(
        "ollama chat",
        stream=lambda client, model: client.chat(
            model=model, messages=clients.MESSAGES, stream=True
        ),
        whole=lambda client, model: client.chat(model=model, messages=clients.MESSAGES),
        **_OLLAMA,
    ),
    *_both(
        "ollama generate",
        is_another=True,
        stream=lambda client, model: client.generate(model=model, prompt="hi", stream=True),
        whole=lambda client, model: client.generate(model=model, prompt="hi"),
        **_OLLAMA,
    ),
    Way(
        name="mistralai",
        stream=lambda client, model: client.chat.stream(model=model, messages=clients.MESSAGES),
        whole=lambda client, model: client.chat.complete(model=model, messages=clients.MESSAGES),
        **_MISTRAL,
    ),
    Way(
        name="mistralai, async",
        stream=lambda client, model: client.chat.stream_async(
            model=model, messages=clients.MESSAGES
        ),
        whole=lambda client, model: client.chat.complete_async(
            model=model, messages=clients.MESSAGES
        ),
        is_async=True,
        **_MISTRAL,
    ),
    *_both(
        "groq",
        clients.stainless("groq", "Groq"),
        clients.stainless("groq", "AsyncGroq"),
        stream=_chat_stream,
        whole=_chat,
        hooks=("groq",),
        package="groq",
    ),
    Way(
        name="bedrock",
        client=clients.bedrock,
        stream=lambda client, model: _converse("converse_stream", client, model)["stream"],
        whole=lambda client, model: _converse("converse", client, model),
        hooks=("bedrock",),
        package="boto3",
    ),
    *_both(
        "llm",
        clients.llm("Chat"),
        clients.llm("AsyncChat"),
        stream=lambda ask, model: ask(model),
        **_LLM,
    ),
    *_both(
        "litellm",
        clients.litellm("completion"),
        clients.litellm("acompletion"),
        stream=lambda ask, model: ask(model, stream=True),
        whole=lambda ask, model: ask(model),
        **_LITELLM,
    ),
]
