"""When a provider is watched, by whichever way it came."""

from __future__ import annotations

import subprocess
import sys

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NoOpTracerProvider

from llmphases.otel.foreign_watcher import ForeignWatcher, watch
from llmphases.otel.spans import SpanObserver

LATE = """
from llmphases import llm_call
with llm_call("before there is a provider"):
    pass
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
provider = TracerProvider(shutdown_on_exit=False)
trace.set_tracer_provider(provider)
with llm_call("with it"):
    pass
print(*(type(one).__name__ for one in provider._active_span_processor._span_processors))
"""


def watchers(provider):
    processors = provider._active_span_processor._span_processors
    return [one for one in processors if isinstance(one, ForeignWatcher)]


def test_a_provider_is_watched_once():
    provider = TracerProvider(shutdown_on_exit=False)
    SpanObserver(provider)
    SpanObserver(provider)
    watch(provider)
    assert len(watchers(provider)) == 1


def test_what_is_no_provider_of_the_sdk_is_left_alone():
    assert not SpanObserver(NoOpTracerProvider())._watches


def test_a_provider_that_refuses_does_not_reach_the_program(caplog):
    class Refusing:
        def add_span_processor(self, processor):
            raise RuntimeError("no more")

    watch(Refusing())
    assert "a fault in watch" in caplog.text


def test_a_provider_that_is_set_later_is_watched_from_the_next_call_on():
    done = subprocess.run(
        [sys.executable, "-c", LATE], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["ForeignWatcher"]
