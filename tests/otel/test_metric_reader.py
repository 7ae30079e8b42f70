"""The reader of metrics, and what a forked child makes of it."""

from __future__ import annotations

import threading
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, InMemoryMetricReader
from opentelemetry.sdk.resources import Resource

from llmphases.otel.complaints import Complaints
from llmphases.otel.delivery import Delivery
from llmphases.otel.metric_reader import begin_anew, make_provider, make_reader


def _sums(reader: InMemoryMetricReader) -> list[float]:
    data = reader.get_metrics_data()
    return [
        point.value
        for resource in (data.resource_metrics if data else ())
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    ]


def test_a_child_begins_to_count_at_zero_though_a_lock_was_held():
    reader = InMemoryMetricReader()
    provider = make_provider([reader], Resource({}))
    counter = provider.get_meter("t").create_counter("c")
    counter.add(5)
    lock: Any = provider._measurement_consumer._lock
    holder = threading.Thread(target=lock.acquire)
    holder.start()
    holder.join()
    begin_anew(provider, [reader])
    counter.add(1)
    assert _sums(reader) == [1]


def test_a_provider_unlike_the_sdks_is_left_alone():
    begin_anew(object(), [object()])


def test_an_exporter_that_is_a_reader_is_the_reader():
    reader = InMemoryMetricReader()
    delivery = Delivery(lambda: reader, what="metrics", where="x", complaints=Complaints())
    assert make_reader(delivery) is reader


def test_the_periodic_reader_exports_what_the_exporter_prefers():
    out: list[str] = []

    class Sink:
        def write(self, text: str) -> None:
            out.append(text)

        def flush(self) -> None:
            pass

    exporter = ConsoleMetricExporter(out=Sink())
    delivery = Delivery(lambda: exporter, what="metrics", where="x", complaints=Complaints())
    reader = make_reader(delivery)
    provider = MeterProvider([reader], shutdown_on_exit=False)
    provider.get_meter("t").create_counter("c").add(1)
    provider.shutdown()
    assert '"name": "c"' in "".join(out)
    assert delivery.failures == 0
