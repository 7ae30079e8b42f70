"""Plays a capture of a program's output at its original pace.

`python player.py CAPTURE BEGAN`: BEGAN is what `time.perf_counter_ns` said when this process was
about to be spawned; each line is written as long after it as the capture says. The last thing on
stderr is how late the latest of them was, in milliseconds.
"""

import json
import os
import sys
import time
from pathlib import Path


def main(path, began):
    late = 0.0
    records = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    for record in records:
        ahead = began / 1e9 + record["t_ms"] / 1e3 - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        if "line" in record:
            late = max(late, time.perf_counter() - began / 1e9 - record["t_ms"] / 1e3)
            os.write(1 if record["stream"] == "out" else 2, record["line"].encode() + b"\n")
    os.write(2, f"\nlate {late * 1e3:.1f}\n".encode())
    os._exit(int(records[-1].get("exit", 0)))


main(sys.argv[1], int(sys.argv[2]))
