"""What people write beside other instrumentations."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider

from llmphases.instrumentor import LlmphasesInstrumentor
from llmphases.otel.foreign_spans import PhaseSplitter

provider = TracerProvider()
provider.add_span_processor(PhaseSplitter(provider))
provider.add_span_processor(PhaseSplitter())

ours = LlmphasesInstrumentor()
ours.instrument(tracer_provider=provider, skip_dep_check=True)
ours.uninstrument()
