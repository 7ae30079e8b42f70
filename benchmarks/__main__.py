"""Runs every `bench_*.py` beside this file and prints one table: `python benchmarks`.

All scripts run several times in turn, so that a busy minute hits all rows and not one; ratios are
taken between rows of the same turn.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import pyperf

HERE = Path(__file__).parent
Turn = dict[str, pyperf.Benchmark]
_UNITS = {"byte": ((2**20, "MiB"), (2**10, "KiB"), (1, "B")), "integer": ((1, ""),)}
_SECONDS = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def main() -> int:
    """Run what was asked for; 2 if there is no such script."""
    options = _options()
    scripts = sorted(path for name in options.only for path in HERE.glob(f"bench_{name}.py"))
    if not scripts:
        print(f"no bench_*.py is called {' or '.join(options.only)}", file=sys.stderr)
        return 2
    load_before = os.getloadavg()
    turns = [_turn(scripts, number + 1, options) for number in range(options.turns)]
    machine = _machine(load_before)
    rows = [_row(name, turns) for name in turns[0]]
    if options.json:
        print(json.dumps({"machine": machine, "rows": rows}, indent=2))
    else:
        _print(machine, rows)
    return 0


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="benchmarks", description="What tracing costs.")
    parser.add_argument(
        "only", nargs="*", default=["*"], help="calls, client, memory ...; default: all"
    )
    parser.add_argument("--turns", type=int, default=3, help="how often every script runs")
    parser.add_argument("--json", action="store_true", help="figures in seconds, bytes, pieces")
    return parser.parse_args()


def _turn(scripts: list[Path], number: int, options: Any) -> Turn:
    found: Turn = {}
    for script in scripts:
        print(f"turn {number} of {options.turns}: {script.stem}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "results.json"
            command = [sys.executable, str(script), "--quiet", "--output", str(file)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            suite = pyperf.BenchmarkSuite.load(str(file))
        found |= {benchmark.get_name(): benchmark for benchmark in suite.get_benchmarks()}
    return found


def _row(name: str, turns: list[Turn]) -> dict[str, Any]:
    said = turns[0][name].get_metadata()
    floor = said.get("floor")
    ratios = [turn[name].median() / turn[floor].median() for turn in turns if floor in turn]
    ratio = median(ratios) + said["is_on_top"] if ratios else None
    value = median(v for turn in turns for v in turn[name].get_values())
    judged = ratio if said["target_is_ratio"] else value
    target = said.get("target")
    return {
        "name": name,
        "unit": said["unit"],
        "measured": value,
        "least": min(v for turn in turns for v in turn[name].get_values()),
        "target": target,
        "target_is_ratio": bool(said["target_is_ratio"]),
        "floor": floor,
        "ratio": ratio,
        "is_met": None if target is None or judged is None else judged <= target,
    }


def _machine(load_before: tuple[float, float, float]) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load_at_start": round(load_before[0], 1),
        "load_at_end": round(os.getloadavg()[0], 1),
    }


def _print(machine: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    cells = [("", "measured", "least", "target", "", "ratio", "to"), *map(_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for name, *rest in cells:
        right = (text.rjust(width) for text, width in zip(rest[:-1], widths[1:-1], strict=True))
        print(name.ljust(widths[0]), *right, rest[-1], sep="  ")
    print(
        f"\nPython {machine['python']} on {machine['system']}, {machine['cores']} cores; "
        f"load {machine['load_at_start']} at the start, {machine['load_at_end']} at the end"
    )
    if machine["load_at_start"] > 0.5:
        print("The machine was busy: the ratios hold, the absolute figures are too high.")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    target, ratio, unit = row["target"], row["ratio"], row["unit"]
    met = {None: "", True: "met", False: "missed"}[row["is_met"]]
    limit = "" if target is None else _amount(target, unit)
    if row["target_is_ratio"]:
        limit = f"{target:g} x"
    return (
        row["name"],
        _amount(row["measured"], unit),
        _amount(row["least"], unit),
        limit,
        met,
        "" if ratio is None else f"{ratio:.2g} x" if ratio < 0.1 else f"{ratio:.2f} x",
        row["floor"] or "",
    )


def _amount(value: float, unit: str) -> str:
    steps = _UNITS.get(unit, _SECONDS)
    size, name = next((step for step in steps if value >= step[0]), steps[-1])
    return f"{value / size:.3g} {name}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
