"""One decorator on a function, and names for the parts you know.

python examples/decorator.py
llmphases report llmphases-traces.jsonl
"""

from __future__ import annotations

from typing import Any

import llmphases
from llmphases import post_processing, prompt_build, retrieval, traced_llm_call, traced_stream
from llmphases.testing import fake_llm

MODEL = fake_llm(time_to_first_token_s=0.3, per_token_s=0.02, tokens=20)
DOCUMENTS = {"boxes": "A box is four numbers.", "segments": "A segment is a part of a video."}


@retrieval
def search(question: str) -> list[str]:
    """What we know about the words of a question."""
    return [text for word, text in DOCUMENTS.items() if word in question]


@traced_llm_call(model="stand-in")
def answer(question: str) -> str:
    """Ask the model with what we found."""
    documents = search(question)
    with prompt_build():
        prompt = "\n".join([*documents, question])
    text = "".join(map(text_of, traced_stream(MODEL.stream(prompt))))
    with post_processing():
        return text.strip().capitalize()


def text_of(chunk: Any) -> str:
    """What a chunk of OpenAI's chat API adds to the answer."""
    return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])


if __name__ == "__main__":
    llmphases.configure()
    print(answer("Where do the boxes go in these segments?"))
