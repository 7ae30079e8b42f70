"""The parts of `docker-compose.scale.yml` as processes on free loopback ports, as they are shipped.

Each takes its settings from the compose file and from `deploy/scale`; what differs is where others
listen and where the data is.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from backends.scale import parts
from backends.servers import ROOT, Jaeger, Ports, Prometheus, Server, get

COMPOSE_FILE = ROOT / "docker-compose.scale.yml"
CONFIG = ROOT / "deploy" / "scale"
_JAVA_HEAP = "-Xmx512m"


def compose() -> dict[str, Any]:
    """The shipped compose file."""
    import yaml  # of the extra `dev`; this file is imported without it too

    return yaml.safe_load(COMPOSE_FILE.read_text("utf-8"))


class Java(Server):
    """A program from the jars."""

    def executable(self) -> Path:
        java = shutil.which("java")
        assert java, "Java is not here"
        return Path(java)


class Kafka(Java):
    """One broker, with the settings of the compose file."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        super().__init__(folder, ports)
        self.broker = f"127.0.0.1:{ports.free()}"
        controller = f"127.0.0.1:{ports.free()}"
        self._here = {
            "listeners": f"PLAINTEXT://{self.broker},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.broker}",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": str(folder / "data"),
        }

    def settings(self) -> dict[str, str]:
        """`KAFKA_LOG_DIRS` is `log.dirs`, as the image has it."""
        said = compose()["services"]["kafka"]["environment"]
        shipped = {
            name.removeprefix("KAFKA_").lower().replace("_", "."): value
            for name, value in said.items()
            if name.startswith("KAFKA_")
        }
        assert set(self._here) <= set(shipped)
        return shipped | self._here

    def _jvm(self, *more: str) -> list[str]:
        return [_JAVA_HEAP, "-cp", f"{parts.jars()}/*", *more]

    def command(self) -> list[str]:
        file = self.folder / "server.properties"
        if not file.exists():
            file.write_text("".join(f"{name}={value}\n" for name, value in self.settings().items()))
            cluster = compose()["services"]["kafka"]["environment"]["CLUSTER_ID"]
            tool = self._jvm("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(file))
            done = subprocess.run(
                [str(self.executable()), *tool], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
        return self._jvm("kafka.Kafka", str(file))

    def is_ready(self) -> bool:
        """It listens to clients when it has become the controller's, and its logs are read."""
        return _listens(self.broker)


class OpenSearch(Java):
    """One node, of the version of the compose file."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        super().__init__(folder, ports)
        self._ports = (str(ports.free()), str(ports.free()))
        self.url = f"http://127.0.0.1:{self._ports[0]}"

    def command(self) -> list[str]:
        (self.folder / "config").mkdir(exist_ok=True)
        classes = ["-cp", f"{parts.jars()}/*", str(parts.HERE / "SearchNode.java")]
        # What Java says of a security manager and of native code is of no use here.
        return [_JAVA_HEAP, "-Xms512m", *classes, str(self.folder), *self._ports]

    def is_ready(self) -> bool:
        return get(f"{self.url}/_cluster/health")["status"] in {"green", "yellow"}

    def spans(self) -> int:
        """How many spans can be searched."""
        found = get(f"{self.url}/llmphases-jaeger-span-*/_count")
        count: int = found["count"]
        return count

    def bytes_per_span(self) -> float:
        """How much disk a span takes, without copies."""
        indices = f"{self.url}/_cat/indices/llmphases-jaeger-span-*"
        found = get(indices, format="json", bytes="b")
        return sum(int(index["store.size"]) for index in found) / self.spans()


class JaegerRole(Server):
    """Jaeger as one of the three; `where` says where the others are, in variables of its file."""

    role = ""

    def __init__(self, folder: Path, ports: Ports, **where: str) -> None:
        super().__init__(folder, ports)
        self.config = CONFIG / f"jaeger-{self.role}.yaml"
        text = self.config.read_text("utf-8")
        asked = dict(re.findall(r"\$\{env:([A-Z_]+):-([^}]*)\}", text))
        assert set(where) <= set(asked), "variables that nobody reads"
        own = {name: str(ports.free()) for name in asked if name.endswith("_PORT")}
        self.variables = own | where

    @property
    def name(self) -> str:
        return "jaeger"

    def command(self) -> list[str]:
        return ["--config", str(self.config)]

    def environment(self) -> dict[str, str]:
        return self.variables

    def is_ready(self) -> bool:
        port = self.variables["JAEGER_HEALTH_PORT"]
        return get(f"http://127.0.0.1:{port}/status").get("status") == "StatusOK"


class Collector(JaegerRole):
    """Takes spans, writes to Kafka."""

    role = "collector"

    @property
    def otlp_endpoint(self) -> str:
        """Where spans go by HTTP."""
        return f"http://127.0.0.1:{self.variables['JAEGER_OTLP_HTTP_PORT']}"

    @property
    def grpc(self) -> str:
        """Where spans go by gRPC, without a scheme."""
        return f"127.0.0.1:{self.variables['JAEGER_OTLP_GRPC_PORT']}"


class Ingester(JaegerRole):
    """Reads from Kafka, writes to OpenSearch."""

    role = "ingester"


class Query(JaegerRole):
    """Answers questions."""

    role = "query"

    @property
    def url(self) -> str:
        """Its pages and API."""
        return f"http://127.0.0.1:{self.variables['JAEGER_QUERY_HTTP_PORT']}"

    # The API is one, whichever role answers it.
    spans_of = Jaeger.spans_of

    def span_ids(self, trace_id: str) -> list[str]:
        """The ids of a trace's spans. `LookupError` if there is no such trace."""
        return [span["spanId"] for span in self.spans_of(trace_id)]


class ContribCollector(Server):
    """The OpenTelemetry Collector with a shipped file; `more` are files and `yaml:` that follow."""

    file = ""
    health = ""

    def __init__(self, folder: Path, ports: Ports, *more: str, **where: str) -> None:
        super().__init__(folder, ports)
        text = (CONFIG / self.file).read_text("utf-8")
        asked = set(re.findall(r"\$\{env:([A-Z_]+):-", text))
        assert set(where) <= asked, "variables that nobody reads"
        mine = [name for name in sorted(asked) if name.endswith("_PORT") and name not in where]
        self.more = more
        self.variables = {name: str(ports.free()) for name in mine} | where

    def executable(self) -> Path:
        return parts.collector()

    def command(self) -> list[str]:
        return [f"--config={each}" for each in (CONFIG / self.file, *self.more)]

    def environment(self) -> dict[str, str]:
        return self.variables

    def is_ready(self) -> bool:
        url = f"http://127.0.0.1:{self.variables[self.health]}/"
        return bool(get(url)["status"] == "Server available")


class Gateway(ContribCollector):
    """What programs send to."""

    file = "gateway.yaml"
    health = "GATEWAY_HEALTH_PORT"

    @property
    def otlp_endpoint(self) -> str:
        """Where programs send to."""
        return f"http://127.0.0.1:{self.variables['GATEWAY_OTLP_HTTP_PORT']}"

    @property
    def otlp_grpc_endpoint(self) -> str:
        """The same, for gRPC."""
        return f"http://127.0.0.1:{self.variables['GATEWAY_OTLP_GRPC_PORT']}"


class Sampler(ContribCollector):
    """Keeps some traces."""

    file = "sampler.yaml"
    health = "SAMPLER_HEALTH_PORT"


class MetricsStore(Prometheus):
    """Stands for any store that speaks Prometheus' remote write."""

    @property
    def name(self) -> str:
        return "prometheus"

    def command(self) -> list[str]:
        return [*super().command(), "--web.enable-remote-write-receiver"]


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with closing(socket.socket()) as one:
        one.settimeout(1)
        return one.connect_ex((host, int(port))) == 0
