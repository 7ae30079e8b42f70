"""Fetches and builds what the scale tests run besides Jaeger and Prometheus.

Kafka and OpenSearch come as jars from Maven (about a minute the first time), the OpenTelemetry
Collector as Go modules (16 minutes on a busy machine of two cores). All at the versions that
`docker-compose.scale.yml` pins, into the folder of the other servers. Where Go, Java or Maven are
missing, it says so and is content.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from backends import build

HERE = Path(__file__).parent
KAFKA_VERSION = "4.1.2"
OPENSEARCH_VERSION = "2.19.6"
COLLECTOR_VERSION = "0.158.0"


def jars() -> Path:
    """The folder of the jars; it is there when all of them are."""
    return build.cache() / f"kafka-{KAFKA_VERSION}-opensearch-{OPENSEARCH_VERSION}"


def collector() -> Path:
    """The collector's program, where it is or would be."""
    return build.cache() / f"collector-{COLLECTOR_VERSION}" / "collector"


def why_not() -> str:
    """What is missing for the scale tests; empty if nothing is."""
    if shutil.which("java") is None:
        return "Java is not here"
    wanted = {
        "Kafka and OpenSearch": jars(),
        "the collector": collector(),
        **{name: build.program(name) for name in ("jaeger", "prometheus")},
    }
    absent = [name for name, path in wanted.items() if not path.exists()]
    return f"make scale-parts: {', '.join(absent)} not here" if absent else ""


def main() -> int:
    """Fetches and builds what is missing; 1 if something could not be had."""
    steps = (
        (jars(), ("java", "mvn"), _fetch_jars),
        (collector(), ("go",), _build_collector),
    )
    failed = False
    for place, needed, get in steps:
        absent = [name for name in needed if shutil.which(name) is None]
        if place.exists():
            continue
        if absent:
            build._say(f"no {' and no '.join(absent)}: without it the scale tests skip")
            continue
        with (
            build._alone(),
            tempfile.TemporaryDirectory(prefix=".building-", dir=build.cache()) as folder,
        ):
            if place.exists() or get(Path(folder), place):
                continue
        failed = True
    if not failed:
        build._say(why_not() or f"the parts of the scale tests: ready in {build.cache()}")
    return int(failed)


def _fetch_jars(folder: Path, place: Path) -> bool:
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(HERE / "pom.xml")]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}"]
    if not build._run("kafka and opensearch", command, folder):
        return False
    (folder / "jars").rename(place)
    return True


def _build_collector(folder: Path, place: Path) -> bool:
    for file in (HERE / "collector").iterdir():
        shutil.copy(file, folder)
    command = ["go", "build", "-mod=readonly", "-ldflags=-s -w", "-o", "collector", "."]
    if not build._run("collector", command, folder):
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    (folder / "collector").rename(place)
    return True


if __name__ == "__main__":
    sys.exit(main())
