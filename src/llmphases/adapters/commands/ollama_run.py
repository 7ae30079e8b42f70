"""`ollama run`: text that streams; `--verbose` writes the server's times to stderr."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmphases.adapters.commands.argv import is_program, subcommand
from llmphases.adapters.commands.text_output import TextOutput
from llmphases.adapters.usage import count
from llmphases.calls import Usage
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Event, Said
from llmphases.recorder.reported import ReportedTimes

_DURATION = re.compile(r"(total|load|prompt eval|eval) duration:\s*(\S+)\s*$")
_COUNT = re.compile(r"(prompt eval|eval) count:\s*(\d{1,18}) token")
_LARGEST = 2**63 - 1

_PART = re.compile(r"(\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})(ns|us|µs|μs|ms|s|m|h)")
_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,  # the other letter that looks like it
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}


def ns_of_duration(text: str) -> int | None:
    """A duration as Go writes it, `1m2.5s` or `1.334875ms`, in nanoseconds; None if it is none."""
    whole, at = 0.0, 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            return None
        whole += float(part[1]) * _UNITS_NS[part[2]]
        at = part.end()
    return round(whole) if text and whole <= _LARGEST else None


class _Verbose:
    """Keeps what `--verbose` says until all is said: a line that would say 0 is left out."""

    __slots__ = ("_counts", "_durations")

    def __init__(self) -> None:
        self._durations: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def line(self, line: str) -> list[Event]:
        if found := _DURATION.search(line):
            duration = ns_of_duration(found[2])
            if duration is not None:
                self._durations[found[1]] = duration
        elif found := _COUNT.search(line):
            self._counts[found[1]] = int(found[2])
        return []

    def end(self) -> list[Event]:
        if not self._durations and not self._counts:
            return []
        usage = Usage(
            input_tokens=count(self._counts.get("prompt eval")),
            output_tokens=count(self._counts.get("eval")),
        )
        return [Said(usage=usage or None, provider="ollama", reported=self._reported())]

    def _reported(self) -> ReportedTimes | None:
        said = self._durations
        if not said:
            return None
        return ReportedTimes(
            queue_ns=said.get("load"),
            prefill_ns=said.get("prompt eval"),
            generation_ns=said.get("eval"),
            # As the server's own answers have them, in nanoseconds.
            raw={f"{name.replace(' ', '_')}_duration": value for name, value in said.items()},
        )


def _reader() -> TextOutput:
    verbose = _Verbose()
    return TextOutput(stderr=verbose.line, at_end=verbose.end)


def _runs(words: Sequence[str]) -> bool:
    return is_program(words, "ollama") and subcommand(words) == "run"


FORMATS = (CommandFormat(name="ollama", matches=_runs, reader=_reader, is_text=True, streams=True),)
