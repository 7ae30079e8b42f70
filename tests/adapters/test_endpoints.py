"""Which requests ask a model for an answer."""

from __future__ import annotations

import pytest

from llmphases.adapters.endpoints import asks_a_model


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/openai/deployments/x/chat/completions",
        "/v1/completions/",
        "/v1/responses",
        "/backend-api/codex/responses",
        "/v1/messages",
        "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
        "/api/chat",
        "/api/generate",
        "/completion",
        "/model/anthropic.claude/converse-stream",
    ],
)
def test_a_post_for_an_answer(path):
    assert asks_a_model("POST", path)
    assert not asks_a_model("HEAD", path)
    assert not asks_a_model("GET", path)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1/embeddings",
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/api/show",
        "/api/embed",
        "/api/event_logging/batch",
        "/v1/models",
        "/v1beta/models/gemini:countTokens",
        "/tokenize",
    ],
)
def test_other_posts(path):
    assert not asks_a_model("POST", path)
