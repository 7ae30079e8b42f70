"""The wiring: global providers unless others are given, a line per call on request."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from llmphases import configure, llm_call, traced_llm_call
from llmphases.capture import current
from llmphases.errors import ConfigurationError
from llmphases.otel import setup
from llmphases.sources.otlp_file import OtlpFiles
from llmphases.wiring import default_wiring

PROGRAM = """
import sys
import llmphases

llmphases.configure({options})

@llmphases.traced_llm_call
def answer(words):
    with llmphases.prompt_build():
        pass
    yield from words

list(answer(["a", "b"]))
"""


def run(options: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(options=f"exit_deadline_s=30, {options}")],
        cwd=folder, env={**environment, "PATH": ""}, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


def test_without_settings_a_file_is_written_and_named_on_stderr(tmp_path: Path) -> None:
    done = run("", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "llmphases: traces go to llmphases-traces.jsonl\n"
    (call,) = OtlpFiles([tmp_path / "llmphases-traces.jsonl"]).read().calls
    assert call.name == "answer"
    assert call.chunks == 2


def test_a_file_with_earlier_traces_in_it_is_added_to_and_says_so(tmp_path: Path) -> None:
    run("", tmp_path)
    done = run("", tmp_path)
    said = "llmphases: traces go to llmphases-traces.jsonl (added to what is there)\n"
    assert done.stderr == said
    assert len(OtlpFiles([tmp_path / "llmphases-traces.jsonl"]).read().calls) == 2


def test_a_second_run_appends(tmp_path: Path) -> None:
    for _ in range(2):
        run("file='kept.jsonl'", tmp_path)
    assert len(OtlpFiles([tmp_path / "kept.jsonl"]).read().calls) == 2


def test_one_line_per_call_on_request(tmp_path: Path) -> None:
    done = run("file='kept.jsonl'", tmp_path, LLMPHASES_LOG="1")
    (line,) = done.stderr.splitlines()
    assert line.startswith("answer: 0.")
    assert "fixed" in line


def test_what_is_switched_off_writes_nothing(tmp_path: Path) -> None:
    done = run("", tmp_path, LLMPHASES_DISABLED="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_setting_is_named(tmp_path: Path) -> None:
    done = run("endpiont='http://localhost:4318'", tmp_path)
    assert done.returncode == 1
    assert "endpiont" in done.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_PROPAGATORS", "nope"),
        ("OTEL_PYTHON_TRACER_PROVIDER", "nope"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "many"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
    ],
)
def test_a_variable_that_cannot_be_read_is_told_by_configure_and_ends_no_other_program(
    tmp_path: Path, variable: str, value: str
) -> None:
    done = run("endpoint='http://127.0.0.1:9'", tmp_path, **{variable: value})
    assert done.returncode == 1
    (said,) = [line for line in done.stderr.splitlines() if "ConfigurationError: " in line]
    assert variable in said
    lines = [line for line in PROGRAM.splitlines() if "configure" not in line]
    program = "\n".join([*lines, "print('went on')"])
    done = subprocess.run(
        [sys.executable, "-c", program], env={variable: value, "PATH": ""}, cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "went on\n")


def test_given_providers_are_used_instead_of_the_global_ones() -> None:
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider([reader])
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    before = current.wire(None)
    try:
        configure(tracer_provider=tracers, meter_provider=meters, say=lambda _: None)
        with llm_call("asked"):
            pass
    finally:
        setup.reset()
        current.set_settings(None)
        current.wire(before)
    assert [span.name for span in spans.get_finished_spans()] == ["asked"]


def test_other_settings_the_second_time_are_refused(tmp_path: Path) -> None:
    try:
        configure(file=tmp_path / "one.jsonl")
        configure(file=tmp_path / "one.jsonl")
        with pytest.raises(ConfigurationError, match="file would change"):
            configure(file=tmp_path / "two.jsonl")
    finally:
        setup.reset()
        current.set_settings(None)


def test_global_providers_that_come_late_are_used() -> None:
    """A library may decorate long before the program sets its providers."""
    code = """
import llmphases
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

@llmphases.traced_llm_call
def early():
    return 1

kept = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
early()
print([span.name for span in kept.get_finished_spans()])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "['early']"


def test_the_log_has_one_logger_and_respects_its_level(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLMPHASES_LOG", "1")
        before = current.wire(default_wiring())
    try:
        with caplog.at_level(logging.INFO, "llmphases.calls"):
            traced_llm_call(name="said")(lambda: 1)()
    finally:
        current.wire(before)
    assert [record.message.split(":")[0] for record in caplog.records] == ["said"]


def test_flush_without_configure_asks_the_programs_own_providers() -> None:
    code = """
import llmphases
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

kept = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(kept))
trace.set_tracer_provider(provider)
with llmphases.llm_call("asked"):
    pass
print(llmphases.flush(), [span.name for span in kept.get_finished_spans()])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "True ['asked']"


def test_a_provider_that_takes_no_exporter_is_no_silent_loss() -> None:
    code = """
import llmphases
from opentelemetry import trace

class Own(trace.TracerProvider):
    def get_tracer(self, *about, **more):
        return trace.NoOpTracer()

trace.set_tracer_provider(Own())
llmphases.configure(file="kept.jsonl")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "ConfigurationError" in done.stderr
    assert "tracer_provider=" in done.stderr


SWITCHED_OFF = """
import llmphases
from llmphases.capture import current
from llmphases.testing import CollectingObserver
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry import trace

trace.set_tracer_provider(TracerProvider())

@llmphases.traced_llm_call
def answer():
    with llmphases.prompt_build():
        return llmphases.current_call()

@llmphases.traced_llm_call
def stream():
    yield from "ab"

def all_ways():
    with llmphases.llm_job("job", workers=1) as job, llmphases.llm_call("block") as block:
        handles = [answer(), *job.map(lambda _: answer(), [1]), block]
    assert list(stream()) == ["a", "b"]
    return [handle.record is not None for handle in handles]

print(*all_ways())
heard = CollectingObserver()
current.wired().observers.add(heard)
print(*all_ways())
print(*sorted(call.name for call in heard.calls))
current.wired().observers.remove(heard)
print(*all_ways())
"""


def test_with_the_sdk_disabled_only_a_listener_of_the_program_makes_calls_recorded() -> None:
    """RC-085"""
    done = subprocess.run(
        [sys.executable, "-c", SWITCHED_OFF], env={"OTEL_SDK_DISABLED": "true", "PATH": ""},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "False False False", "True True True", "answer answer block stream", "False False False",
    ]  # fmt: skip
