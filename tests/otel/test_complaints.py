"""One line, and no secret in it."""

from __future__ import annotations

import logging

import pytest

from llmphases.otel.complaints import Complaints, Late, held_back, reason_in, watch_loggers


def test_what_exporters_log_while_exporting_is_held_back(caplog: pytest.LogCaptureFixture):
    loud = logging.getLogger("opentelemetry.exporter.some")
    watch_loggers()
    with held_back() as notes:
        loud.error("Failed to export %s batch", "spans")
        logging.getLogger("theirs").error("kept")
    loud.error("said outside")
    assert notes == ["Failed to export spans batch"]
    assert [record.getMessage() for record in caplog.records] == ["kept", "said outside"]


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        ("HTTPConnectionPool(host='h'): url: /?key=SECRET (... Connection refused)", "refused"),
        ("Failed to export spans batch code: 404, reason: Not Found", "HTTP 404"),
        ("Read timed out. (read timeout=10)", "no answer in time"),
        ("NameResolutionError: Failed to resolve 'SECRET'", "no such host"),
        ("error code: StatusCode.UNAUTHENTICATED, details: SECRET", "gRPC UNAUTHENTICATED"),
        ("something with SECRET", "no reason was given"),
    ],
)
def test_a_reason_is_in_words_of_ours(note: str, reason: str):
    """RC-059"""
    assert reason in reason_in([note])
    assert "SECRET" not in reason_in([note])


def test_each_kind_of_trouble_is_told_once(caplog: pytest.LogCaptureFixture):
    complaints = Complaints()
    complaints.undelivered("traces", "http://h/v1/traces", "connection refused")
    complaints.undelivered("metrics", "http://h/v1/metrics", "connection refused")
    for count in (3, 4):
        complaints.at_the_end(Late("traces", "http://h", "no answer in time"), count, 10)
    undelivered, dropped = [record.getMessage() for record in caplog.records]
    assert "traces could not be delivered to http://h/v1/traces" in undelivered
    assert "3 spans were dropped: more than 10 were waiting" in dropped


def test_what_was_dropped_is_told_with_what_came_too_late(caplog: pytest.LogCaptureFixture):
    Complaints().at_the_end(Late("traces", "http://h", "no answer in time"), 3, 10)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "before the program's end: no answer in time. 3 spans were dropped" in said


def test_an_end_without_any_loss_is_quiet(caplog: pytest.LogCaptureFixture):
    Complaints().at_the_end(None, 0, 10)
    assert caplog.records == []


def test_a_filter_of_the_program_that_raises_is_felt_by_nobody():
    def refuse(record: logging.LogRecord) -> bool:
        raise RuntimeError("no")

    logger = logging.getLogger("llmphases")
    logger.addFilter(refuse)
    try:
        Complaints().at_the_end(None, 3, 10)
    finally:
        logger.removeFilter(refuse)


def test_a_backend_without_metrics_is_told_how_to_be_spared_them(
    caplog: pytest.LogCaptureFixture,
):
    Complaints().undelivered("metrics", "http://h/v1/metrics", "the answer was HTTP 404")
    assert "metrics=False" in caplog.text
