"""How each peer is switched on, by its name in the table: with its defaults, as its manual says.

Only where its records go is changed: into the sink of this process, never onto a network.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sinks import Sink, exporter, providers

Client = Any
MakeClient = Callable[[], Client]
NOWHERE = "http://127.0.0.1:9"


def plain(_sink: Sink, make: MakeClient) -> Client:
    return make()


def llmphases(sink: Sink, make: MakeClient) -> Client:
    providers(sink)
    import llmphases as ours

    ours.instrument()
    return make()


def openinference(sink: Sink, make: MakeClient) -> Client:
    tracers, _ = providers(sink)
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=tracers)
    return make()


def openllmetry(sink: Sink, make: MakeClient) -> Client:
    tracers, meters = providers(sink)
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=tracers, meter_provider=meters)
    return make()


def otel_openai_v2(sink: Sink, make: MakeClient) -> Client:
    tracers, meters = providers(sink)
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=tracers, meter_provider=meters)
    return make()


def otel_genai_openai(sink: Sink, make: MakeClient) -> Client:
    tracers, meters = providers(sink)
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=tracers, meter_provider=meters)
    return make()


def openlit(sink: Sink, make: MakeClient) -> Client:
    providers(sink)
    import openlit as theirs
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.sdk._logs import LoggerProvider

    set_logger_provider(LoggerProvider())  # else its events are printed
    prices = Path(__file__).with_name("prices.json")  # else it looks for them on a network
    theirs.init(pricing_json=str(prices))
    return make()


def langfuse(sink: Sink, make: MakeClient) -> Client:
    os.environ.update(
        LANGFUSE_PUBLIC_KEY="pk", LANGFUSE_SECRET_KEY="sk", LANGFUSE_HOST=NOWHERE,
        LANGFUSE_BASE_URL=NOWHERE,
    )  # fmt: skip
    import langfuse as theirs

    client = theirs.Langfuse(span_exporter=exporter(sink))
    import langfuse.openai  # noqa: F401  # what it does to the client, it does when it is imported

    sink.flush = client.flush
    return make()


def logfire(sink: Sink, make: MakeClient) -> Client:
    import logfire as theirs
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    theirs.configure(
        send_to_logfire=False, console=False, inspect_arguments=False,
        additional_span_processors=[BatchSpanProcessor(exporter(sink), max_queue_size=100_000)],
    )  # fmt: skip
    theirs.instrument_openai()
    sink.flush = theirs.force_flush
    return make()


def mlflow(sink: Sink, make: MakeClient) -> Client:
    os.environ["MLFLOW_TRACKING_URI"] = NOWHERE
    import mlflow as theirs
    from mlflow.entities.trace_location import MlflowExperimentLocation
    from mlflow.tracing.export.mlflow_v3 import MlflowV3SpanExporter

    def sent(_exporter: Any, trace: Any, *_: Any, **__: Any) -> None:
        sink.take(lambda: str(trace.to_json()))

    exporter_of_theirs: Any = MlflowV3SpanExporter
    exporter_of_theirs._log_trace = sent  # noqa: SLF001  # what would send it
    # The same spans, one by one.
    exporter_of_theirs._log_spans = lambda *_, **__: None  # noqa: SLF001  # as above
    theirs.tracing.set_destination(MlflowExperimentLocation("0"))  # else it asks for one
    theirs.openai.autolog()
    sink.flush = theirs.flush_trace_async_logging
    return make()


def opik(sink: Sink, make: MakeClient) -> Client:
    os.environ.update(OPIK_URL_OVERRIDE=NOWHERE, OPIK_API_KEY="none", OPIK_WORKSPACE="default")
    import opik as theirs
    from opik.integrations.openai import track_openai
    from opik.message_processing.processors import online_message_processor as online

    processor: Any = online.OpikMessageProcessor
    processor.process = lambda _, message: sink.take(lambda: repr(vars(message)))
    client = track_openai(make())
    sink.flush = theirs.flush_tracker
    return client


def weave(sink: Sink, make: MakeClient) -> Client:
    from weave.trace import weave_client
    from weave.trace.context import weave_client_context

    server = _Answering(sink)
    theirs = weave_client.WeaveClient("nobody", "nothing", server, ensure_project_exists=False)
    weave_client_context.set_weave_client_global(theirs)
    from weave.integrations.openai.openai_sdk import get_openai_patcher

    get_openai_patcher().attempt_patch()
    sink.flush = theirs.flush
    return make()


class _Answering:
    """A trace server that takes whatever it is told."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name.endswith("_processor"):  # it has no queue of its own
            raise AttributeError(name)

        def asked(request: Any = None, *_: Any, **__: Any) -> Any:
            self._sink.take(lambda: f"{name} {request!r}")
            return SimpleNamespace(digest="0" * 43)

        return asked


def langsmith(sink: Sink, make: MakeClient) -> Client:
    os.environ.update(
        LANGSMITH_TRACING="true", LANGSMITH_API_KEY="none", LANGSMITH_ENDPOINT=NOWHERE
    )
    import requests
    from langsmith import Client as Sender
    from langsmith.wrappers import wrap_openai

    class IntoSink(requests.Session):
        def request(self, method: Any, url: Any, *_: Any, **given: Any) -> Any:
            if str(method) != "GET":
                sink.take(lambda: _read(given.get("data")))
            response = requests.Response()
            response.status_code = 200
            response._content = b"{}"  # noqa: SLF001  # as its own adapters do
            return response

    sender = Sender(session=IntoSink())
    sink.flush = sender.flush
    return wrap_openai(make(), tracing_extra={"client": sender})


def _read(body: Any) -> str:
    """The text of a body, compressed or not."""
    raw = body.read() if hasattr(body, "read") else body
    raw = raw.encode() if isinstance(raw, str) else bytes(raw or b"")
    if raw.startswith(_ZSTANDARD):
        import zstandard

        raw = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True).read()
    return raw.decode("utf-8", "replace")


_ZSTANDARD = bytes.fromhex("28b52ffd")


SWITCHES: dict[str, Callable[[Sink, MakeClient], Client]] = {
    "plain": plain,
    "llmphases": llmphases,
    "openinference": openinference,
    "openllmetry": openllmetry,
    "otel-openai-v2": otel_openai_v2,
    "otel-genai-openai": otel_genai_openai,
    "openlit": openlit,
    "langfuse": langfuse,
    "logfire": logfire,
    "mlflow": mlflow,
    "opik": opik,
    "weave": weave,
    "langsmith": langsmith,
}
