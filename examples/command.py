"""A command-line tool that asks a model: what its start costs, and what its answer.

python examples/command.py
llmphases report llmphases-traces.jsonl
"""

from __future__ import annotations

import sys

import llmphases
from llmphases import post_processing, run_command, traced_llm_call

TOOL = [sys.executable, "-m", "llmphases.fake_cli", "--startup-s", "0.2", "--prompt-s", "0.3"]


@traced_llm_call
def place_boxes(segments: list[str]) -> dict[str, str]:
    """One call of the tool for all these segments; they are what it reads on its stdin."""
    answer = run_command(TOOL, input="\n".join(segments), check=True).stdout
    with post_processing():
        return dict(line.split(": ", 1) for line in answer.splitlines())


if __name__ == "__main__":
    llmphases.configure()
    for segment, box in place_boxes(["intro", "title", "credits"]).items():
        print(f"{segment}: {box}")
