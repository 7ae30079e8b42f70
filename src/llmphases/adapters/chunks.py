"""Which shape a chunk has: the registry of all shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llmphases.adapters.anthropic_messages import ANTHROPIC
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, ODD, ChunkShape, Facts
from llmphases.adapters.dicts import ANY_DICT
from llmphases.adapters.google_contents import GOOGLE_GENAI
from llmphases.adapters.langchain_messages import LANGCHAIN
from llmphases.adapters.llm_events import LLM
from llmphases.adapters.mistral_chunks import MISTRAL
from llmphases.adapters.ollama_chunks import OLLAMA_CHAT, OLLAMA_GENERATE
from llmphases.adapters.openai_chat import OPENAI_CHAT, OPENAI_CHAT_EVENT
from llmphases.adapters.openai_responses import OPENAI_RESPONSES
from llmphases.adapters.text import TEXT, WIRE, is_wire
from llmphases.observers import guard, never_raises

UNKNOWN = ChunkShape(
    name="unknown",
    matches=lambda _: True,
    kind=lambda _: NOT_A_TOKEN,
    facts=lambda _: None,
)
"""What nothing here knows: never a token, so that no first token is made up."""


def _guarded(shape: ChunkShape) -> ChunkShape:
    # The facts only: `kind` is asked for every chunk, and looks after itself.
    return replace(shape, facts=never_raises(shape.facts))


_KNOWN = tuple(
    map(
        _guarded,
        (
            OPENAI_CHAT,
            OPENAI_RESPONSES,
            OPENAI_CHAT_EVENT,
            ANTHROPIC,
            GOOGLE_GENAI,
            OLLAMA_CHAT,
            OLLAMA_GENERATE,
            MISTRAL,
            LANGCHAIN,
            LLM,
            ANY_DICT,
            TEXT,
        ),
    )
)
"""One row per kind of object; the first that matches. Dicts have rows of their own in `dicts`."""
_TEXT = _KNOWN[-1]
_WIRE = _guarded(WIRE)

# By identity, since a metaclass may hash with code of its own; the class is held, so that no other
# one can get its place in memory.
_by_type: dict[int, tuple[type, ChunkShape]] = {}
_MOST_TYPES = 512  # a program that makes classes as it goes must not make this grow with it


def shape_of(chunk: Any) -> ChunkShape:
    """The shape that tells tokens from other chunks, for a chunk and the ones after it.

    Decided by type, and remembered. Of text and bytes it is the chunk itself that decides whether
    this is text or an HTTP body, so ask with the first one of a stream.
    """
    known = _by_type.get(id(type(chunk)))
    shape = _remember(type(chunk), _find(chunk)) if known is None else known[1]
    return shape if shape is not _TEXT else _of_text(chunk)


def _find(chunk: Any) -> ChunkShape:
    return next((shape for shape in _KNOWN if shape.matches(chunk)), UNKNOWN)


def _remember(kind: type, shape: ChunkShape) -> ChunkShape:
    if len(_by_type) >= _MOST_TYPES:
        _by_type.clear()
    _by_type[id(kind)] = (kind, shape)
    return shape


def _of_text(chunk: Any) -> ChunkShape:
    try:
        return _WIRE if is_wire(chunk) else _TEXT
    except ODD:  # a subclass of str with a mind of its own
        return _TEXT


def shape_from_predicate(is_token: Callable[[Any], bool]) -> ChunkShape:
    """A shape whose tokens a program tells by a function of its own; each is an answer.

    A function that raises is logged once and not asked again: from then on nothing is a token.
    Facts are still read from chunks that are known.
    """

    def kind(chunk: Any) -> int:
        return ANSWER if is_token(chunk) else NOT_A_TOKEN

    def facts(chunk: Any) -> Facts | None:
        return shape_of(chunk).facts(chunk)

    return ChunkShape(
        name="predicate",
        matches=lambda _: True,
        kind=guard(kind, NOT_A_TOKEN, "is_token"),
        facts=facts,
    )
