"""`llmphases report`: where the time of recorded calls went."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from llmphases.analysis.split import split
from llmphases.calls import Call
from llmphases.cli.exits import OK, UNUSABLE, UsageError
from llmphases.cli.terminal import complain, paper_of_stdout, write
from llmphases.cli.trace_files import default_file, named, read_traces
from llmphases.conventions import DEFAULT_FILE, ENV_FILE, RUN_ID
from llmphases.sources.contract import Reading

_EXAMPLES = f"""\
examples:
  llmphases report                        reads {DEFAULT_FILE} in this directory
  llmphases report monday.jsonl tuesday.jsonl
  llmphases report old.jsonl.gz           compressed by gzip
  ssh server cat t.jsonl | llmphases report -
  llmphases report --name place_boxes --json
  llmphases report --last-run             without what earlier runs left in the file

Reads OTLP JSON lines, as llmphases.configure() writes them without an endpoint and as
the file exporter of the OpenTelemetry collector does. Several files are one job.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command can be told."""
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help=f"files of traces, - for standard input (default: ${ENV_FILE} or {DEFAULT_FILE})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, times in seconds")
    parser.add_argument(
        "--name",
        action="append",
        dest="names",
        metavar="NAME",
        help="only calls of this name; may be given several times",
    )
    parser.add_argument(
        "--last-run",
        action="store_true",
        help="only calls of the run that began last; a file is appended to by every run",
    )


def run(args: argparse.Namespace) -> int:
    """Read, split, print."""
    files = args.files or [default_file()]
    reading = read_traces(files)
    if str(reading.skipped):
        complain(f"skipped {reading.skipped}")
    if not reading.calls:
        complain(
            f"no calls in {', '.join(files)}; expected spans of functions with @traced_llm_call, "
            f"recorded after llmphases.configure()"
        )
    chosen = _of_last_run(reading, files) if args.last_run else reading.calls
    if args.names:
        chosen = named(chosen, args.names)
    runs = {run for call in chosen if (run := reading.run_of(call)) is not None}
    found = split(chosen, runs=len(runs) or None)
    if args.json:
        from llmphases.reports.as_json import as_json

        write(as_json(found))
    elif reading.calls:
        from llmphases.reports.as_text import as_text

        write(as_text(found, paper_of_stdout()))
    return OK if reading.lines else UNUSABLE


def _of_last_run(reading: Reading, files: Sequence[str]) -> Sequence[Call]:
    if reading.calls and not reading.runs:
        raise UsageError(
            f"nothing in {', '.join(files)} says which run a call is from: its traces have neither "
            f"{RUN_ID} nor service.instance.id; leave --last-run out"
        )
    last = max(reading.runs.values(), default=None)
    return [call for call in reading.calls if reading.run_of(call) == last]
