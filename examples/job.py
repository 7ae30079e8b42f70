"""Many calls that belong together: eight segments, two workers, four waves.

python examples/job.py
llmphases report llmphases-traces.jsonl
"""

from __future__ import annotations

from typing import Any

import llmphases
from llmphases import llm_call, llm_job
from llmphases.testing import fake_llm

MODEL = fake_llm(time_to_first_token_s=0.25, per_token_s=0.01, tokens=3)


def place_boxes(segment: int) -> str:
    """One call for one segment: mostly waiting for the first token."""
    with llm_call("place_boxes", model="stand-in") as call:
        call.units(1)
        call.request_sent()
        for chunk in MODEL.stream(f"segment {segment}"):
            if has_text(chunk):
                call.first_token()
        call.last_token()
        call.usage(chunk)
    return f"box {segment}"


def has_text(chunk: Any) -> bool:
    """Whether a chunk of OpenAI's chat API brings a piece of the answer."""
    return any(choice["delta"].get("content") for choice in chunk["choices"])


if __name__ == "__main__":
    llmphases.configure()
    with llm_job("boxes", workers=2) as job:
        boxes = list(job.map(place_boxes, range(8)))
    print(f"{len(boxes)} segments done")
