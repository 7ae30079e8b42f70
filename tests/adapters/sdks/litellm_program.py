"""A program with LiteLLM: `litellm_program.py early|late URL [MODEL_SERVER]`.

It says what was recorded of it. In a process of its own, for LiteLLM takes seconds to import, and
leaves threads behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

import llmphases
from llmphases.testing import recorded_calls

ASKS = {"model": "openai/small", "messages": [{"role": "user", "content": "hi"}], "api_key": "none"}

REAL: dict[str, Any] = {
    "max_tokens": 16,
    "stream_options": {"include_usage": True},
    "extra_headers": {"Connection": "close"},
    "extra_body": {"cache_prompt": False, "ignore_eos": True},
}
"""For llama.cpp's server, as in `lab.llama`."""


def main(order: str, url: str, real: str | None = None) -> None:
    """Ask in every way."""
    if order == "early":
        llmphases.instrument("litellm", "openai")
    global acompletion, ask  # noqa: PLW0603  # a local name is out of anybody's reach
    import litellm
    from litellm import acompletion
    from litellm import completion as ask

    llmphases.instrument("litellm", "openai")
    asks = ASKS | {"api_base": url, "num_retries": 0, "max_retries": 0}
    found: dict[str, Any] = {}

    def note(name: str, call: Any) -> None:
        found[name] = {
            "name": call.name,
            "requests": call.requests,
            "phases": sorted(phase.value for phase in call.exclusive_ns),
            "output_tokens": call.usage and call.usage.output_tokens,
            "provider": call.provider,
            "ended": call.ended and call.ended.value,
            "error": call.error_type,
        }

    def one(name: str, body: Any) -> None:
        with recorded_calls() as calls, contextlib.suppress(litellm.ServiceUnavailableError):
            body()
        found[name] = None
        for call in calls:
            assert found[name] is None, "one call only"
            note(name, call)

    async def asynchronously() -> None:
        stream = await acompletion(**asks, stream=True, stream_options={"include_usage": True})
        assert isinstance(stream, litellm.CustomStreamWrapper)
        assert [chunk async for chunk in stream]

    def inside() -> None:
        with llmphases.llm_call("mine"):
            ask(**asks)

    def streamed() -> None:
        stream = litellm.completion(**asks, stream=True)
        assert isinstance(stream, litellm.CustomStreamWrapper)
        assert stream.model == "small"
        assert list(stream)

    one("whole", lambda: ask(asks["model"], asks["messages"], **_rest(asks)))
    one("streamed", streamed)
    one("awaited", lambda: asyncio.run(asynchronously()))
    one("inside", inside)
    one("failed", lambda: ask(**asks, extra_body={"lab": {"fail_times": 1_000_000}}))
    if real is not None:
        one("real", lambda: list(litellm.completion(**ASKS | REAL, api_base=real, stream=True)))
    llmphases.uninstrument("litellm", "openai")
    one("off", lambda: ask(**asks))
    found["as it was"] = type(litellm.completion).__name__ == "function"
    print(json.dumps(found))


def _rest(asks: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asks.items() if name not in {"model", "messages"}}


if __name__ == "__main__":
    main(*sys.argv[1:])
