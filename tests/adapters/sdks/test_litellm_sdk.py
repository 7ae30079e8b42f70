"""The real LiteLLM, hooked into: each of its functions is one request, wherever it was imported."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.llama import missing
from llmphases.adapters.sdks.litellm_sdk import LITELLM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real,
    pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="no litellm"),
]
OFFLINE = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Else it fetches a list of prices when it is imported."""
PROGRAM = Path(__file__).with_name("litellm_program.py")
WHOLE = {
    "name": "chat openai/small", "requests": 1, "phases": ["inference"], "output_tokens": 3,
    "provider": None, "ended": None, "error": None,
}  # fmt: skip


@pytest.fixture(scope="module", params=["early", "late"])
def found(request, sse_server):
    """Hooked into before LiteLLM is imported, or when a program has its functions already."""
    urls = [sse_server.base_url]
    if request.param == "late" and missing() is None:
        urls.append(request.getfixturevalue("llama_server").base_url)
    done = subprocess.run(
        [sys.executable, str(PROGRAM), request.param, *urls],
        env=OFFLINE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_whole_answer(found):
    assert found["whole"] == WHOLE


@pytest.mark.parametrize("way", ["streamed", "awaited"])
def test_a_stream(found, way):
    call = found[way]
    assert {"time_to_first_token", "generation"} <= set(call["phases"])
    assert (call["requests"], call["ended"]) == (1, "exhausted")


def test_inside_a_call_it_is_a_request_of_that(found):
    assert found["inside"] == WHOLE | {"name": "mine"}


def test_what_it_raises(found):
    assert (found["failed"]["error"], found["failed"]["requests"]) == ("ServiceUnavailableError", 1)


def test_taken_off_it_is_as_it_was(found):
    assert (found["off"]["name"] if found["off"] else None, found["as it was"]) == (None, True)


def test_a_real_model(found):
    if "real" not in found:
        pytest.skip("asked once, where there is one")
    call = found["real"]
    assert {"time_to_first_token", "generation"} <= set(call["phases"])
    assert (call["requests"], call["output_tokens"]) == (1, 16)


def test_the_model_is_never_what_is_said_to_it():
    models = {method.where: method.model for method in LITELLM.methods}
    text = models["litellm.main:text_completion"]
    assert (text(None, ("a prompt", "m"), {}), text(None, ("a prompt",), {})) == ("m", None)
    assert models["litellm.main:acompletion"](None, ("m", []), {}) == "m"


@pytest.mark.parametrize(
    ("name", "address", "provider"),
    [
        ("openai", "https://api.openai.com/v1", "openai"),
        ("openai", "http://127.0.0.1:8080/v1", None),
        ("openai", None, None),
        ("vertex_ai", None, "gcp.vertex_ai"),
        ("ollama", "http://127.0.0.1:11434", None),
        (None, None, None),
    ],
)
def test_whose_models_they_are(name, address, provider):
    answer = {"_hidden_params": {"custom_llm_provider": name, "api_base": address}}
    assert LITELLM.methods[0].answered_by(answer) == provider
