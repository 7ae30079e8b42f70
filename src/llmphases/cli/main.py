"""The command `llmphases`: finds the command asked for, loads it alone and runs it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from llmphases import __version__
from llmphases.cli.exits import INTERRUPTED, OK, UNUSABLE, OutputError
from llmphases.cli.terminal import complain
from llmphases.errors import LlmphasesError

COMMANDS = {
    "dashboards": "write Grafana dashboards, alert rules and a compose file into a folder",
    "demo": "the story of fixed cost in half a minute, with a stand-in tool",
    "doctor": "what is configured, whether it works, and what to do next",
    "plan": "into how many chunks work is best split, and what that takes",
    "report": "show where the time of recorded calls went",
    "run": "run any command as it is, and show where its time went",
}
"""Each command and what it does. The module of that name in this package has
`add_arguments(parser)` and `run(args) -> int`, and is imported only if it is asked for."""

_DESCRIPTION = """\
See where the time of an LLM call goes: what is paid per call, and what is paid per token."""

_EXAMPLES = """\
examples:
  llmphases report                       what was recorded into this directory
  llmphases report a.jsonl b.jsonl       several files as one job
  llmphases report --json | jq .totals   the same as JSON

`llmphases COMMAND --help` tells more. Exit status: 0 all well, 1 something was found,
2 wrong usage or nothing readable.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command (of `sys.argv` by default); gives the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        status = _run(arguments)
    except BrokenPipeError:
        _forget_stdout()
        return OK
    except OutputError as error:
        complain(str(error))
        _forget_stdout()
        return UNUSABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except LlmphasesError as error:
        complain(str(error))
        return UNUSABLE
    return status


def _run(arguments: Sequence[str]) -> int:
    parser = _parser(arguments)
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        # Of the command, where there is one: its usage says what there is.
        getattr(args, "parser", parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    if args.command is None:
        parser.print_help(sys.stderr)
        return UNUSABLE
    status: int = args.run(args)
    return status


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="llmphases",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"llmphases {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    asked_for = next((word for word in arguments if word in COMMANDS), None)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=purpose,
            description=f"{purpose[0].upper()}{purpose[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == asked_for:
            module = import_module(f"llmphases.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run, parser=command)
    return parser


def _forget_stdout() -> None:
    """Nobody takes our output (`| head`, a full disk); keep Python from writing it at exit."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
