"""Which HTTP requests ask a model for an answer, by the path: the APIs that chunks are known of."""

from __future__ import annotations

_ENDINGS = (
    "/chat/completions",  # OpenAI and all that speak like it, Azure's deployments included
    "/completions",
    "/responses",
    "/messages",  # Anthropic
    "/complete",
    ":generatecontent",  # Google
    ":streamgeneratecontent",
    ":rawpredict",  # others' models at Google
    ":streamrawpredict",
    "/api/chat",  # Ollama
    "/api/generate",
    "/completion",  # llama.cpp
    "/infill",
    "/generate",  # TGI, SGLang
    "/generate_stream",
    "/converse",  # Bedrock
    "/converse-stream",
    "/invoke",
    "/invoke-with-response-stream",
    "/v2/chat",  # Cohere
)


def asks_a_model(method: str, path: str) -> bool:
    """Whether a request asks for an answer: not for embeddings, a count of tokens, a list."""
    return method == "POST" and path.rstrip("/").lower().endswith(_ENDINGS)
