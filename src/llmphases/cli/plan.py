"""`llmphases plan`: into how many chunks work is best split."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence

from llmphases.analysis.fit import FEWEST_CALLS, NoFit, Reason
from llmphases.analysis.plan import Ceilings, Work, plan
from llmphases.analysis.plan_costs import Costs, costs, memory_peak
from llmphases.calls import Call
from llmphases.cli.exits import FOUND, OK, UsageError
from llmphases.cli.terminal import complain, paper_of_stdout, write
from llmphases.cli.trace_files import named, read_traces

_MOST_CHUNKS = 100_000
_MOST = 1e9
"""Of anything that is counted or timed: beyond, sums are no longer numbers."""
_SIZE = re.compile(r"(\d{1,18}(?:\.\d+)?)\s*(?:([kmgt])i?)?b?", re.IGNORECASE)
_POWERS = {"k": 10, "m": 20, "g": 30, "t": 40}

_EXAMPLES = """\
examples:
  llmphases plan --units 156 --workers 4 --fixed 68 --per-unit 1.9
  llmphases plan --units 156 --workers 4 --fixed 68 --per-unit 1.9 --today 156
  llmphases plan --units 156 --workers 8 --from llmphases-traces.jsonl
  llmphases plan --units 156 --workers 8 --fixed 68 --per-unit 1.9 \\
      --memory-per-call 700MiB --requests-per-minute 20 --json

Units are what the work is made of: segments, files, rows. A call takes
FIXED + PER_UNIT * its units. Not known yet? Measure one call first
(llmphases run -- COMMAND): it shows fixed : generation, and generation by the
units of that call is PER_UNIT.

--from takes both from recorded calls: from the measured split where generation
was seen, else from a line through how long calls of different size took (7 or
more). They have to say their units: call.units(n). The memory of a call is then
the highest that was seen, and that of the machine what is available now.

Exit status: 0 there is a plan, 1 there is no room for one call, 2 wrong usage,
or the files do not tell what a call costs.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command can be told."""
    parser.epilog = _EXAMPLES
    count = _number(int, 1, "a whole number, 1 or more")
    seconds = _number(float, 0, "seconds, 0 or more")
    add = parser.add_argument
    add("--units", type=count, required=True, metavar="N", help="how much there is to do")
    add("--workers", type=count, required=True, metavar="W", help="how many calls at once")
    add("--fixed", type=seconds, metavar="S", help="seconds that each call pays")
    add("--per-unit", type=seconds, metavar="S", help="seconds that each unit adds")
    add(
        "--from", dest="files", action="append", metavar="TRACES",
        help="take both from the calls in this file (- for standard input); several times",
    )  # fmt: skip
    add("--name", metavar="NAME", help="with --from: only calls of this name")
    add("--today", type=count, metavar="K", help="how many chunks there are now")
    add(
        "--contention", type=_number(float, 0, "a factor, 0 or more"), default=0.0, metavar="C",
        help="how much slower each other call makes a call: 0.1 is 10 %% (default: 0)",
    )  # fmt: skip
    add("--max-units-per-call", type=count, metavar="M", help="what one call can hold")
    add("--memory-per-call", type=_bytes, metavar="BYTES", help="or 700MiB, 1.5G (powers of 1024)")
    add(
        "--memory-limit", type=_bytes, metavar="BYTES",
        help="for all calls at once (default: what is available now)",
    )  # fmt: skip
    add("--requests-per-minute", type=count, metavar="R", help="one request a call")
    add("--json", action="store_true", help="print JSON, times in seconds")


def run(args: argparse.Namespace) -> int:
    """Predict, print."""
    recorded, memory_per_call = None, args.memory_per_call
    fixed_ns, per_unit_ns = _given(args)
    if args.files:
        calls = _chosen(args.files, args.name)
        recorded = _costs(calls)
        fixed_ns, per_unit_ns = recorded.fixed_ns, recorded.per_unit_ns
        memory_per_call = memory_peak(calls) if memory_per_call is None else memory_per_call
    work = Work(
        units=args.units,
        workers=args.workers,
        fixed_ns=fixed_ns,
        per_unit_ns=per_unit_ns,
        contention=args.contention,
    )
    found = plan(work, _ceilings(args, memory_per_call), today=args.today)
    if args.json:
        from llmphases.reports.plan_json import plan_json

        write(plan_json(found, recorded))
    else:
        from llmphases.reports.plan_text import plan_text

        write(plan_text(found, paper_of_stdout(), recorded))
    return OK if found.recommended is not None else FOUND


def _given(args: argparse.Namespace) -> tuple[float, float]:
    """Nanoseconds a call and a unit; nothing of that if they are to be read from files."""
    if args.files:
        if args.fixed is not None or args.per_unit is not None:
            raise UsageError("--from tells --fixed and --per-unit: give one or the other")
        return 0.0, 0.0
    if args.name is not None:
        raise UsageError("--name chooses among the calls of --from, which is not given")
    if args.fixed is None or args.per_unit is None:
        raise UsageError(
            "what a call costs cannot be told without --fixed and --per-unit, or --from TRACES; "
            "measure one call first (llmphases run -- COMMAND): it shows fixed : generation, and "
            "generation divided by the units of that call is --per-unit"
        )
    return args.fixed * 1e9, args.per_unit * 1e9


def _ceilings(args: argparse.Namespace, memory_per_call: float | None) -> Ceilings:
    if args.memory_limit is not None and memory_per_call is None:
        raise UsageError("--memory-limit says nothing without --memory-per-call")
    if args.today is not None and args.today > args.units:
        raise UsageError(f"--today {args.today}: {args.units} units make no more chunks than units")
    fewest = -(-args.units // (args.max_units_per_call or args.units))
    if max(fewest, args.today or 0, min(args.units, args.workers)) > _MOST_CHUNKS:
        raise UsageError(f"more than {_MOST_CHUNKS:,} chunks; take a larger unit, or fewer workers")
    limit = args.memory_limit
    if limit is None and memory_per_call is not None:
        limit = _available_memory()
    return Ceilings(
        max_units_per_call=args.max_units_per_call,
        memory_per_call=memory_per_call,
        memory_limit=limit,
        requests_per_minute=args.requests_per_minute,
    )


def _available_memory() -> int:
    import psutil

    return int(psutil.virtual_memory().available)


def _chosen(files: Sequence[str], name: str | None) -> Sequence[Call]:
    """The calls of one name: those of different kinds have no cost in common."""
    reading = read_traces(files)
    if str(reading.skipped):
        complain(f"skipped {reading.skipped}")
    if name is not None:
        return named(reading.calls, [name])
    # Others are around them, or inside: of those nobody says how large they are.
    chosen = [call for call in reading.calls if call.units is not None]
    names = sorted({call.name for call in chosen})
    if len(names) > 1:
        raise UsageError(f"calls of several names say their units; give --name: {names}")
    return chosen


def _costs(calls: Sequence[Call]) -> Costs:
    found = costs(calls)
    if not isinstance(found, NoFit):
        return found
    if not any(call.units for call in calls):
        raise UsageError(
            "no call says how many units it has; say so with call.units(n), or give --fixed and "
            "--per-unit as `llmphases report` shows them"
        )
    told = {
        Reason.TOO_FEW_CALLS: f"{found.calls} of them went well and took time that nothing tells "
        f"apart; it takes {FEWEST_CALLS}, of different sizes",
        Reason.UNITS_HARDLY_VARY: f"all {found.calls} of them have nearly as many units; record "
        "some that are smaller, or larger",
        Reason.NOT_A_LINE: f"of {found.calls} calls, larger ones do not take longer in step with "
        "their units",
    }
    raise UsageError(
        f"these calls do not tell fixed cost and cost per unit apart: {told[found.reason]}; or "
        f"measure one call whose answer is streamed"
    )


def _number(kind: Callable[[str], float], least: float, expected: str) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if least <= value <= _MOST:
            return value
        raise argparse.ArgumentTypeError(f"expected {expected}, not {text!r}")

    return number


def _bytes(text: str) -> float:
    found = _SIZE.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError(f"expected bytes, as 700000000 or 700MiB, not {text!r}")
    return float(found[1]) * 2.0 ** _POWERS.get((found[2] or "").lower(), 0)
