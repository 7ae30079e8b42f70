"""Chunks that are text or bytes: a program's own text, or an HTTP body as it comes in."""

from __future__ import annotations

import json
import re
from typing import Any

from llmphases.adapters.contract import (
    ANSWER,
    NOT_A_TOKEN,
    ODD,
    ChunkShape,
    Facts,
)
from llmphases.adapters.dicts import shape_of_dict
from llmphases.adapters.plain_dicts import PLAIN_DICT

_FIELD = re.compile(
    r"(?:^|[\r\n])(?:data: ?|event: ?\S+ ?$|id: ?\S*$|retry: ?\d+$|:)", re.MULTILINE
)
_JSON_LINE = re.compile(r"\s*\{\s*\"")
_LINE_END = re.compile(r"\r\n|\r|\n")  # not splitlines: JSON may hold U+2028 as it is


def is_text(chunk: Any) -> bool:
    """Whether a chunk is a str, bytes or bytearray, asked of its type alone."""
    return issubclass(type(chunk), (str, bytes, bytearray))


def is_wire(chunk: str | bytes | bytearray) -> bool:
    """Whether a stream that begins like this is server-sent events or lines of JSON.

    A blank beginning tells nothing, and is taken for the wire: there, text that looks like no
    event still counts as text.
    """
    text = _decoded(chunk[:_ENOUGH])
    return not text.strip() or _is_marked(text)


_ENOUGH = 512  # of a body that comes in one piece, the beginning tells


def _is_marked(text: str) -> bool:
    return _FIELD.search(text) is not None or _JSON_LINE.match(text) is not None


def _decoded(chunk: str | bytes | bytearray) -> str:
    return chunk if isinstance(chunk, str) else chunk.decode("utf-8", "replace")


def _kind_on_the_wire(chunk: str | bytes | bytearray) -> int:
    try:
        text = _decoded(chunk)
        if text.count("\n", 0, -2) == 0 and text.startswith("data:"):  # one event, as most come
            return _kind_of_line(text)
        if not _is_marked(text):  # the end of an event that was cut in two, most likely with text
            return ANSWER if text.strip() else NOT_A_TOKEN
        found = NOT_A_TOKEN
        for line in _LINE_END.split(text):
            kind = _kind_of_line(line)
            if kind == ANSWER:
                return ANSWER
            found = found or kind
    except ODD:
        return NOT_A_TOKEN
    return found


def _kind_of_line(line: str) -> int:
    if line.startswith("data:"):
        payload = line[5:].strip()
        message = _json_of(payload)
        if message is not None:
            return shape_of_dict(message).kind(message)
        # JSON that does not parse was cut in two: the rest of it counts, with the next chunk.
        return NOT_A_TOKEN if payload in {"", "[DONE]"} or payload[0] in "{[" else ANSWER
    if line.lstrip().startswith("{"):
        message = _json_of(line)
        shape = None if message is None else shape_of_dict(message)
        if message is None or shape is None or shape is PLAIN_DICT:
            return ANSWER  # a model that writes JSON
        return shape.kind(message)
    return NOT_A_TOKEN  # other fields, comments, blank lines


def _facts_on_the_wire(chunk: str | bytes | bytearray) -> Facts | None:
    said: Facts | None = None
    for line in _LINE_END.split(_decoded(chunk)):
        message = _json_of(line.removeprefix("data:"))
        found = None if message is None else shape_of_dict(message).facts(message)
        said = found if said is None else said.then(found)
    return said


def _json_of(text: str) -> dict[str, Any] | None:
    text = text.strip()
    if not text.startswith("{"):
        return None
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _nothing(_: Any) -> None:
    return None


TEXT = ChunkShape(name="text", matches=is_text, kind=bool, facts=_nothing)
"""What a program yields as text: all of it that is not empty. Its `kind` is the built-in `bool`."""

WIRE = ChunkShape(name="wire", matches=is_text, kind=_kind_on_the_wire, facts=_facts_on_the_wire)
"""Raw server-sent events or JSON lines; several in one chunk count if any of them is a token."""
