"""A stream that is handed out: time in the model and time in the reader are told apart.

python examples/stream.py
llmphases report llmphases-traces.jsonl
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import llmphases
from llmphases import traced_llm_call
from llmphases.testing import fake_llm


@traced_llm_call(model="stand-in")
def tell(prompt: str) -> Iterator[str]:
    """A generator; a function that returns a client's stream works the same."""
    yield from fake_llm(prompt, first_token_s=0.2, tokens=12, gap_s=0.02)


def draw(piece: str) -> None:
    """A slow reader: what it takes is `transmission`, not `generation`."""
    print(piece, end="", flush=True)
    threading.Event().wait(0.03)


if __name__ == "__main__":
    llmphases.configure()
    for piece in tell("Tell me a story."):
        draw(piece)
    print()
