"""llama.cpp's own programs: text that streams; their timings go to stderr, in old form or new."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmphases.adapters.commands.argv import is_program
from llmphases.adapters.commands.numbers import ns_of_ms, number
from llmphases.adapters.commands.text_output import TextOutput
from llmphases.adapters.usage import count
from llmphases.calls import Scalar, Usage
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Event, Said
from llmphases.recorder.reported import ReportedTimes

_TIMING = re.compile(
    r"\b(load|sample|sampling|samplers|prompt eval|eval|total|unaccounted) time\s*="
    r"\s*(\d{1,15}(?:\.\d{1,9})?) ms(?:\s*/\s*(\d{1,15}) (?:tokens|runs))?"
)  # neither `inf` nor `nan`: a time that was not measured says nothing
_PROGRAMS = (
    "llama-cli",
    "llama-completion",
    "llama-gemma3-cli",
    "llama-llava-cli",
    "llama-mtmd-cli",
    "llama-run",
    "llama-simple",
)
_MODEL = re.compile(r"\.gguf$", re.IGNORECASE)


class _Timings:
    """Keeps the timings until all are there. `load time` overlaps others: it is never added."""

    __slots__ = ("_counts", "_ms")

    def __init__(self) -> None:
        self._ms: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def line(self, line: str) -> list[Event]:
        found = _TIMING.search(line)
        if found is not None:
            self._ms[found[1]] = float(found[2])
            if found[3] is not None:
                self._counts[found[1]] = int(found[3])
        return []

    def end(self) -> list[Event]:
        if not self._ms:
            return []
        raw: dict[str, Scalar] = {
            f"{name.replace(' ', '_')}_time_ms": value
            for name, ms in self._ms.items()
            if (value := number(ms)) is not None
        }
        reported = ReportedTimes(
            prefill_ns=ns_of_ms(self._ms.get("prompt eval")),
            generation_ns=ns_of_ms(self._ms.get("eval")),
            raw=raw,
        )
        return [Said(usage=self._usage() or None, reported=reported)]

    def _usage(self) -> Usage:
        # Old builds count each token they sample. New ones count the prompt's along with them;
        # then what was evaluated is the nearest, which is all but the last token.
        output = self._counts.get("sample", self._counts.get("eval"))
        return Usage(
            input_tokens=count(self._counts.get("prompt eval")), output_tokens=count(output)
        )


def _reader() -> TextOutput:
    timings = _Timings()
    return TextOutput(stderr=timings.line, at_end=timings.end)


def _generates(words: Sequence[str]) -> bool:
    # The oldest builds call the program just `main`.
    return is_program(words, *_PROGRAMS) or (
        is_program(words, "main") and any(_MODEL.search(word) for word in words)
    )


FORMATS = (
    CommandFormat(name="llama-cpp", matches=_generates, reader=_reader, is_text=True, streams=True),
)
