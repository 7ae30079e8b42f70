"""The whole scale path, running: from the gateway to Jaeger's API."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from backends.scale.roles import Collector, Gateway, Ingester, Kafka, OpenSearch, Query
from backends.servers import Ports, Prometheus, Server

_PATIENCE_S = 120.0


class Pipeline:
    """Two of Jaeger's collectors, one of all else. A stack to `backends.workload.send`."""

    def __init__(self, folder: Path) -> None:
        ports = Ports()
        self.folder = folder
        self.ports = ports
        self.kafka = Kafka(folder / "kafka", ports)
        self.opensearch = OpenSearch(folder / "opensearch", ports)
        self.prometheus = Prometheus(folder / "prometheus", ports)
        where = {"KAFKA_BROKER": self.kafka.broker}
        self.collectors = [Collector(folder / f"collector-{n}", ports, **where) for n in (1, 2)]
        where["OPENSEARCH_URL"] = self.opensearch.url
        self.ingester = Ingester(folder / "ingester", ports, **where)
        self.query = Query(
            folder / "query",
            ports,
            OPENSEARCH_URL=self.opensearch.url,
            PROMETHEUS_URL=self.prometheus.url,
        )
        self.gateway = Gateway(
            folder / "gateway",
            ports,
            f"yaml:{several_backends([each.grpc for each in self.collectors])}",
            PROMETHEUS_URL=self.prometheus.url,
            GATEWAY_QUEUE=str(folder / "queue"),
        )
        self.otlp_endpoint = self.gateway.otlp_endpoint
        self.otlp_grpc_endpoint = self.gateway.otlp_grpc_endpoint

    @property
    def parts(self) -> dict[str, Server]:
        """All processes, in the order in which they start."""
        return {
            "kafka": self.kafka,
            "opensearch": self.opensearch,
            "prometheus": self.prometheus,
            "jaeger-collector": self.collectors[0],
            "jaeger-collector, the second": self.collectors[1],
            "jaeger-ingester": self.ingester,
            "jaeger-query": self.query,
            "gateway": self.gateway,
        }

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            undo.callback(self._stop)
            first = [self.kafka, self.opensearch, self.prometheus]
            with ThreadPoolExecutor(len(first)) as pool:
                list(pool.map(Server.start, first))
            for part in list(self.parts.values())[len(first) :]:
                part.start()
            undo.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop()

    def _stop(self) -> None:
        for part in reversed(self.parts.values()):
            part.stop(signal.SIGKILL)

    def wait_for(self, sent: Mapping[str, frozenset[str]]) -> None:
        """Return when all of these spans, by trace, can be read, and each of them once.

        Raises `AssertionError`, with what is missing, if that does not come to be.
        """
        left = list(sent)
        end = time.monotonic() + _PATIENCE_S
        while True:
            unlike = {each: ids for each in left if (ids := self._unlike(each, sent[each]))}
            if not unlike:
                return
            if time.monotonic() > end:
                raise AssertionError(
                    f"{sum(unlike.values())} spans in {len(unlike)} of {len(sent)} traces are "
                    f"missing, or too many"
                )
            left = list(unlike)
            time.sleep(0.5)

    def _unlike(self, trace_id: str, sent: frozenset[str]) -> int:
        """How many spans of a trace are missing, or there more often than they were sent."""
        try:
            found = Counter(self.query.span_ids(trace_id))
        except LookupError:
            return len(sent)
        expected = Counter(sent)
        return (expected - found).total() + (found - expected).total()

    def memory(self) -> dict[str, float]:
        """The most memory that each process has had since its last start, in MiB."""
        return {
            name: peak_mib(part.process.pid) for name, part in self.parts.items() if part.process
        }


def several_backends(addresses: list[str]) -> str:
    """For a gateway's `--config=yaml:`: addresses, where containers ask for all of one name."""
    resolver = {"dns": None, "static": {"hostnames": addresses}}
    return json.dumps({"exporters": {"load_balancing": {"resolver": resolver}}})


def peak_mib(pid: int) -> float:
    """The most memory that a process has had, in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"no VmHWM of {pid}")
