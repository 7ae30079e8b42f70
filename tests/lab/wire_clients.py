"""Clients of the real SDKs, for the stand-in server of every wire format.

None of them is imported before it is asked for. Each is made from the server's URL and how often it
may try again by itself.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

PAUSE_S = 0.05
"""How long one waits before it tries again, where that can be said."""
MESSAGES = [{"role": "user", "content": "hi"}]


def stainless(module: str, name: str, path: str = "") -> Callable[[str, int], Any]:
    def client(url: str, retries: int) -> Any:
        made = getattr(importlib.import_module(module), name)
        return made(base_url=f"{url}{path}", api_key="none", max_retries=retries)

    return client


def google(url: str, retries: int) -> Any:
    from google import genai
    from google.genai import types

    again = types.HttpRetryOptions(
        attempts=1 + retries, initial_delay=PAUSE_S, max_delay=PAUSE_S, jitter=0
    )
    options = types.HttpOptions(base_url=url, api_version="v1", retry_options=again)
    return genai.Client(api_key="none", http_options=options)


@contextlib.asynccontextmanager
async def google_async(url: str, retries: int) -> AsyncIterator[Any]:
    client = google(url, retries).aio
    yield client
    if hasattr(client, "aclose"):
        await client.aclose()


def mistral(url: str, retries: int) -> Any:
    deeper = importlib.util.find_spec("mistralai.client")
    place = "mistralai.client" if deeper.submodule_search_locations else "mistralai"
    config = None
    if retries:
        held = importlib.import_module(f"{place}.utils.retries")
        ms = round(PAUSE_S * 1000)
        backoff = held.BackoffStrategy(ms, ms, 1.0, 5000)
        config = held.RetryConfig("backoff", backoff, retry_connection_errors=True)
    sdk = importlib.import_module(place)
    return sdk.Mistral(api_key="none", server_url=url, retry_config=config)


@contextlib.contextmanager
def ollama(url: str, retries: int) -> Iterator[Any]:
    import ollama

    client = ollama.Client(host=url)
    yield client
    client._client.close()


@contextlib.asynccontextmanager
async def ollama_async(url: str, retries: int) -> AsyncIterator[Any]:
    import ollama

    client = ollama.AsyncClient(host=url)
    yield client
    await client._client.aclose()


@contextlib.contextmanager
def bedrock(url: str, retries: int) -> Iterator[Any]:
    import boto3
    from botocore.config import Config

    keys = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "none")
    config = Config(retries={"max_attempts": retries})
    client = boto3.client(
        "bedrock-runtime", endpoint_url=url, region_name="eu-west-1", config=config, **keys
    )
    yield client
    client.close()


def llm(name: str) -> Callable[[str, int], Any]:
    def client(url: str, retries: int) -> Any:
        models = importlib.import_module("llm.default_plugins.openai_models")
        return lambda model: getattr(models, name)(
            model_id=model, model_name=model, api_base=f"{url}/v1"
        ).prompt("hi", key="none")

    return client


def litellm(name: str) -> Callable[[str, int], Any]:
    def client(url: str, retries: int) -> Any:
        ask = getattr(importlib.import_module("litellm"), name)
        about = {"api_base": f"{url}/v1", "api_key": "none", "messages": MESSAGES}
        return lambda model, **how: ask(
            model=f"openai/{model}", max_retries=0, num_retries=retries, **about, **how
        )

    return client
