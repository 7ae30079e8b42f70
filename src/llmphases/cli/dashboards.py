"""`llmphases dashboards export`: Grafana dashboards and all that they need, into a folder."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from llmphases.cli.deploy_files import COMPOSE_FILE, DASHBOARDS, deploy_files
from llmphases.cli.exits import OK, UsageError
from llmphases.cli.terminal import write

_ENDPOINT = "http://localhost:4318"
_READABLE = 0o644
_ENTERABLE = 0o755

_EXAMPLES = f"""\
examples:
  llmphases dashboards export llm-dashboards
  cd llm-dashboards && docker compose -f {COMPOSE_FILE} up -d --wait
                                      Jaeger, Prometheus and Grafana on this machine
  llmphases dashboards export . --force
                                      over an older version of the same files
  llmphases dashboards export /tmp/d --json | jq -r '.files[]'

For a Grafana that you have, import the files in {DASHBOARDS}: each
asks for its Prometheus. Files that are there already are left alone unless they are
the same, or --force is given; nothing is written then. Exit status: 0 all well,
2 it could not be done.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command can be told."""
    parser.epilog = _EXAMPLES
    actions = parser.add_subparsers(dest="action", metavar="export", title="actions", required=True)
    export = actions.add_parser(
        "export",
        help="write dashboards, alert rules, configuration and a compose file into a folder",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    export.add_argument("folder", metavar="DIR", type=Path, help="made if it is not there")
    export.add_argument("--force", action="store_true", help="overwrite what differs")
    export.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Write all files or none, then say which and what to do next."""
    folder: Path = args.folder
    files = deploy_files()
    try:
        in_the_way = _differing(folder, files)
        if in_the_way and not args.force:
            raise UsageError(
                f"not overwritten: {_listed(in_the_way)} in {folder}; give another folder, or "
                f"--force"
            )
        for place, content in files.items():
            _write(folder, place, content)
    except OSError as error:
        raise UsageError(
            f"cannot write {error.filename or folder}: {error.strerror or error}; give a folder "
            f"that can be written to"
        ) from error
    write(_as_json(folder, files) if args.json else _as_text(folder, files))
    return OK


def _write(folder: Path, place: PurePosixPath, content: bytes) -> None:
    """Write one file, readable for everybody who may enter `folder`, whatever the umask.

    The servers in the containers, which mount what is below it, are users of their own.
    """
    path = folder / place
    missing = [one for one in path.parents if not one.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(_READABLE)
    for made in missing:
        if made.is_relative_to(folder) and made != folder:
            made.chmod(_ENTERABLE)


def _differing(folder: Path, files: Mapping[PurePosixPath, bytes]) -> list[PurePosixPath]:
    """What is there and would be lost."""
    return [
        place
        for place, content in files.items()
        if (path := folder / place).exists()
        and not (path.is_file() and path.read_bytes() == content)
    ]


def _listed(places: Iterable[PurePosixPath], most: int = 3) -> str:
    names = [str(place) for place in places]
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _next(folder: Path) -> list[str]:
    return [
        f"cd {shlex.quote(str(folder))}",
        f"docker compose -f {COMPOSE_FILE} up -d --wait",
        f"export OTEL_EXPORTER_OTLP_ENDPOINT={_ENDPOINT}",
    ]


def _as_json(folder: Path, files: Iterable[PurePosixPath]) -> str:
    written = {
        "folder": str(folder),
        "files": [str(place) for place in files],
        "next": _next(folder),
    }
    return json.dumps(written, indent=2)


def _as_text(folder: Path, files: Iterable[PurePosixPath]) -> str:
    lines = [f"written into {folder}:", *(f"  {place}" for place in files)]
    lines += ["", "next:", *(f"  {command}" for command in _next(folder))]
    lines += [
        "",
        "Then programs that call llmphases.configure() send to it: Grafana is at",
        "http://localhost:3000, Jaeger at http://localhost:16686.",
    ]
    return "\n".join(lines)
