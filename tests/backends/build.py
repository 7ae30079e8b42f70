"""Builds the real servers that the tests of this folder run: Jaeger, Prometheus, docker compose.

They come as Go modules, at pinned versions, and stay in a folder of their own outside the checkout:
`$XDG_CACHE_HOME/llmphases/backends` (`~/.cache/...`). The first time takes about 11 minutes on two
cores, later ones no time at all. A program is built in another place and then moved: what has its
name is whole. `make backends` runs this; where Go is missing it says so and is content.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TELL_EVERY_S = 20.0


@dataclass(frozen=True)
class Server:
    """A module of Go and the programs to build from it.

    Attributes:
        name: What the folder is called, with the version.
        version: What the project calls this release.
        module: The module's path.
        tag: The module's version, which may be another number than the release's.
        programs: The file's name, and the package that it is built from.
        tags: What to leave out of it, in its own words.
    """

    name: str
    version: str
    module: str
    tag: str
    programs: tuple[tuple[str, str], ...]
    tags: str = ""

    @property
    def folder(self) -> Path:
        return cache() / f"{self.name}-{self.version}"

    @property
    def missing(self) -> list[tuple[str, str]]:
        return [each for each in self.programs if not (self.folder / each[0]).exists()]


# The newest Jaeger whose module can be built: later ones have no path of their own (2.13 is 1.76).
JAEGER = Server(
    "jaeger",
    "2.13.0",
    "github.com/jaegertracing/jaeger",
    "v1.76.0",
    (("jaeger", "cmd/jaeger"),),
)
PROMETHEUS = Server(
    "prometheus",
    "3.16.0",
    "github.com/prometheus/prometheus",
    "v0.316.0",
    (("prometheus", "cmd/prometheus"), ("promtool", "cmd/promtool")),
    # Nothing is discovered here; the clouds' SDKs take as long to compile as all the rest.
    tags="remove_all_sd",
)
# 5.7 wants a newer Go.
COMPOSE = Server(
    "docker-compose",
    "5.6.0",
    "github.com/docker/compose/v5",
    "v5.6.0",
    (("docker-compose", "cmd"),),
)
SERVERS = (PROMETHEUS, JAEGER, COMPOSE)


def cache() -> Path:
    """The folder that all versions of all servers are in."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "llmphases" / "backends"


def program(name: str) -> Path:
    """Where a program is, or would be if it were built."""
    for server in SERVERS:
        if name in dict(server.programs):
            return server.folder / name
    raise ValueError(f"no program {name!r} among {[n for s in SERVERS for n, _ in s.programs]}")


def main() -> int:
    """Builds what is missing; 1 if something could not be built."""
    wanted = [server for server in SERVERS if server.missing]
    if wanted and shutil.which("go") is None:
        _say("Go is not here: Jaeger and Prometheus are not built, and their tests skip")
        return 0
    with _alone():
        failed = [server.name for server in SERVERS if server.missing and not _build(server)]
    if failed:
        _say(f"could not be built: {', '.join(failed)}")
        return 1
    _say(f"{', '.join(f'{s.name} {s.version}' for s in SERVERS)}: ready in {cache()}")
    return 0


@contextmanager
def _alone() -> Iterator[None]:
    """One builder at a time; what an earlier one left when it was killed is removed."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in cache().glob(".building-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _build(server: Server) -> bool:
    with tempfile.TemporaryDirectory(prefix=".building-", dir=cache()) as folder:
        place = Path(folder)
        packages = [f"{server.module}/{package}" for _, package in server.missing]
        # A module of our own: `go install` refuses modules whose go.mod replaces something.
        commands = [["go", "mod", "init", "backends"]]
        commands.append(["go", "get", "-tool", *(f"{each}@{server.tag}" for each in packages)])
        if not all(_run(server.name, command, place) for command in commands):
            return False
        for (name, _), package in zip(server.missing, packages, strict=True):
            # Without the tables for debuggers: half the time of linking, and half the size.
            build = ["go", "build", "-ldflags=-s -w", f"-tags={server.tags}"]
            if not _run(server.name, [*build, "-o", name, package], place):
                return False
            server.folder.mkdir(parents=True, exist_ok=True)
            (place / name).rename(server.folder / name)
    return True


def _run(name: str, command: list[str], place: Path) -> bool:
    """Runs a command, saying now and then that it still does; its output if it fails."""
    _say(f"{name}: {' '.join(command)}")
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=place, stdout=output, stderr=subprocess.STDOUT)
        while True:
            try:
                code = process.wait(_TELL_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                _say(f"{name}: {time.monotonic() - started:.0f} s ...")
            except BaseException:
                process.kill()
                process.wait()
                raise
        if code:
            output.seek(0)
            _say(f"{name}: exit code {code}\n{output.read()}")
    return code == 0


def _say(text: str) -> None:
    sys.stdout.write(f"== backends: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
