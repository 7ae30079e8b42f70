"""From the provider into the outbox, as the `OTEL_BSP_*` variables want it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from llmphases.otel.span_queue import OutboxProcessor, make_outbox

_SOON = 60.0
_NEVER = 3600.0


@pytest.mark.parametrize("text", ["many", "0", "-1", "1.5", "\u00b2", "\u0663"])
@pytest.mark.parametrize(
    "variable",
    ["OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY"],
)
def test_a_nonsense_variable_is_told_and_has_no_effect(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str, text: str
):
    usual = make_outbox(lambda batch: None)
    monkeypatch.setenv(variable, text)
    made = make_outbox(lambda batch: None)
    assert (made.capacity, made._batch_size, made._delay_s) == (
        usual.capacity, usual._batch_size, usual._delay_s,
    )  # fmt: skip
    (said,) = caplog.records
    assert f"{variable}={text!r} is no whole number above 0" in said.getMessage()


def test_a_file_is_written_soon_for_a_killed_process_loses_what_waits():
    assert make_outbox(lambda batch: None, is_local=True)._delay_s == 0.5
    assert make_outbox(lambda batch: None)._delay_s == 5.0


@pytest.mark.parametrize("is_local", [True, False])
def test_variables_count(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_local: bool
):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "7")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", " 100 ")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "250")
    made = make_outbox(lambda batch: None, is_local=is_local)
    assert (made.capacity, made._batch_size, made._delay_s) == (7, 7, 0.25)
    assert caplog.records == []


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_shutdown_does_not_wait_for_an_outbox_that_is_being_closed(go_on: threading.Event):
    """Whoever closes it has waited: an exit would take two deadlines."""
    hanging = threading.Event()

    def hang(batch: list[ReadableSpan]) -> None:
        hanging.set()
        go_on.wait()

    outbox = make_outbox(hang)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(OutboxProcessor(outbox, _NEVER))
    provider.get_tracer("t").start_span("s").end()
    outbox.close()
    assert hanging.wait(_SOON)
    shutting = threading.Thread(target=provider.shutdown, daemon=True)
    shutting.start()
    shutting.join(_SOON)
    assert not shutting.is_alive()


def test_a_shutdown_delivers_what_waits():
    got: list[ReadableSpan] = []
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(OutboxProcessor(make_outbox(got.extend), _SOON))
    provider.get_tracer("t").start_span("s").end()
    provider.shutdown()
    assert [span.name for span in got] == ["s"]
