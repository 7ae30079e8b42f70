"""Calls out of files: OTLP JSON lines, and lines that `Call.to_json` wrote."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from llmphases.calls import Call
from llmphases.conventions import OURS
from llmphases.errors import RecordError, UnreadableSourceError
from llmphases.phases import Cost
from llmphases.sources.contract import Reading, Skipped, SpanKey, SpanRecord
from llmphases.sources.decode import decode
from llmphases.sources.otlp_json import (
    RESOURCE_SPANS,
    has_attribute_of,
    ids_of,
    raw_spans,
    span_record,
)
from llmphases.sources.runs import Runs

Progress = Callable[[int], None]
"""Told how many bytes have been read since it was told last."""

_FIELDS_OF_A_CALL = {"name", "start_unix_ns", "duration_ns", "exclusive_ns"}
_GZIP = b"\x1f\x8b"
"""How what gzip has compressed begins."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DAMAGED_SPAN = (KeyError, TypeError, ValueError, AttributeError)


class OtlpFiles:
    """One or several files as one source: a trace may be spread over lines and files.

    A file is a path or an open binary stream, plain or compressed by gzip. Nothing is kept but
    the spans of ours and, of the others, who is whose child. What is met twice (a file given
    twice, a batch sent again) counts once.
    """

    def __init__(
        self, files: Sequence[str | Path | BinaryIO], *, progress: Progress | None = None
    ) -> None:
        self._files = files
        self._progress = progress

    def read(self) -> Reading:
        """Every call in the files, in order of their start.

        Raises `UnreadableSourceError` if a file cannot be opened or read; damaged and foreign
        lines are counted and skipped.
        """
        collected = _Collected()
        for file in self._files:
            for line in self._lines(file):
                collected.add_line(line)
        return collected.reading()

    def _lines(self, file: str | Path | BinaryIO) -> Iterator[bytes]:
        name = str(file) if isinstance(file, (str, Path)) else getattr(file, "name", "the input")
        try:
            with _opened(file) as stream:
                for line in _plain(stream):
                    if self._progress is not None:
                        self._progress(len(line))
                    yield line
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise UnreadableSourceError(
                f"cannot read {name}: {reason}; expected a file of OTLP JSON lines, as "
                f"llmphases.configure() and the OpenTelemetry collector write them"
            ) from error


def _opened(file: str | Path | BinaryIO) -> AbstractContextManager[BinaryIO]:
    return Path(file).open("rb") if isinstance(file, (str, Path)) else nullcontext(file)


def _plain(stream: BinaryIO) -> Iterable[bytes]:
    """The lines of a stream, out of its compression if it has one."""
    peek = getattr(stream, "peek", None)
    if peek is None or peek(len(_GZIP))[: len(_GZIP)] != _GZIP:
        return stream
    return gzip.GzipFile(fileobj=stream)


class _Collected:
    """What the lines read so far hold."""

    def __init__(self) -> None:
        self._parse = _fastest_parser()
        self._spans: dict[SpanKey, SpanRecord] = {}
        self._parents: dict[SpanKey, SpanKey | None] = {}
        self._calls: list[Call] = []
        self._runs = Runs()
        self._lines = 0
        self._skipped = Skipped()

    def add_line(self, line: bytes) -> None:
        """Take in one line, whatever it holds."""
        text = line.removeprefix(_BYTE_ORDER_MARK).strip()
        if not text:
            return
        self._lines += 1
        try:
            value = self._parse(text)
        except (ValueError, RecursionError):
            self._skipped.damaged_lines += 1
            return
        if isinstance(value, dict) and RESOURCE_SPANS in value:
            self._add_request(value)
        elif isinstance(value, dict) and value.keys() >= _FIELDS_OF_A_CALL:
            self._add_call(text)
        else:
            self._skipped.foreign_lines += 1

    def _add_request(self, request: dict[str, Any]) -> None:
        try:
            spans = list(raw_spans(request))
        except (TypeError, AttributeError):
            self._skipped.damaged_lines += 1
            return
        for raw, scope, run in spans:
            try:
                self._add_span(raw, scope, run)
            except _DAMAGED_SPAN:
                self._skipped.damaged_spans += 1

    def _add_span(self, raw: dict[str, Any], scope: str, run: str) -> None:
        if has_attribute_of(raw, OURS):
            record = span_record(raw, scope)
            self._spans[record.key] = record
            if run:
                self._runs.add(record.trace_id, run)
            return
        trace_id, span_id, parent_id = ids_of(raw)
        parent = (trace_id, parent_id) if parent_id is not None else None
        self._parents[trace_id, span_id] = parent

    def _add_call(self, text: bytes) -> None:
        try:
            call = Call.from_json(text)
        except RecordError:
            self._skipped.damaged_lines += 1
            return
        if _is_sound(call):
            self._calls.append(call)
        else:
            self._skipped.damaged_lines += 1

    def reading(self) -> Reading:
        """The calls in all of it."""
        decoded = decode(self._spans, self._parents)
        self._skipped.foreign_spans = len(self._parents)
        self._skipped.damaged_spans += decoded.damaged_spans
        self._skipped.incomplete_calls = decoded.incomplete_calls
        calls = {(c.trace_id, c.span_id): c for c in decoded.calls}
        unknown = []
        for call in self._calls:
            if call.span_id is None:
                unknown.append(call)
            else:
                calls.setdefault((call.trace_id, call.span_id), call)
        in_order = sorted((*calls.values(), *unknown), key=lambda call: call.start_unix_ns)
        return Reading(
            calls=tuple(in_order),
            lines=self._lines,
            skipped=self._skipped,
            runs=self._runs.numbered(in_order),
        )


def _is_sound(call: Call) -> bool:
    """Whether what should be numbers are numbers, and they add up: nobody has checked yet."""
    whole: list[Any] = [call.start_unix_ns, call.duration_ns, call.unattributed_ns]
    whole += [call.requests, call.retries, *call.exclusive_ns.values()]
    perhaps: list[Any] = [call.first_token_ns, call.queued_ns]
    if call.usage is not None:
        perhaps += [call.usage.input_tokens, call.usage.output_tokens]
    whole += [value for value in perhaps if value is not None]
    if not all(isinstance(value, int) and value >= 0 for value in whole):
        return False
    name: Any = call.name
    costs = sum(call.cost_ns(cost) for cost in Cost)
    return isinstance(name, str) and costs == call.duration_ns


def _fastest_parser() -> Callable[[bytes], Any]:
    """`msgspec` where it is installed (extra `cli`): several times as fast as `json`."""
    try:
        import msgspec
    except ImportError:
        return json.loads
    return msgspec.json.decode
