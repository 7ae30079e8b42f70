"""A finished span of another instrumentation, as a call of ours with its phases: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry.trace import NonRecordingSpan, StatusCode

from llmphases import conventions as names
from llmphases.calls import AttributeValue, Call
from llmphases.observers import OpenCall, OpenPhase
from llmphases.otel.foreign_dialects import told
from llmphases.phases import Cost, Origin, Phase

FIRST_CHUNK: Final = "first_chunk"
"""The `llmphases.first_token.rule` of nearly all: they stamp the first chunk, even an empty one."""
FIRST_TOKEN: Final = "first_token"
_STAMP_TOKENS: Final = frozenset({"com.anthropic.sdk.python"})
"""Scopes that wait for a chunk with output in it."""
_DEFAULT_OPERATION: Final = "chat"
_MODELS: Final = (names.REQUEST_MODEL, "llm.model_name", "langfuse.observation.model.name")


@dataclass(frozen=True, slots=True)
class Piece:
    """One phase of it, in nanoseconds since the epoch."""

    phase: Phase
    start_ns: int
    end_ns: int
    error_type: str | None = None


class ForeignCall:
    """The call that a finished span stands for."""

    def __init__(self, span: Any, *, is_nested: bool) -> None:
        self._span = span
        self._is_nested = is_nested
        self._told = told(span)
        self._said: Mapping[str, Any] = span.attributes or {}
        self.start_ns = int(span.start_time)
        self.end_ns = int(span.end_time)

    @property
    def span_context(self) -> Any:
        """Whose span it is."""
        return self._span.get_span_context()

    @property
    def error_type(self) -> str | None:
        """Why it failed; None if it did not."""
        if self._span.status.status_code is not StatusCode.ERROR:
            return None
        return self._text(names.ERROR_TYPE) or names.OTHER_ERROR

    def pieces(self) -> list[Piece]:
        """Its phases in order; what comes after its last chunk is in none."""
        output = self._told.output
        if output is None:
            error_type = self.error_type
            phase = Phase.INFERENCE if error_type is None else Phase.RETRY
            return [Piece(phase, self.start_ns, self.end_ns, error_type)]
        return [
            Piece(Phase.TIME_TO_FIRST_TOKEN, self.start_ns, output.first_ns),
            Piece(Phase.GENERATION, output.first_ns, output.last_ns),
        ]

    def phase(self, piece: Piece) -> OpenPhase:
        """A phase as its span tells it, with the mark of who says so."""
        phase = OpenPhase(piece.phase, piece.start_ns, None, offset_ns=0)
        phase.request = 0
        phase.attributes = self._marks()
        if self._told.output is not None:
            phase.origin = Origin.REPORTED
        return phase

    def _marks(self) -> dict[str, AttributeValue]:
        marks: dict[str, AttributeValue] = {}
        if self._told.dialect is not None:
            marks[names.TOLD_BY] = self._told.dialect
        if self._told.output is not None:
            is_token = self._span.instrumentation_scope.name in _STAMP_TOKENS
            marks[names.FIRST_TOKEN_RULE] = FIRST_TOKEN if is_token else FIRST_CHUNK
        for name, seconds in self._told.distrusted.items():
            marks[names.REPORTED_PREFIX + name] = seconds
            marks[names.REPORTED_TRUSTED] = False
        return marks

    def opened(self) -> OpenCall:
        """The call as it began, for whoever counts it."""
        call = OpenCall(self._span.name, self.start_ns, 0, self.start_ns // 1000)
        call.operation = self._text(names.OPERATION_NAME) or _DEFAULT_OPERATION
        call.nested = self._is_nested
        call.state = NonRecordingSpan(self.span_context)
        return call

    def record(self) -> Call:
        """What happened in it. Its tokens are told where they stand."""
        times = {piece.phase: piece.end_ns - piece.start_ns for piece in self.pieces()}
        duration_ns = self.end_ns - self.start_ns
        return Call(
            name=self._span.name,
            start_unix_ns=self.start_ns,
            duration_ns=duration_ns,
            exclusive_ns=times,
            outside_inner_ns=times,
            unattributed_ns=duration_ns - sum(times.values()),
            unattributed_cost=Cost.FIXED,
            operation=self._text(names.OPERATION_NAME) or _DEFAULT_OPERATION,
            provider=self._text(names.PROVIDER_NAME),
            request_model=next(filter(None, map(self._text, _MODELS)), None),
            nested=self._is_nested,
            error_type=self.error_type,
        )

    def _text(self, key: str) -> str | None:
        value = self._said.get(key)
        return value if isinstance(value, str) and value else None
