"""The span processor by which calls hear of the spans that others draw in them."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor

from llmphases.conventions import SCOPE
from llmphases.observers import never_raises
from llmphases.otel.foreign_watch import note_start

_watched: WeakSet[Any] = WeakSet()


class ForeignWatcher(SpanProcessor):
    """Only looks at spans when they begin; exports nothing, and holds nothing up."""

    def __init__(self) -> None:
        self._ours: Any = None
        """The scope of our own spans: all of one tracer share it, and most spans here are ours."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """A span begins, maybe inside a call of ours."""
        scope = getattr(span, "instrumentation_scope", None)
        if scope is not None and scope is self._ours:
            return
        if scope is not None and scope.name == SCOPE:
            self._ours = scope
        else:
            note_start(span, parent_context)


@never_raises
def watch(provider: Any) -> None:
    """Have a provider of the SDK tell of its spans; a second time changes nothing."""
    if provider not in _watched:
        _watched.add(provider)
        provider.add_span_processor(ForeignWatcher())
