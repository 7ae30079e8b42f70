"""Who is measured: one line a peer. How each is switched on is in `switches.py`, by the same name.

Whether a peer records a first token is not said here: it is looked for in what it has recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

OPENAI = "openai"
"""The client that all of them are measured with."""
OURS = "llmphases"


@dataclass(frozen=True, slots=True)
class Peer:
    """One instrumentation of OpenAI's client."""

    name: str
    """As people call it; also the name of its environment and of its switch."""
    distribution: str
    """Whose version the row tells."""
    besides: tuple[str, ...] = ()
    """What pip is asked for besides it and the client."""


_SDK = "opentelemetry-sdk"

PEERS = (
    Peer(OURS, "llmphases"),
    Peer("openinference", "openinference-instrumentation-openai", (_SDK,)),
    Peer("openllmetry", "opentelemetry-instrumentation-openai", (_SDK,)),
    # What it needs and does not say; it does not load with a later util-genai.
    Peer(
        "otel-openai-v2",
        "opentelemetry-instrumentation-openai-v2",
        (_SDK, "httpx", "opentelemetry-util-genai==1.1b0"),
    ),
    Peer("otel-genai-openai", "opentelemetry-instrumentation-genai-openai", (_SDK,)),
    Peer("openlit", "openlit", (_SDK,)),
    Peer("langfuse", "langfuse", (_SDK,)),
    Peer("logfire", "logfire", (_SDK,)),
    Peer("mlflow", "mlflow-tracing", (_SDK,)),
    Peer("opik", "opik"),
    Peer("weave", "weave"),
    Peer("langsmith", "langsmith"),
)
