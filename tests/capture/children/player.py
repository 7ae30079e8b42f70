"""Plays a capture of a program's output at its original pace.

Run under the program's own name, with its own options. `PLAYED` is the capture, one JSON record per
line; `BEGAN` is what `time.perf_counter_ns` said just before this process was spawned: each piece
is written as long after it as the capture says. `STAMPS` is where to note when each record's time
was in truth: just before its piece was written, and just after.
"""

import json
import os
import time
from pathlib import Path


def main(played, began, stamps):
    with Path(stamps).open("w", encoding="ascii") as file:
        for record in map(json.loads, Path(played).read_text("utf-8").splitlines()):
            ahead = began / 1e9 + record["t_ms"] / 1e3 - time.perf_counter()
            if ahead > 0:
                time.sleep(ahead)
            before = time.perf_counter_ns()
            if "exit" not in record:
                text = record["text"] if "text" in record else record["line"] + "\n"
                os.write(1 if record["stream"] == "out" else 2, text.encode())
            file.write(f"{before} {time.perf_counter_ns()}\n")
    os._exit(int(record["exit"]))


main(os.environ["PLAYED"], int(os.environ["BEGAN"]), os.environ["STAMPS"])
