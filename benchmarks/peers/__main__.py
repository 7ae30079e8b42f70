"""Cost beside other instrumentations of OpenAI's client, in one run: `python benchmarks/peers`.

Installs each of them, once, in an environment of its own under build/peers.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import imports
from environments import environment_of
from measure import measure
from table import OURS, PEERS
from tables import as_json, as_markdown


def main() -> int:
    """Measure who was asked for; 2 if there is no such peer."""
    options = _options()
    known = {peer.name: peer for peer in PEERS}
    if unknown := [name for name in options.only if name not in known]:
        print(f"no such peer: {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = [known[name] for name in dict.fromkeys((OURS, *(options.only or known)))]
    environments = [environment_of(peer) for peer in chosen]
    load = os.getloadavg()[0]
    found = measure(environments, turns=options.turns, rounds=options.rounds)
    print("starts of programs", file=sys.stderr)
    starts = imports.measured(environments[0].python, options.starts)
    loads = load, os.getloadavg()[0]
    if options.json:
        print(json.dumps(as_json(found, loads) | {"instrument_s": starts}, indent=2))
    else:
        print(as_markdown(found, loads))
        print("\n".join(_starts(starts)))
    return 0


def _starts(starts: Any) -> list[str]:
    lines = ["", "| `instrument()` after `import` | adds | half of them | put off | loads |"]
    lines.append("| --- | ---: | ---: | ---: | --- |")
    for name, ((amount, low, high), (later, *_), modules) in starts.items():
        half = f"{low * 1e3:.1f} to {high * 1e3:.1f}"
        loads = ", ".join(modules) or "nothing"
        lines.append(
            f"| {name} | {amount * 1e3:.1f} ms | {half} | {later * 1e3:.0f} ms | {loads} |"
        )
    return lines


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="benchmarks/peers", description=__doc__)
    parser.add_argument("only", nargs="*", help="beside which; default: all")
    parser.add_argument("--turns", type=int, default=3, help="how often processes start anew")
    parser.add_argument("--rounds", type=int, default=30, help="rounds of a turn")
    parser.add_argument("--starts", type=int, default=15, help="interpreters of each kind")
    parser.add_argument("--json", action="store_true", help="everything, in ns")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
