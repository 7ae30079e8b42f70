"""One exporter, watched."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SpanExportResult

from llmphases.otel.complaints import Complaints
from llmphases.otel.delivery import Delivery

_LOUD = logging.getLogger("opentelemetry.exporter.loud")


class _Exporter:
    def __init__(self, result: SpanExportResult | None) -> None:
        self.result = result
        self.batches: list[Any] = []
        self.is_shut = False

    def export(self, batch: Any, /, **options: Any) -> SpanExportResult:
        self.batches.append(batch)
        if self.result is None:
            raise ValueError("a fault of the exporter")
        if self.result is SpanExportResult.FAILURE:
            _LOUD.error("Failed to export spans batch code: 503, reason: SECRET")
        return self.result

    def shutdown(self, **options: Any) -> None:
        self.is_shut = True
        _LOUD.warning("shutting down")


def _delivery(result: SpanExportResult | None) -> tuple[Delivery, list[_Exporter]]:
    made: list[_Exporter] = []

    def make() -> _Exporter:
        made.append(_Exporter(result))
        return made[-1]

    return Delivery(make, what="traces", where="http://h", complaints=Complaints()), made


def test_a_delivered_batch_makes_no_noise(caplog: pytest.LogCaptureFixture):
    delivery, made = _delivery(SpanExportResult.SUCCESS)
    assert delivery.export(["span"]) is SpanExportResult.SUCCESS
    delivery.shutdown()
    assert (made[0].batches, made[0].is_shut) == ([["span"]], True)
    assert caplog.records == []


def test_failures_are_counted_and_told_once(caplog: pytest.LogCaptureFixture):
    delivery, _ = _delivery(SpanExportResult.FAILURE)
    for _ in range(3):
        delivery.export(["span"])
    assert delivery.failures == 3
    (record,) = caplog.records
    assert record.getMessage() == (
        "llmphases: traces could not be delivered to http://h: the answer was HTTP 503. The "
        "program goes on; this is said once."
    )


def test_an_exporter_that_raises_is_a_failure_and_one_line(caplog: pytest.LogCaptureFixture):
    delivery, _ = _delivery(None)
    delivery.export(["span"])
    assert delivery.failures == 1
    (record,) = caplog.records
    assert record.exc_info is None


def test_an_exporter_that_is_busy_is_not_waited_for():
    """RC-080: some wait half a minute for what they are doing."""
    delivery, made = _delivery(SpanExportResult.SUCCESS)
    delivery.is_busy = True
    delivery.shutdown()
    assert not made[0].is_shut


def test_a_forked_child_has_a_connection_of_its_own():
    delivery, made = _delivery(SpanExportResult.SUCCESS)
    delivery.renew()
    delivery.export(["span"])
    assert [one.batches for one in made] == [[], [["span"]]]
    assert not made[0].is_shut, "the parent's connection was closed"
