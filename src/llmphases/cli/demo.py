"""`llmphases demo`: the story of fixed cost in small, with real child processes."""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from llmphases.calls import Call
from llmphases.capture import current
from llmphases.cli.demo_progress import Progress
from llmphases.cli.demo_story import UNITS, WAYS, InterruptedToolError, play
from llmphases.cli.demo_text import ENDPOINT, SERVICE, Outcome, as_json, ending, opening
from llmphases.cli.exits import OK, UsageError
from llmphases.cli.terminal import paper_of_stdout, write

_SCALE = 30.0
_FASTEST = 100.0
_PATIENCE_S = 3.0

_EXAMPLES = """\
examples:
  llmphases demo                    half a minute; needs no key and no server
  llmphases demo --scale 100        three times as fast
  llmphases demo --save demo.jsonl  add its traces to a file of your own
  llmphases demo --json | jq '.ways[] | {title, took_s, fixed_share}'
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 llmphases demo
                                    into Jaeger (or whatever takes OTLP) as well

All times shown are measured. Without --save the traces are in a temporary file,
whose name stands at the end. Exit status: 0 all well, 2 it could not be done,
130 Control-C.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command can be told."""
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "--scale",
        type=_scale,
        default=_SCALE,
        metavar="N",
        help=f"how many times as fast as the real case, 1 to {_FASTEST:g} (default: {_SCALE:g})",
    )
    parser.add_argument("--save", metavar="FILE", help="add the traces to this file")
    parser.add_argument("--json", action="store_true", help="print JSON, times in seconds")


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 1 <= scale <= _FASTEST:
        raise argparse.ArgumentTypeError(
            f"{text!r}; expected a number from 1 to {_FASTEST:g}: any faster, and the start of "
            f"Python would be most of what is seen"
        )
    return scale


def run(args: argparse.Namespace) -> int:
    """Do the work in three ways, then show where the time went."""
    if current.is_disabled():
        raise UsageError("LLMPHASES_DISABLED is set, so there is nothing to show; unset it")
    path = str(Path(args.save)) if args.save else _new_file()
    try:
        outcome = _played(args, path)
    except BaseException:
        if not args.save:
            _thrown_away(path)
        raise
    write(as_json(outcome) if args.json else ending(outcome, paper_of_stdout()))
    return OK


def _new_file() -> str:
    handle, path = tempfile.mkstemp(prefix="llmphases-demo-", suffix=".jsonl")
    os.close(handle)
    return path


def _thrown_away(path: str) -> None:
    from llmphases import flush  # noqa: PLC0415  # loads the SDK

    flush(_PATIENCE_S)  # what is written later would make the file anew
    Path(path).unlink(missing_ok=True)


def _played(args: argparse.Namespace, path: str) -> Outcome:
    from llmphases import flush  # noqa: PLC0415  # loads the SDK

    sent_to = _configured(path)
    if not args.json:
        write(opening(args.scale, paper_of_stdout()))
    try:
        asyncio.run(_play_all(args.scale))
    except InterruptedToolError:
        raise KeyboardInterrupt from None
    if not flush(_PATIENCE_S):
        sent_to = ()  # why has been said
    return Outcome(scale=args.scale, calls=_read_back(path), file=path, sent_to=sent_to)


def _configured(path: str) -> tuple[str, ...]:
    """Record into this file; gives where the environment sends it as well."""
    from llmphases import configure  # noqa: PLC0415  # loads the SDK

    variables = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ENDPOINT)
    endpoint = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    # A plain Jaeger refuses metrics: they go where they are asked for in particular.
    metrics_endpoint = os.environ.get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") or None
    asked = metrics_endpoint or os.environ.get("OTEL_METRICS_EXPORTER")
    made = configure(
        endpoint=endpoint,
        file=path,
        metrics=None if asked else False,
        metrics_endpoint=metrics_endpoint,
        service_name=SERVICE,
    )
    if path not in made.traces:
        raise UsageError(
            "nothing is recorded: OTEL_SDK_DISABLED or OTEL_TRACES_EXPORTER=none is set; unset it"
        )
    return tuple(place for place in made.traces if place != path)


async def _play_all(scale: float) -> None:
    for way in WAYS:
        with Progress(way.title, UNITS) as progress:
            watching = asyncio.create_task(progress.watch())
            try:
                await play(way, scale, progress.one_done)
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching


def _read_back(path: str) -> Sequence[Call]:
    """The calls of this run, out of the file; it may hold earlier ones."""
    from llmphases.sources.otlp_file import OtlpFiles  # noqa: PLC0415  # when there is one

    reading = OtlpFiles([path]).read()
    last = max(reading.runs.values(), default=None)
    calls = [call for call in reading.calls if reading.run_of(call) == last]
    expected = sum(way.chunks for way in WAYS)
    if len(calls) != expected:
        raise UsageError(
            f"{len(calls)} of {expected} calls are in {path}; is there an OTEL_TRACES_SAMPLER, or "
            f"no room on the disk?"
        )
    return calls
