"""Real Jaeger and Prometheus on free loopback ports, with the configuration that is shipped."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from backends.build import program

ROOT = Path(__file__).parents[2]
COMPOSE_FILE = ROOT / "docker-compose.jaeger.yml"
_READY_S = 60.0
_POLL_S = 0.05


def compose() -> dict[str, Any]:
    """The shipped compose file."""
    import yaml  # of the extra `dev`; this file is imported without it too

    return yaml.safe_load(COMPOSE_FILE.read_text("utf-8"))


def get(url: str, **parameters: str) -> Any:
    """The JSON at an address. Raises `LookupError` for what is no success, or no JSON."""
    if parameters:
        url = f"{url}?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            body = answer.read()
    except urllib.error.HTTPError as refused:
        raise LookupError(f"{url}: {refused.code} {refused.read()[:500]!r}") from refused
    except OSError as silent:
        raise LookupError(f"{url}: {silent}") from silent
    try:
        return json.loads(body)
    except ValueError as other:  # Jaeger answers what it does not know with its start page
        raise LookupError(f"{url}: {body[:100]!r}") from other


def until(found: Any, what: str, timeout_s: float = _READY_S) -> Any:
    """What a look finds, as soon as it is something; what a server has taken is not there at once.

    `LookupError` counts as nothing.
    """
    end = time.monotonic() + timeout_s
    reason = ""
    while time.monotonic() < end:
        try:
            if result := found():
                return result
        except LookupError as error:
            reason = f" ({error})"
        time.sleep(_POLL_S)
    raise AssertionError(f"{what}: nothing after {timeout_s:.0f} s{reason}")


class Ports:
    """Free ports of the loopback interface, each given away once."""

    def __init__(self) -> None:
        self._given: set[int] = set()

    def free(self) -> int:
        """A port that nobody listens on."""
        while True:
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                port: int = one.getsockname()[1]
            if port not in self._given:
                self._given.add(port)
                return port


class Server:
    """A program with a log, that is ready when an address answers."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.ports = ports
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """What the built program is called."""
        return type(self).__name__.lower()

    @property
    def log(self) -> str:
        """What it has written so far, of all its starts."""
        path = self.folder / "log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def command(self) -> list[str]:
        """Its arguments."""
        raise NotImplementedError

    def executable(self) -> Path:
        """What is run."""
        return program(self.name)

    def environment(self) -> dict[str, str]:
        """Its variables, besides those of the machine."""
        return {}

    def is_ready(self) -> bool:
        """Whether it takes requests."""
        raise NotImplementedError

    def start(self) -> Self:
        """Start it (again), and wait until it is ready."""
        built = self.executable()
        assert built.exists(), "make backends"
        kept = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(built), *self.command()],
                cwd=ROOT,
                env={**kept, **self.environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until(self._is_up, f"{self.name}\n{self.log[-3000:]}")
        return self

    def _is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} has ended\n{self.log[-3000:]}"
        return self.is_ready()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; its exit code."""
        if self.process is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        self.process = None
        return code


class Prometheus(Server):
    """With the flags of the compose file, or others; `config` is the shipped one by default."""

    def __init__(
        self,
        folder: Path,
        ports: Ports,
        *,
        config: Path = ROOT / "deploy/prometheus/prometheus.yml",
        features: str | None = None,
    ) -> None:
        super().__init__(folder, ports)
        self.config = config
        self.features = features
        self.port = ports.free()
        self.url = f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        places = {
            "--config.file": self.config,
            "--storage.tsdb.path": self.folder / "data",
            "--web.listen-address": f"127.0.0.1:{self.port}",
        }
        if self.features is not None:
            places["--enable-feature"] = self.features
        shipped = [flag.partition("=") for flag in compose()["services"]["prometheus"]["command"]]
        flags = {name: value for name, _, value in shipped} | places
        return [f"{name}={value}" if value else name for name, value in flags.items()]

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"{self.url}/-/ready", timeout=5).status == 200
        return False

    def query(self, promql: str, at: float | None = None) -> list[tuple[dict[str, str], float]]:
        """Labels and value of each series of an instant query."""
        time_of = {} if at is None else {"time": str(at)}
        data = get(f"{self.url}/api/v1/query", query=promql, **time_of)["data"]
        if data["resultType"] == "scalar":
            return [({}, float(data["result"][1]))]
        return [(each["metric"], float(each["value"][1])) for each in data["result"]]

    def value(self, promql: str, at: float | None = None) -> float:
        """The value of a query whose answer is one series."""
        answer = self.query(promql, at)
        if len(answer) != 1:
            raise LookupError(f"{promql}: {len(answer)} series")
        return answer[0][1]

    def exemplars(self, promql: str) -> list[dict[str, Any]]:
        """The exemplars of the last hour."""
        now = time.time()
        span = {"start": str(now - 3600), "end": str(now + 60)}
        data = get(f"{self.url}/api/v1/query_exemplars", query=promql, **span)["data"]
        return [exemplar for series in data for exemplar in series["exemplars"]]


class Jaeger(Server):
    """With the shipped configuration; `prometheus_url` is where metrics go."""

    def __init__(self, folder: Path, ports: Ports, *, prometheus_url: str) -> None:
        super().__init__(folder, ports)
        self._variables = {
            "JAEGER_LISTEN_HOST": "127.0.0.1",
            "JAEGER_BADGER": str(folder / "badger"),
            "PROMETHEUS_URL": prometheus_url,
        }
        for name in ("HEALTH", "QUERY_HTTP", "QUERY_GRPC", "OTLP_GRPC", "OTLP_HTTP"):
            self._variables[f"JAEGER_{name}_PORT"] = str(ports.free())
        self.url = f"http://127.0.0.1:{self._variables['JAEGER_QUERY_HTTP_PORT']}"
        self.otlp_endpoint = f"http://127.0.0.1:{self._variables['JAEGER_OTLP_HTTP_PORT']}"
        self.otlp_grpc_endpoint = f"http://127.0.0.1:{self._variables['JAEGER_OTLP_GRPC_PORT']}"

    def command(self) -> list[str]:
        return ["--config", str(ROOT / "deploy/jaeger/config.yaml")]

    def environment(self) -> dict[str, str]:
        return self._variables

    def is_ready(self) -> bool:
        health = f"http://127.0.0.1:{self._variables['JAEGER_HEALTH_PORT']}/status"
        return get(health).get("status") == "StatusOK"

    def spans_of(self, trace_id: str) -> list[dict[str, Any]]:
        """The spans of a trace by the stable API: OTLP JSON, `resource` added to each."""
        result = get(f"{self.url}/api/v3/traces/{trace_id}")["result"]
        return [
            {**span, "resource": resource["resource"], "scope": scope["scope"]}
            for resource in result["resourceSpans"]
            for scope in resource["scopeSpans"]
            # What was sent twice is shown once, and leaves a scope without spans.
            for span in scope.get("spans", ())
        ]

    def trace(self, trace_id: str) -> dict[str, Any]:
        """The trace as Jaeger's own pages get it: microseconds, tags, references."""
        (data,) = get(f"{self.url}/api/traces/{trace_id}")["data"]
        return data

    def wait_for_spans(self, trace_id: str, count: int) -> list[dict[str, Any]]:
        """The spans of a trace, once there are so many."""

        def enough() -> list[dict[str, Any]]:
            spans = self.spans_of(trace_id)
            return spans if len(spans) >= count else []

        return until(enough, f"{count} spans of trace {trace_id}")

    def find(self, service: str) -> set[str]:
        """The ids of the last hour's traces of a service, by the stable API."""
        now = time.time()
        # The spelling that old and new versions take.
        asked = {
            "query.service_name": service,
            "query.start_time_min": _rfc3339(now - 3600),
            "query.start_time_max": _rfc3339(now + 3600),
        }
        result = get(f"{self.url}/api/v3/traces", **asked)["result"]
        return {
            span["traceId"]
            for resource in result["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope.get("spans", ())
        }

    def search(self, service: str, **tags: str) -> set[str]:
        """The ids of a service's traces in which one span has all these tags, as the pages ask.

        The stable API of this version knows no attributes.
        """
        asked = {"service": service, "tags": json.dumps(tags), "lookback": "1h", "limit": "100"}
        return {trace["traceID"] for trace in get(f"{self.url}/api/traces", **asked)["data"]}


class Stack:
    """Both, connected: what is sent to `otlp_endpoint` is in Jaeger and in Prometheus."""

    def __init__(self, jaeger: Jaeger, prometheus: Prometheus) -> None:
        self.jaeger = jaeger
        self.prometheus = prometheus
        self.jaeger_url = jaeger.url
        self.prometheus_url = prometheus.url
        self.otlp_endpoint = jaeger.otlp_endpoint
        self.otlp_grpc_endpoint = jaeger.otlp_grpc_endpoint

    def query(self, promql: str, at: float | None = None) -> list[tuple[dict[str, str], float]]:
        """Labels and value of each series of an instant query."""
        return self.prometheus.query(promql, at)

    def value(self, promql: str, at: float | None = None) -> float:
        """The value of a query whose answer is one series."""
        return self.prometheus.value(promql, at)

    def wait_for(self, promql: str) -> list[tuple[dict[str, str], float]]:
        """The answer to a query, once there is one."""
        return until(lambda: self.query(promql), promql)


@contextmanager
def started(folder: Path) -> Iterator[Stack]:
    """A whole stack, whose data is in a folder; gone after the block."""
    ports = Ports()
    prometheus = Prometheus(folder / "prometheus", ports)
    jaeger = Jaeger(folder / "jaeger", ports, prometheus_url=prometheus.url)
    try:
        prometheus.start()
        jaeger.start()
        yield Stack(jaeger, prometheus)
    finally:
        jaeger.stop()
        prometheus.stop()


def _rfc3339(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + ".000000000Z"
