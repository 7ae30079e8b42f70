"""`llmphases run`: any command, as it is without us, and where its time went."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Callable
from typing import NoReturn

from llmphases.analysis.repeats import Measured
from llmphases.capture import current
from llmphases.cli.exits import UsageError
from llmphases.cli.terminal import paper_of_stderr, tell

NOT_FOUND = 127
NOT_EXECUTABLE = 126

_EXAMPLES = """\
examples:
  llmphases run -- claude -p "Say hi"
  llmphases run -- llm -m my-model "Say hi" | less
  git diff | llmphases run --name review -- llm -s "Review this"
  llmphases run --repeat 5 -- codex exec --json "Say hi" < /dev/null
  llmphases run --repeat 4 --parallel 4 -- claude -p "Say hi"
  llmphases run --tap -- claude -p "Say hi"
  llmphases run --json -- llm "Say hi" 2> times.json
  llmphases run --save t.jsonl -- claude -p "Say hi"; llmphases report t.jsonl

The command's output passes through as it comes, its exit status is ours,
Control-C and other signals reach it, and where stdout or stderr is a terminal
it sees one. The times follow on stderr. Pagers like less get their keys on
Linux only, and in one run only: elsewhere say PAGER=cat.

Several runs (--repeat, --parallel): the output of the first passes through;
that of the others is read, timed and dropped, but the last line of stderr is
shown of those that fail. All of them read the same standard input, or none if
that is a terminal. The exit status is that of the first that failed. Each run
is a request to the model, and costs as much.

Traces go to the OTLP endpoint that the environment names, to the file of
--save, or both; with neither, there is the table and nothing else. A
TRACEPARENT in the environment is continued. LLMPHASES_DISABLED=1 runs the
command and that is all.

Exit status: the command's; 128+N if signal N ended it, 127 if there is no
such command, 126 if it cannot be executed, 2 for wrong usage.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command can be told."""
    parser.usage = "llmphases run [OPTION ...] -- COMMAND [ARGUMENT ...]"
    parser.epilog = _EXAMPLES
    parser.add_argument("--name", metavar="NAME", help="of the call (default: the program's)")
    parser.add_argument(
        "--repeat", type=_number(1), default=1, metavar="K",
        help="run it K times, one after the other: medians and how much they vary",
    )  # fmt: skip
    parser.add_argument(
        "--parallel", type=_number(2), metavar="W",
        help="then again K times or more, W at a time: how much slower each gets",
    )  # fmt: skip
    parser.add_argument(
        "--format", metavar="F",
        help="what its output is read as, e.g. claude-stream-json (default: told by the command)",
    )  # fmt: skip
    parser.add_argument(
        "--tap", action="store_true",
        help="look at its requests to the model, through a proxy on this machine (docs/tap.md)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one line of JSON for the table")
    parser.add_argument("--save", metavar="FILE", help="add the traces to this file")
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _number(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if text.isdecimal() and int(text) >= least:
            return int(text)
        raise argparse.ArgumentTypeError(
            f"{text!r} given; expected a whole number, {least} or more"
        )

    return number


def run(args: argparse.Namespace) -> int:
    """Run it, then tell."""
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words or not words[0]:
        raise UsageError(
            "no command given; expected llmphases run -- COMMAND [ARGUMENT ...], as in "
            'llmphases run -- claude -p "Say hi"'
        )
    try:
        if current.is_disabled():
            _become(words)
        measured = _measured(args, words)
    except OSError as error:
        return _not_started(words[0], error)
    if measured is None:
        return 0
    if args.json:
        from llmphases.reports.command_json import command_json

        tell(command_json(measured))
    else:
        from llmphases.reports.command_text import command_text

        tell("\n" + command_text(measured, paper_of_stderr()))
    return measured.exit_code


def _become(words: list[str]) -> NoReturn:
    """The command in our place, with the signals that Python ignores as it would have them."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execvp(words[0], words)  # noqa: S606  # no shell is wanted


def _measured(args: argparse.Namespace, words: list[str]) -> Measured:
    from llmphases.capture.children.command import command_of
    from llmphases.cli import run_many, run_one, run_setup

    run_setup.keep_standard_descriptors()
    is_one = args.repeat == 1 and args.parallel is None
    options = {"name": args.name, "format": args.format, "tap": args.tap}
    if not is_one:
        options["input"] = run_setup.stdin_for_all()
    command = command_of("llmphases run", words, options, text=False)
    current.wired().format_for(words, args.format)  # a wrong name is told before anything runs
    run_setup.set_up(args.save)
    if is_one:
        return run_one.measured(command)
    return run_many.measured(command, args.repeat, args.parallel)


def _not_started(program: str, error: OSError) -> int:
    """As shells say it."""
    if isinstance(error, FileNotFoundError) and not os.path.lexists(program):
        tell(f"llmphases: {program}: command not found")
        return NOT_FOUND
    tell(f"llmphases: {program}: cannot be executed: {error.strerror or error}")
    return NOT_EXECUTABLE
