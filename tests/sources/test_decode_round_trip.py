"""Any call, drawn by the real observer and SDK, encoded into a file and read back, is the same."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from any_calls import calls
from llmphases.calls import Call, Stretch
from llmphases.observers import OpenCall, OpenPhase
from llmphases.phases import Phase
from llmphases.sources.otlp_file import OtlpFiles

trace_sdk = pytest.importorskip("opentelemetry.sdk.trace")
from opentelemetry import trace  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # noqa: E402
    InMemorySpanExporter,
)

from llmphases.otel.file_exporter import encode_line  # noqa: E402
from llmphases.otel.spans import SpanObserver  # noqa: E402


class Drawing:
    """Draws finished calls as the recorder has them drawn, one inside the other or apart."""

    def __init__(self):
        self.exporter = InMemorySpanExporter()
        provider = trace_sdk.TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.observer = SpanObserver(provider)
        self.foreign = provider.get_tracer("someone.else")

    def draw(self, call, parent=None):
        """The call's spans; gives those that another call may be a child of."""
        start_us = call.start_unix_ns // 1000
        opened = OpenCall(call.name, 0, call.start_unix_ns, start_us)
        opened.base = trace.set_span_in_context(parent) if parent else None
        self.observer.call_started(opened)
        spans = [opened.state]
        spans += [self._piece(opened, s.phase, s) for s in call.stretches if s.drawn]
        spans += [self._piece(opened, s.phase, s, is_stall=True) for s in call.stalls if s.drawn]
        for detail in call.details:
            if detail.drawn:
                phase = next(p for p in Phase if p.cost is detail.cost)
                spans.append(self._piece(opened, phase, detail, is_detail=True))
        opened.drawn_end_us = start_us + 1
        self.observer.call_ended(opened, call)
        return spans

    def _piece(self, opened, phase, piece, *, is_stall=False, is_detail=False):
        drawn = OpenPhase(phase, 0, opened, offset_ns=0, drawn_start_us=piece.drawn[0])
        drawn.call, drawn.drawn_end_us = opened, piece.drawn[1]
        drawn.is_stall, drawn.is_detail = is_stall, is_detail
        if is_detail:
            drawn.name = piece.name
        else:
            drawn.request, drawn.origin = piece.request, piece.origin
        self.observer.phase_written(drawn)
        return drawn.state

    def inside(self, parent):
        """A span of another library in between."""
        span = self.foreign.start_span("GET", context=trace.set_span_in_context(parent))
        span.end()
        return span


@settings(max_examples=60)
@given(st.data())
def test_any_calls_are_read_back_as_they_were_exported(tmp_path_factory, data):
    """Nested in each other or not, spans in any order, spread over lines and two files."""
    drawing, written, spans = Drawing(), [], []
    for number in range(data.draw(st.integers(1, 3), "how many calls")):
        call = data.draw(calls(f"call {number}"))
        parent = data.draw(st.sampled_from([None, *spans])) if spans else None
        if parent is not None and data.draw(st.booleans(), "a foreign span between"):
            parent = drawing.inside(parent)
        spans += drawing.draw(call, parent)
        written.append(call)
    finished = data.draw(st.permutations(drawing.exporter.get_finished_spans()))
    cut = data.draw(st.integers(1, len(finished)))
    folder = tmp_path_factory.mktemp("trace")
    files = [folder / "a.jsonl", folder / "b.jsonl"]
    files[0].write_bytes(encode_line(finished[:cut]))
    files[1].write_bytes(encode_line(finished[cut:]) if finished[cut:] else b"")

    reading = OtlpFiles(files).read()

    by_name = {call.name: call for call in reading.calls}
    assert by_name == {call.name: call.as_exported() for call in written}


def test_a_call_read_back_can_be_exported_again_and_is_still_the_same(tmp_path):
    """Its pieces know where they were drawn."""
    drawing = Drawing()
    steps = count(0, 1000)
    pieces = tuple(
        Stretch(phase=phase, start_ns=s * 1000, end_ns=(s + 900) * 1000,
                drawn=(10**12 + s, 10**12 + s + 899))
        for phase, s in zip([Phase.TIME_TO_FIRST_TOKEN, Phase.GENERATION], steps, strict=False)
    )  # fmt: skip
    sums = {Phase.TIME_TO_FIRST_TOKEN: 900_000, Phase.GENERATION: 900_000}
    drawing.draw(
        Call(name="twice", start_unix_ns=10**15, duration_ns=1_800_000, exclusive_ns=sums,
             stretches=pieces)
    )  # fmt: skip
    file = tmp_path / "a.jsonl"
    file.write_bytes(encode_line(drawing.exporter.get_finished_spans()))
    (call,) = OtlpFiles([file]).read().calls
    assert len(call.stretches) == 2
    assert call.as_exported() == call
    assert Call.from_json(call.to_json()) == call
