"""`llmphases doctor`: what is configured, does it work, and what to do next."""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import socket
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from llmphases import __version__, flush, llm_call, step
from llmphases.cli.exits import FOUND, OK
from llmphases.cli.terminal import write
from llmphases.conventions import DEFAULT_FILE, ENV_DISABLED, ENV_FILE, ENV_LOG
from llmphases.errors import ConfigurationError

if TYPE_CHECKING:
    from llmphases.otel.destinations import Destination

_EXAMPLES = """\
examples:
  llmphases doctor
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 llmphases doctor
  llmphases doctor --endpoint http://localhost:4318 --json

Sends one span, named llmphases_doctor, to where your programs would send theirs; where that
is a file, to a temporary one beside it.
Exit status: 0 all is well, 1 something is not.
"""
_PACKAGES = ("opentelemetry-sdk", "opentelemetry-exporter-otlp", "wrapt", "psutil")
_EXTRAS = ("rich", "msgspec")
_SECRET_WORDS = ("HEADERS", "KEY", "CERTIFICATE", "TOKEN")
_PATIENCE_S = 5.0
_TRIES = 1000
"""How many test spans a sampler may leave out before it is taken to leave out all."""
_FILE = "the file "
"""How the place of traces begins, if it is one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `ok` is None where it is neither good nor bad."""

    about: str
    text: str
    ok: bool | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command can be told."""
    parser.epilog = _EXAMPLES
    parser.add_argument("--endpoint", metavar="URL", help="try this OTLP endpoint instead")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Look at everything, print it, and say what to do."""
    findings = [*_environment(), *_sending(args.endpoint)]
    advice = _advice(findings)
    if args.json:
        told = [{"about": f.about, "ok": f.ok, "text": f.text} for f in findings]
        write(json.dumps({"findings": told, "next": advice}, indent=2))
    else:
        marks = {True: "ok  ", False: "FAIL", None: "    "}
        lines = [f"{marks[f.ok]} {f.about:<28} {f.text}" for f in findings]
        write("\n".join([*lines, "", *advice]))
    return FOUND if any(f.ok is False for f in findings) else OK


def _environment() -> Iterator[Finding]:
    yield Finding("llmphases", f"{__version__}, Python {platform.python_version()}")
    for package in _PACKAGES:
        found = _version(package)
        text = found or "is not installed: pip install llmphases"
        yield Finding(package, text, ok=found is not None)
    missing = [name for name in _EXTRAS if _version(name) is None]
    if missing:
        names = " and ".join(missing)
        yield Finding("extra cli", f"without {names}: pip install 'llmphases[cli]'")
    for name in sorted(os.environ):
        if name.startswith("OTEL_") or name in {ENV_DISABLED, ENV_LOG, ENV_FILE}:
            yield Finding(name, _shown(name, os.environ[name]))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _shown(name: str, value: str) -> str:
    from llmphases.capture.values import clean_text  # noqa: PLC0415  # only here

    return "is set" if any(word in name for word in _SECRET_WORDS) else clean_text(value)


def _sending(endpoint: str | None) -> Iterator[Finding]:
    """Set up as a program would, send one call, and see whether it arrived."""
    from llmphases.otel.destinations import Asked, plan  # noqa: PLC0415  # only here

    try:
        places = plan(Asked(endpoint=endpoint), os.environ).traces
        unheard = list(_unheard(places))
        if unheard:
            yield from unheard
            return
        with _file_on_trial(places):
            yield from _sent(endpoint, places)
    except ConfigurationError as error:
        yield Finding("settings", str(error), ok=False)
    except OSError as error:
        yield Finding("a test span", f"cannot be written: {error.strerror or error}", ok=False)


@contextmanager
def _file_on_trial(places: Sequence[Destination]) -> Iterator[None]:
    """A temporary file takes the place of the one that traces go to: that one is the user's."""
    folder = next((Path(to.path).parent for to in places if to.kind == "file"), None)
    if folder is None:
        yield
        return
    # A file that is there may be written in a folder that takes no other.
    beside = folder if os.access(folder, os.W_OK) else None
    handle, name = tempfile.mkstemp(".jsonl", "llmphases-doctor-", beside)
    os.close(handle)
    os.environ[ENV_FILE] = name
    try:
        yield
    finally:
        Path(name).unlink()


def _sent(endpoint: str | None, places: Sequence[Destination]) -> Iterator[Finding]:
    from llmphases import configure  # noqa: PLC0415  # loads the SDK

    made = configure(endpoint=endpoint, service_name="llmphases-doctor", say=_nothing)
    if made.is_disabled:
        yield Finding("settings", "OTEL_SDK_DISABLED or LLMPHASES_DISABLED is set", ok=False)
        return
    protocol = f" ({made.traces_protocol})" if made.traces_protocol else ""
    yield Finding("traces go to", _listed(map(_place, places)) + protocol, ok=bool(made.traces))
    yield Finding("metrics go to", _listed(made.metrics))
    if made.traces:
        yield _test_span(places)


def _test_span(places: Sequence[Destination]) -> Finding:
    """Send one, and see whether it arrives."""
    heard = _Heard()
    logger = logging.getLogger("llmphases")
    logger.addHandler(heard)
    logger.propagate = False
    try:
        if not any(_is_kept() for _ in range(_TRIES)):
            return Finding("sampling", f"of {_TRIES:,} test spans none was kept", ok=False)
        arrived = flush(_PATIENCE_S)
    finally:
        logger.removeHandler(heard)
        logger.propagate = True
    why = "; ".join(heard.lines) or "no answer in time"
    where = "".join(
        f" in a temporary file; {to} is as it was" for to in places if to.kind == "file"
    )
    return Finding("a test span", f"arrived{where}" if arrived else why, ok=arrived)


def _is_kept() -> bool:
    """Record a call; whether the sampler (`OTEL_TRACES_SAMPLER`) lets it be sent."""
    from llmphases.otel.carrier import OtelCarrier, span_in  # noqa: PLC0415  # loads the API

    with llm_call("llmphases_doctor"), step("a_test_span"):
        span = span_in(OtelCarrier().variable.get())
        return bool(span is not None and span.get_span_context().trace_flags.sampled)


def _place(to: Destination) -> str:
    return f"{_FILE}{to}" if to.kind == "file" else str(to)


def _unheard(places: Sequence[Destination]) -> Iterator[Finding]:
    """The places for traces where nobody listens."""
    for to in places:
        address = urlsplit(to.endpoint if "//" in to.endpoint else f"//{to.endpoint}")
        if to.kind != "otlp" or address.hostname is None:
            continue
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            socket.create_connection((address.hostname, port), timeout=_PATIENCE_S).close()
        except OSError as error:
            why = error.strerror or str(error)
            yield Finding("traces go to", str(to))
            yield Finding("somebody listens there", f"{address.hostname}:{port}: {why}", ok=False)


def _nothing(line: str) -> None:
    """`doctor` says itself where the data goes."""


class _Heard(logging.Handler):
    """Keeps what is complained about."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage().removeprefix("llmphases: "))


def _listed(places: Iterable[str]) -> str:
    return " and ".join(places) or "nowhere"


_UNHEARD = [
    "Start what should listen there (for Jaeger, port 4318), or unset the",
    f"OTEL_EXPORTER_OTLP_* variables: traces then go to the file {DEFAULT_FILE}.",
]
_REMEDIES = {
    "settings": ["Correct the setting named above and run this again."],
    "a test span": _UNHEARD,
    "somebody listens there": _UNHEARD,
    "sampling": [
        "Unset OTEL_TRACES_SAMPLER (and OTEL_TRACES_SAMPLER_ARG), or have it keep more:",
        "what it leaves out is in no file and no backend.",
    ],
    "traces go to": ["Unset OTEL_TRACES_EXPORTER, which switches traces off, and run this again."],
}
"""What helps, by what failed; the first that did counts."""


def _advice(findings: list[Finding]) -> list[str]:
    """What to do next, in a sentence or two."""
    failed = {f.about for f in findings if f.ok is False}
    traces = next((f.text for f in findings if f.about == "traces go to"), "")
    if failed:
        missing = ["Install what is missing and run this again."]
        return next((what for about, what in _REMEDIES.items() if about in failed), missing)
    if traces.startswith(_FILE):
        return [
            "Put @traced_llm_call on a function and llmphases.configure() at your program's",
            "start, run it here, then: llmphases report",
        ]
    return [f"All is well: look for the service llmphases-doctor at {traces.split(' ')[0]}."]
