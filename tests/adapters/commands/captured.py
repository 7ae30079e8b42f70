"""Output of real programs, each line with its time since the start, and what formats make of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from llmphases.adapters.commands.registry import format_for
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.recorder.child_events import Answered, Ready, RequestSeen, Said, Token, ToolResult

DATA = Path(__file__).parent / "data"
STREAMS = {"out": STDOUT, "err": STDERR}
TEXT = "text"


def lines_of(name):
    """(ms since the start, stream, line) for each line of a capture."""
    records = (json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines())
    return [
        (record["t_ms"], STREAMS[record["stream"]], record["line"].encode())
        for record in records
        if "line" in record
    ]


def stamped(lines, format_name):
    """(ms, event) for each event; TEXT for each line of stdout that is text to the format."""
    reader = format_for([], format_name).reader()
    found = []
    for at, stream, line in lines:
        events = reader.line(stream, line)
        found += [(at, TEXT)] if events is None else [(at, event) for event in events]
    return found + [(None, event) for event in reader.end()]


def read(objects, format_name):
    """The events of objects printed one per line, without their times."""
    lines = [(None, STDOUT, json.dumps(one).encode()) for one in objects]
    return [event for _, event in stamped(lines, format_name)]


def moments(found):
    """The events that happen at a time, without what is said beside them."""
    return [(at, event) for at, event in found if not isinstance(event, Said)]


def said(found):
    """Only what is said."""
    events = [event[1] if isinstance(event, tuple) else event for event in found]
    return [event for event in events if isinstance(event, Said)]


def raw_reads(name):
    """(ms, stream, bytes) of a capture whose reads were written down as text."""
    pattern = re.compile(r"\s*([\d.]+) (?:(out|err) )?(b'.*'|[^b].*)$")
    found = []
    for line in (DATA / name).read_text("utf-8").splitlines():
        match = pattern.match(line)
        if match and not match[3].startswith(("eof", "rc=")):
            text = match[3]
            data = text[2:-1].replace("\\n", "\n") if text.startswith("b'") else text
            found.append((float(match[1]), STREAMS[match[2] or "out"], data.encode()))
    return found


__all__ = [
    "DATA", "TEXT", "Answered", "Ready", "RequestSeen", "Said", "Token", "ToolResult",
    "lines_of", "moments", "raw_reads", "read", "said", "stamped",
]  # fmt: skip
