"""`configure`: what it says, what it refuses, and that it happens once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from llmphases.errors import ConfigurationError
from llmphases.otel import setup
from llmphases.otel.setup import configure, flush, in_force


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGTERM)
    setup.reset()
    yield
    setup.reset()
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.fixture
def own() -> Iterator[TracerProvider]:
    """A provider to add to, so that the global one of the test process stays as it is."""
    provider = TracerProvider(shutdown_on_exit=False)
    yield provider
    provider.shutdown()


def _quiet(line: str) -> None:
    pass


def test_before_configure_nothing_is_in_force_and_there_is_nothing_to_flush():
    assert in_force() is None
    assert flush()


def test_it_tells_what_it_set_up(tmp_path: Path, own: TracerProvider):
    said: list[str] = []
    path = str(tmp_path / "t.jsonl")
    made = configure(file=path, tracer_provider=own, say=said.append)
    assert made.traces == (path,)
    assert made.metrics == ()
    assert made.keeps_tracer_provider
    assert made.handles_sigterm
    assert in_force() is made
    assert said == [
        f"llmphases: spans go to the tracer provider that the program has set, and to {path}"
    ]


def test_the_same_settings_again_change_nothing(tmp_path: Path, own: TracerProvider):
    """RC-088"""
    settings: dict[str, Any] = {"file": tmp_path / "t.jsonl", "tracer_provider": own}
    first = configure(**settings, say=_quiet)
    assert configure(**settings, say=_quiet) is first
    own.get_tracer("t").start_span("s").end()
    assert flush()
    assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 1


def test_other_settings_are_refused_with_what_is_in_force(tmp_path: Path, own: TracerProvider):
    path = str(tmp_path / "t.jsonl")
    configure(file=path, tracer_provider=own, say=_quiet)
    with pytest.raises(ConfigurationError) as caught:
        configure(endpoint="http://u:SECRET@h", say=_quiet)
    said = str(caught.value)
    assert "endpoint" in said
    assert path in said
    assert "SECRET" not in said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"endpoint": "nonsense"}, "endpoint='nonsense'"),
        ({"endpoint": "http://h", "headers": ["a"]}, "headers is a list"),
        ({"exit_deadline_s": -1}, "exit_deadline_s=-1"),
        ({"file": 5}, "file=5"),
        ({"protocol": "udp"}, "protocol='udp'"),
        ({"tracer_provider": object()}, "tracer_provider="),
        ({"meter_provider": object()}, "meter_provider="),
        ({"file": "/no/such/place/t.jsonl"}, "/no/such/place/t.jsonl"),
    ],
)
def test_impossible_settings_are_loud_and_leave_nothing_behind(settings: dict[str, Any], said: str):
    with pytest.raises(ConfigurationError) as caught:
        configure(**settings)
    assert said in str(caught.value)
    assert in_force() is None


def test_where_another_provider_is_in_force_no_thread_is_left_behind():
    program = """if True:
        import threading
        from opentelemetry import trace
        from llmphases import configure
        from llmphases.errors import ConfigurationError
        trace.set_tracer_provider(trace.NoOpTracerProvider())
        try:
            configure(endpoint="http://127.0.0.1:1")
        except ConfigurationError:
            for thread in threading.enumerate():  # told to end; on a busy machine it takes a while
                if thread is not threading.main_thread():
                    thread.join(30)
            print(threading.active_count())
    """
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["1"]


def test_a_disabled_sdk_sets_up_nothing(monkeypatch: pytest.MonkeyPatch):
    """RC-085"""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert configure(endpoint="http://h").is_disabled
    assert flush()


def test_after_a_reset_it_may_be_called_anew(tmp_path: Path, own: TracerProvider):
    configure(file=tmp_path / "one", tracer_provider=own, say=_quiet)
    setup.reset()
    assert configure(file=tmp_path / "two", tracer_provider=own, say=_quiet).traces == (
        str(tmp_path / "two"),
    )
