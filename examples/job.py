"""Many calls that belong together: eight segments, two workers, four waves.

python examples/job.py
llmphases report llmphases-traces.jsonl
"""

from __future__ import annotations

import llmphases
from llmphases import llm_call, llm_job
from llmphases.testing import fake_llm


def place_boxes(segment: int) -> str:
    """One call for one segment: mostly waiting for the first token."""
    with llm_call("place_boxes", model="stand-in") as call:
        call.units(1)
        call.request_sent()
        text = ""
        for piece in fake_llm(f"segment {segment}", first_token_s=0.25, tokens=3, gap_s=0.01):
            call.first_token()
            text += piece
        call.last_token()
        call.usage(output_tokens=3)
    return text


if __name__ == "__main__":
    llmphases.configure()
    with llm_job("boxes", workers=2) as job:
        boxes = list(job.map(place_boxes, range(8)))
    print(f"{len(boxes)} segments done")
