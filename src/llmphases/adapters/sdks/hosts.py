"""Whose models are behind an address, as `gen_ai.provider.name` has it."""

from __future__ import annotations

from urllib.parse import urlsplit

_PROVIDERS = {
    "api.openai.com": "openai",
    "openai.azure.com": "azure.ai.openai",
    "services.ai.azure.com": "azure.ai.inference",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.deepseek.com": "deepseek",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
    "api.cohere.com": "cohere",
    "api.cohere.ai": "cohere",
    "api.moonshot.ai": "moonshot_ai",
    "api.moonshot.cn": "moonshot_ai",
    "amazonaws.com": "aws.bedrock",
    "api.aws": "aws.bedrock",
    "ml.cloud.ibm.com": "ibm.watsonx.ai",
}
"""By host, or the end of it."""
_OF_A_REGION = "-aiplatform.googleapis.com"


def provider_of_url(url: object) -> str | None:
    """The provider at an address; None for any other one, such as a server of one's own."""
    host = urlsplit(str(url)).hostname or ""
    if host.endswith(_OF_A_REGION):
        return "gcp.vertex_ai"
    while host:
        if host in _PROVIDERS:
            return _PROVIDERS[host]
        _, _, host = host.partition(".")
    return None
