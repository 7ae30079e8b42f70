"""Any call, drawn by the real observer and SDK, encoded into a file and read back, is the same."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmphases.calls import Call, Detail, Ended, Stretch, Usage
from llmphases.conventions import NOT_OURS
from llmphases.observers import OpenCall, OpenPhase
from llmphases.phases import Cost, Origin, Phase
from llmphases.sources.otlp_file import OtlpFiles

trace_sdk = pytest.importorskip("opentelemetry.sdk.trace")
from opentelemetry import trace  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # noqa: E402
    InMemorySpanExporter,
)

from llmphases.otel.file_exporter import encode_line  # noqa: E402
from llmphases.otel.spans import SpanObserver  # noqa: E402

# Seconds as doubles hold whole nanoseconds up to weeks.
times = st.integers(0, 10**15)
counts = st.integers(0, 10**9)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
integers = st.integers(-(2**63) + 1, 2**63 - 1)
floats = st.floats(allow_nan=False)
scalars = st.one_of(texts, st.booleans(), integers, floats)
values = st.one_of(
    scalars,
    *(st.lists(kind, max_size=3).map(tuple) for kind in (texts, st.booleans(), integers, floats)),
)
own_keys = texts.filter(lambda key: key and not key.startswith(NOT_OURS))
reported_keys = texts.filter(lambda key: key and key != "trusted")


def perhaps(strategy):
    return st.none() | strategy


@st.composite
def extents(draw, start_us):
    """True start and end, and what of it is drawn; no two pieces at the very same place."""
    spans = draw(
        st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**6)), max_size=5, unique=True)
    )
    return [
        (
            begin * 1000 + draw(st.integers(0, 999)),
            (begin + length) * 1000 + draw(st.integers(0, 999)),
            (start_us + begin, start_us + begin + length) if draw(st.booleans()) else None,
        )
        for begin, length in spans
    ]


@st.composite
def stretches(draw, start_us, phases):
    found = [
        Stretch(
            phase=draw(phases),
            start_ns=start,
            end_ns=end,
            request=draw(perhaps(st.integers(0, 5))),
            origin=draw(st.sampled_from(Origin)),
            drawn=drawn,
        )
        for start, end, drawn in draw(extents(start_us))
    ]
    return tuple(sorted(found, key=lambda s: s.start_ns))


@st.composite
def calls(draw, name):
    start_us = draw(st.integers(1, 2**60 // 1000))
    exclusive = draw(st.dictionaries(st.sampled_from(Phase), times, max_size=6))
    unattributed = draw(times)
    either = st.sampled_from([Cost.FIXED, Cost.UNSPLIT])
    stream = draw(st.booleans())
    requests = draw(counts)
    details = tuple(
        Detail(name=draw(texts), cost=draw(st.sampled_from(Phase)).cost,
               start_ns=start, end_ns=end, drawn=drawn)
        for start, end, drawn in draw(extents(start_us))
    )  # fmt: skip
    return Call(
        name=name,
        start_unix_ns=start_us * 1000 + draw(st.integers(0, 999)),
        duration_ns=sum(exclusive.values()) + unattributed,
        exclusive_ns=exclusive,
        unattributed_ns=unattributed,
        unattributed_cost=draw(either) if unattributed else Cost.UNSPLIT,
        stretches=draw(stretches(start_us, st.sampled_from(Phase))),
        stalls=draw(stretches(start_us, st.just(Phase.TRANSMISSION))),
        details=details,
        operation=draw(texts),
        provider=draw(perhaps(texts)),
        request_model=draw(perhaps(texts)),
        response_model=draw(perhaps(texts)),
        stream=stream,
        usage=draw(perhaps(st.builds(Usage, input_tokens=counts, output_tokens=perhaps(counts)))),
        requests=requests,
        retries=draw(counts) if requests else 0,
        chunks=draw(perhaps(counts)),
        first_chunk_ns=draw(perhaps(times)) if stream else None,
        first_token_ns=draw(perhaps(times)),
        first_reasoning_ns=draw(perhaps(times)),
        first_answer_ns=draw(perhaps(times)),
        first_token_rule=draw(perhaps(texts)),
        units=draw(perhaps(counts)),
        batch_size=draw(perhaps(counts)),
        cache_result=draw(perhaps(st.sampled_from(["hit", "miss"]))),
        queued_ns=draw(perhaps(times)),
        nested=draw(st.booleans()),
        job=draw(perhaps(texts)),
        ended=draw(perhaps(st.sampled_from(Ended))),
        error_type=draw(perhaps(texts)),
        reported=draw(st.dictionaries(reported_keys, scalars, max_size=3)),
        reported_trusted=draw(perhaps(st.booleans())),
        attributes=draw(st.dictionaries(own_keys, values, max_size=3)),
    )


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
