"""LiteLLM: completions and embeddings, sync and async. Seen in litellm 1.60 to 1.110.

They are functions of a module, and ask by other SDKs or HTTP clients, sync ones in a thread too:
whatever that is, it is one request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmphases.adapters.contract import read
from llmphases.adapters.sdks.hosts import provider_of_url
from llmphases.capture.clients.contract import Method, Sdk, Told

_FUNCTIONS = {
    "completion": ("chat", 0),
    "text_completion": ("text_completion", 1),
    "embedding": ("embeddings", 0),
}
"""What each does, and the place of the model among its arguments."""
_MODULES = {
    "litellm.main": _FUNCTIONS,
    "litellm.chat_completions.dispatch": {"completion": _FUNCTIONS["completion"]},  # of late
}
_PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "bedrock_converse": "aws.bedrock",
    "cohere": "cohere",
    "cohere_chat": "cohere",
    "deepseek": "deepseek",
    "gemini": "gcp.gemini",
    "groq": "groq",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "perplexity": "perplexity",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Those that leave no doubt, by LiteLLM's names: "openai" is everyone who speaks its language."""


def _model(place: int) -> Told:
    def model(_: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        return args[place] if len(args) > place else kwargs.get("model")

    return model


def _answered_by(answer: Any) -> str | None:
    """Whose model it was, as LiteLLM found out: of its own name and the address it has asked."""
    said = read(answer, "_hidden_params")
    name = read(answer, "custom_llm_provider") or read(said, "custom_llm_provider")
    return provider_of_url(read(said, "api_base")) or _PROVIDERS.get(str(name))


LITELLM = Sdk(
    name="litellm",
    package="litellm",
    distribution="litellm",
    since=(1, 60),
    before=(2,),
    methods=tuple(
        Method(
            where=f"{module}:{prefix}{name}",
            operation=operation,
            model=_model(place),
            answered_by=_answered_by,
        )
        for module, names in _MODULES.items()
        for name, (operation, place) in names.items()
        for prefix in ("", "a")
    ),
)
