"""The files that show calls in Jaeger, Prometheus and Grafana, however this is installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from llmphases.errors import LlmphasesError

_IN_THE_WHEEL = "_deploy"
_DEPLOY = PurePosixPath("deploy")
_FOLDERS = ("grafana", "jaeger", "prometheus")
"""What the compose file mounts, and the wheel holds."""
COMPOSE_FILE = "docker-compose.jaeger.yml"
DASHBOARDS = _DEPLOY / "grafana" / "dashboards"


class MissingFilesError(LlmphasesError, FileNotFoundError):
    """The package was installed without the files."""


def deploy_files() -> dict[PurePosixPath, bytes]:
    """Each file's place below the folder that holds the compose file, and its content.

    Raises `MissingFilesError` where the package is neither a wheel nor a checkout.
    """
    root = _root()
    found = {PurePosixPath(COMPOSE_FILE): root.joinpath(COMPOSE_FILE).read_bytes()}
    for folder in _FOLDERS:
        for place, file in _below(root.joinpath(_DEPLOY.name, folder), _DEPLOY / folder):
            found[place] = file.read_bytes()
    return dict(sorted(found.items()))


def _root() -> Traversable:
    package = files("llmphases")
    wheel = package.joinpath(_IN_THE_WHEEL)
    if wheel.joinpath(COMPOSE_FILE).is_file():
        return wheel
    checkout = Path(str(package)).parents[1]
    if checkout.joinpath(COMPOSE_FILE).is_file():
        return checkout
    raise MissingFilesError(
        f"{COMPOSE_FILE} is neither in {wheel} nor in {checkout}; install llmphases again, from a "
        f"wheel or a whole checkout"
    )


def _below(
    folder: Traversable, place: PurePosixPath
) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in folder.iterdir():
        here = place / entry.name
        if entry.is_dir():
            yield from _below(entry, here)
        else:
            yield here, entry
