"""Real instrumentations of others beside ours, each in a process of its own: they patch it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]

PRELUDE = """
import json, os, sys, time
sys.path.insert(0, TESTS)
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

kept, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))

from llmphases.otel.foreign_spans import PhaseSplitter
from lab.sse_server import Script, SseServer

MESSAGES = [{"role": "user", "content": "hi"}]
said = {}

def split():
    provider.add_span_processor(PhaseSplitter(provider))

def openai_client(server):
    import openai
    return openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)

def script(**delays):
    return Script(usage=True, **delays)

def stream(client, label="", **delays):
    body = script(label=label, **delays).extra_body()
    return client.chat.completions.create(
        model="small", messages=MESSAGES, stream=True, stream_options={"include_usage": True},
        extra_body=body,
    )

def whole(client, **delays):
    body = script(**delays).extra_body()
    return client.chat.completions.create(model="small", messages=MESSAGES, extra_body=body)

def wire_server():
    from lab.wire_server import WireServer
    return WireServer()

def model(server):
    from lab.wire_server import Timing
    return server.asks(Timing(first_token_s=0.06, gap_s=0.03))

def use(peer):
    if peer == "opentelemetry":
        from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
        OpenAIInstrumentor().instrument()
    elif peer == "openllmetry":
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor
        OpenAIInstrumentor().instrument()
    elif peer == "openinference":
        from openinference.instrumentation.openai import OpenAIInstrumentor
        OpenAIInstrumentor().instrument()
    elif peer == "langfuse":
        nowhere = "http://127.0.0.1:9"
        os.environ.update(
            LANGFUSE_PUBLIC_KEY="pk", LANGFUSE_SECRET_KEY="sk", LANGFUSE_HOST=nowhere,
            LANGFUSE_BASE_URL=nowhere,
        )
        import langfuse
        langfuse.Langfuse(tracer_provider=provider)
        import langfuse.openai
    elif peer == "openai_v2":
        from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
        OpenAIInstrumentor().instrument()
    elif peer == "openlit":
        import tempfile
        with tempfile.NamedTemporaryFile("w", suffix=".json") as prices:  # else it fetches them
            prices.write("{}")
            prices.flush()
            import openlit
            openlit.init(pricing_json=prices.name)
    else:
        raise ValueError(peer)

def names_of_phases():
    return {one.name for one in kept.get_finished_spans()}

def last_split():
    # Where generation was drawn in their last span, and how long; nowhere, where all came at once.
    spans = kept.get_finished_spans()
    theirs = [one for one in spans if one.instrumentation_scope.name != "llmphases"]
    for one in spans:
        if one.name == "generation" and one.parent.span_id == theirs[-1].get_span_context().span_id:
            return one.start_time, one.end_time - one.start_time
    return 0, 0

def told(span):
    context, parent = span.get_span_context(), span.parent
    return {
        "name": span.name, "scope": span.instrumentation_scope.name,
        "id": context.span_id, "parent": parent.span_id if parent else None,
        "start_ns": span.start_time, "end_ns": span.end_time,
        "attributes": dict(span.attributes or {}), "status": span.status.status_code.name,
    }

def points(metric):
    return metric.data.data_points

def recorded():
    data = reader.get_metrics_data()
    return {
        f"{of.scope.name}/{metric.name}": sum(getattr(p, "count", 1) for p in points(metric))
        for resource in (data.resource_metrics if data else ())
        for of in resource.scope_metrics for metric in of.metrics
    }

def end():
    spans = [told(span) for span in kept.get_finished_spans()]
    print("TOLD", json.dumps({"spans": spans, "metrics": recorded(), "said": said}, default=list))
    sys.stdout.flush()
    os._exit(0)  # their exporters have nowhere to go
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What a program left."""

    spans: list[dict[str, Any]]
    metrics: dict[str, int]
    """Points (or samples) by scope and name."""
    said: dict[str, Any]

    @property
    def theirs(self) -> list[dict[str, Any]]:
        """The spans of the instrumentation beside ours."""
        return [span for span in self.spans if span["scope"] != "llmphases"]

    @property
    def ours(self) -> list[dict[str, Any]]:
        """The spans of ours, calls and phases."""
        return [span for span in self.spans if span["scope"] == "llmphases"]

    def under(self, span: dict[str, Any]) -> list[dict[str, Any]]:
        """The phases that hang under a span, in order."""
        found = [one for one in self.ours if one["parent"] == span["id"]]
        return sorted(found, key=lambda one: one["start_ns"])

    def of_metrics(self, scope: str) -> set[str]:
        """The `gen_ai.*` metrics under a scope whose name holds that."""
        pairs = (key.split("/", 1) for key in self.metrics)
        return {name for of, name in pairs if scope in of and name.startswith("gen_ai.")}


def run(body: str, **environment: str) -> Told:
    """Run a program after the prelude; it calls `end()`."""
    program = PRELUDE.replace("TESTS", repr(str(TESTS)), 1) + textwrap.dedent(body) + "\nend()\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    assert lines, done.stdout + done.stderr
    return Told(**json.loads(lines[-1].removeprefix("TOLD ")))
