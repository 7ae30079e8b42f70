"""Whose models are behind an address."""

from __future__ import annotations

import pytest

from llmphases.adapters.sdks.hosts import provider_of_url


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1/", "openai"),
        ("https://mine.openai.azure.com/openai/deployments/x", "azure.ai.openai"),
        ("https://bedrock-runtime.eu-central-1.amazonaws.com", "aws.bedrock"),
        ("https://bedrock-mantle.us-east-1.api.aws/anthropic", "aws.bedrock"),
        ("https://aiplatform.googleapis.com/", "gcp.vertex_ai"),
        ("https://europe-west1-aiplatform.googleapis.com/v1", "gcp.vertex_ai"),
        ("https://storage.googleapis.com", None),
        ("http://localhost:8080/v1", None),
        ("http://127.0.0.1:11434", None),
        ("https://notapi.openai.com.example.org", None),
        ("", None),
        (None, None),
    ],
)
def test_known_hosts_and_the_ends_of_hosts(url, provider):
    assert provider_of_url(url) == provider
