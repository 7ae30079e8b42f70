"""Before a command is run: where its traces go, and where in a trace we are ourselves."""

from __future__ import annotations

import os
import select
from pathlib import Path

from llmphases.capture import current
from llmphases.cli.exits import UsageError
from llmphases.cli.terminal import complain
from llmphases.conventions import ENV_FILE
from llmphases.observers import Observer

_SERVICE_NAME = "llmphases-run"
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_TRACES = (
    ENV_FILE, _ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER",
)  # fmt: skip
_METRICS = (_ENDPOINT, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_METRICS_EXPORTER")
_WHERE_WE_ARE = ("TRACEPARENT", "TRACESTATE", "BAGGAGE")
_STDIN, _STDERR = 0, 2
_PATIENCE_S = 2.0


def set_up(save: str | None) -> None:
    """Send traces where `save` or the environment says; nowhere if neither says anything.

    A file that nobody asked for is no surprise in a program that calls `configure()`; after a
    command it would be. Raises `ConfigurationError`, and `UsageError` for what cannot be saved to.
    """
    if save is not None:
        _check(save)
    wants_traces = save is not None or any(map(os.environ.get, _TRACES))
    if wants_traces or any(map(os.environ.get, _METRICS)):
        from llmphases import configure  # noqa: PLC0415  # loads the SDK

        configure(
            file=save,
            endpoint=os.environ.get(_ENDPOINT) if save is not None else None,
            service_name=None if os.environ.get("OTEL_SERVICE_NAME") else _SERVICE_NAME,
            traces=wants_traces,
            sigterm=False,  # it is the child's
        )
    current.wired().observers.add(Observer())  # ours: we tell of it, whoever else listens
    carrier = current.wired().carrier
    headers = {n.lower(): os.environ[n] for n in _WHERE_WE_ARE if os.environ.get(n)}
    carrier.variable.set(carrier.extract(headers))


def _check(save: str) -> None:
    from llmphases.otel.destinations import problem_with  # noqa: PLC0415  # as above

    problem = problem_with(Path(save)) if save else "it has no name"
    if problem is not None:
        raise UsageError(
            f"traces cannot go to {save!r}: {problem}. Name another file with --save FILE"
        )


def keep_standard_descriptors() -> None:
    """See to it that no file of ours becomes stdin, stdout or stderr where one is closed."""
    while True:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd > _STDERR:
            os.close(fd)
            return


def stdin_for_all() -> bytes | None:
    """What every one of several runs is to read: all of our stdin; None if it is a terminal."""
    if os.isatty(_STDIN):
        return None
    poller = select.poll()
    poller.register(_STDIN, select.POLLIN)
    if not poller.poll(_PATIENCE_S * 1000):
        complain("reading standard input to its end, for every run (< /dev/null: nothing)")
    pieces = []
    while piece := os.read(_STDIN, 2**16):
        pieces.append(piece)
    return b"".join(pieces)
