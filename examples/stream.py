"""A stream that is handed out: time in the model and time in the reader are told apart.

python examples/stream.py
llmphases report llmphases-traces.jsonl
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import llmphases
from llmphases import traced_llm_call
from llmphases.testing import fake_llm

MODEL = fake_llm(time_to_first_token_s=0.2, per_token_s=0.02, tokens=12)


@traced_llm_call(model="stand-in")
def tell(prompt: str) -> Iterator[str]:
    """A generator; a function that returns a client's stream works the same."""
    for chunk in MODEL.stream(prompt):
        yield text_of(chunk)


def text_of(chunk: Any) -> str:
    """What a chunk of OpenAI's chat API adds to the answer; nothing, for an empty one."""
    return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])


def draw(piece: str) -> None:
    """A slow reader: what it takes is `transmission`, not `generation`."""
    print(piece, end="", flush=True)
    threading.Event().wait(0.03)


if __name__ == "__main__":
    llmphases.configure()
    for piece in tell("Tell me a story."):
        draw(piece)
    print()
