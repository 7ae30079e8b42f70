"""Runs in the environment of a peer: asks the model as it is told, and says what that cost.

`runner.py SWITCH URL`; then a word a line on stdin, an answer in JSON a line on stdout.

- `prove`: one stream; how much was recorded, and which names of a first token are in it.
- `measure`: one round, in nanoseconds: `thread` is the CPU time of the thread that asks, median
  of the repetitions; `process` that of all threads, their sending to the sink included, the mean.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable
from statistics import median
from time import process_time_ns, thread_time_ns
from typing import Any

from openai import OpenAI
from sinks import Sink
from switches import SWITCHES

FEW, MANY = 1, 401
"""Chunks with text in a short and in a long stream."""
REPEATED = {"call": 5, "few": 5, "many": 2}
"""A round is short, so that what else the machine does meanwhile hits both sides of it."""
QUESTION: Any = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Boxes?"}]}


def call(client: Any) -> None:
    client.chat.completions.create(**QUESTION)


def stream(client: Any, items: int) -> None:
    asked = client.chat.completions.create(
        stream=True,
        stream_options={"include_usage": True},
        extra_headers={"x-items": str(items)},
        **QUESTION,
    )
    deque(asked, maxlen=0)


def cost(work: Callable[[], None], times: int, sink: Sink) -> dict[str, float]:
    """What `work` costs once."""
    in_thread = []
    whole = process_time_ns()
    for _ in range(times):
        start = thread_time_ns()
        work()
        in_thread.append(thread_time_ns() - start)
    sink.flush()
    return {"thread": median(in_thread), "process": (process_time_ns() - whole) / times}


def measured(client: Any, sink: Sink) -> dict[str, dict[str, float]]:
    """One round: per call, per short stream, and per chunk by the slope to a long one."""
    works = {
        "call": lambda: call(client),
        "few": lambda: stream(client, FEW),
        "many": lambda: stream(client, MANY),
    }
    costs = {name: cost(work, REPEATED[name], sink) for name, work in works.items()}
    many, few = costs.pop("many"), costs["few"]
    return costs | {"chunk": {way: (many[way] - few[way]) / (MANY - FEW) for way in few}}


def proof(client: Any, sink: Sink) -> dict[str, Any]:
    """What one stream leaves in the sink."""
    sink.flush()
    sink.records, sink.is_proving = 0, True
    stream(client, FEW)
    sink.flush()
    sink.is_proving = False
    return sink.proof()


def main(switch: str, url: str) -> None:
    """Answer until stdin ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what a peer prints is no answer
    sink = Sink()
    client = SWITCHES[switch](sink, lambda: OpenAI(api_key="none", base_url=url, max_retries=0))
    for _ in range(3):
        call(client)
        stream(client, MANY)
    words = {"prove": proof, "measure": measured}
    for word in sys.stdin:
        print(json.dumps(words[word.strip()](client, sink)), file=answers, flush=True)
    answers.flush()
    os._exit(0)  # whatever a peer still wants to send


if __name__ == "__main__":
    main(*sys.argv[1:])
