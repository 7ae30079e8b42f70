"""Zero code: what `opentelemetry-instrument` does with us, and the same by hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from llmphases import conventions as names
from llmphases import instrumentor, llm_call
from llmphases.adapters.registry import Instrumented
from llmphases.instrumentor import LlmphasesInstrumentor

STREAMED = {"gen_ai.operation.name": "chat", "gen_ai.response.time_to_first_chunk": 1.5}
SECOND = 1_000_000_000


class Lab:
    def __init__(self):
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))

    def ask(self):
        """Another's span of a request; the names of all spans since."""
        before = len(self._kept.get_finished_spans())
        tracer = self.provider.get_tracer("another's")
        tracer.start_span("chat m", attributes=STREAMED, start_time=SECOND).end(5 * SECOND)
        return {span.name for span in self._kept.get_finished_spans()[before:]}


@pytest.fixture
def ours():
    one = LlmphasesInstrumentor()
    yield one
    one.uninstrument()


def test_it_is_found_by_its_entry_point():
    (found,) = entry_points(group="opentelemetry_instrumentor", name="llmphases")
    assert found.load() is LlmphasesInstrumentor


def test_spans_of_calls_and_of_others_go_to_the_given_provider(ours):
    lab = Lab()
    ours.instrument(tracer_provider=lab.provider, skip_dep_check=True)
    assert ours.is_instrumented_by_opentelemetry
    with llm_call("mine"):
        pass
    assert "mine" in {span.name for span in lab._kept.get_finished_spans()}
    assert lab.ask() == {"chat m", "time_to_first_token", "generation"}


def test_twice_is_once(ours):
    lab = Lab()
    ours.instrument(tracer_provider=lab.provider)
    LlmphasesInstrumentor().instrument(tracer_provider=lab.provider)
    lab.ask()
    drawn = [span.name for span in lab._kept.get_finished_spans()]
    assert sorted(drawn) == ["chat m", "generation", "time_to_first_token"]


def test_uninstrumented_it_splits_nothing(ours):
    lab = Lab()
    ours.instrument(tracer_provider=lab.provider)
    ours.uninstrument()
    assert not ours.is_instrumented_by_opentelemetry
    assert lab.ask() == {"chat m"}


def test_switched_off_it_does_nothing(ours, monkeypatch):
    monkeypatch.setenv(names.ENV_DISABLED, "1")
    lab = Lab()
    ours.instrument(tracer_provider=lab.provider)
    assert not ours.is_instrumented_by_opentelemetry
    assert lab.ask() == {"chat m"}


def test_it_says_what_it_hooked_into_and_why_not(ours, caplog, monkeypatch):
    caplog.set_level("INFO", "llmphases")
    done = Instrumented(hooked=("subprocess", "openai"), skipped={"groq": "not installed"})
    monkeypatch.setattr(instrumentor, "instrument", lambda: done)
    ours.instrument()
    assert caplog.messages == ["hooked into subprocess, openai; not into groq (not installed)"]


def test_it_asks_for_no_package():
    assert LlmphasesInstrumentor().instrumentation_dependencies() == ()


def test_a_fault_of_ours_does_not_reach_the_program(ours, monkeypatch, caplog):
    monkeypatch.setattr(instrumentor, "instrument", None)
    ours.instrument()
    assert "a fault in LlmphasesInstrumentor.instrument" in caplog.text


# --- by the command ---------------------------------------------------------------------------

COMMAND = shutil.which("opentelemetry-instrument", path=str(Path(sys.executable).parent))
by_command = pytest.mark.skipif(COMMAND is None, reason="opentelemetry-instrument is not installed")

ASKING = """
    import sys
    sys.path.insert(0, TESTS)
    from lab.sse_server import Script, SseServer
    import openai
    with SseServer() as server, openai.OpenAI(
        base_url=server.base_url, api_key="none", max_retries=0
    ) as client:
        messages = [{"role": "user", "content": "hi"}]
        extra = Script(usage=True, first_token_s=0.02, gap_s=0.01).extra_body()
        list(client.chat.completions.create(
            model="small", messages=messages, stream=True, extra_body=extra
        ))
"""
LEAVING = """
    from llmphases import traced_llm_call
    @traced_llm_call
    def words():
        yield "a"
        yield "b"
    stream = words()
    next(stream)
"""


def run(tmp_path, body, *, disabled):
    """The spans that a program without a line about tracing has written, and its stderr."""
    assert COMMAND is not None
    program = tmp_path / "app.py"
    program.write_text(textwrap.dedent(body).replace("TESTS", repr(str(Path(__file__).parent))))
    done = subprocess.run(
        [COMMAND, sys.executable, str(program)],
        env={
            **os.environ,
            "OTEL_TRACES_EXPORTER": "console",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": disabled,
            "LLMPHASES_LOG": "1",
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return _spans(done.stdout), done.stderr


def _spans(printed):
    """What the console exporter has printed: one JSON value after another."""
    decoder, spans = json.JSONDecoder(), []
    while printed := printed.lstrip():
        span, end = decoder.raw_decode(printed)
        spans.append(span)
        printed = printed[end:]
    return spans


OTHERS = "openai,anthropic,google-genai"


@pytest.mark.slow
@pytest.mark.real
@by_command
def test_a_program_gets_its_phases_without_a_line_of_code(tmp_path):
    pytest.importorskip("openai")
    spans, said = run(tmp_path, ASKING, disabled=OTHERS)
    assert {"chat small", "time_to_first_token", "generation"} <= {span["name"] for span in spans}
    (call,) = [span for span in spans if span["name"] == "chat small"]
    assert call["attributes"]["gen_ai.usage.output_tokens"] == 3
    assert "hooked into " in said


@pytest.mark.slow
@pytest.mark.real
@by_command
def test_it_is_turned_off_as_all_others_are(tmp_path):
    pytest.importorskip("openai")
    spans, said = run(tmp_path, ASKING, disabled=f"llmphases,{OTHERS}")
    assert spans == []
    assert "hooked into " not in said


@pytest.mark.slow
@by_command
def test_what_is_open_when_the_program_ends_is_exported(tmp_path):
    spans, _ = run(tmp_path, LEAVING, disabled=OTHERS)
    (call,) = [span for span in spans if span["name"] == "words"]
    assert call["attributes"]["llmphases.stream.ended"] == "exit"
