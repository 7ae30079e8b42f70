"""Takes finished spans from the provider and leaves them in an outbox."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from llmphases.otel.outbox import Outbox
from llmphases.otel.waiting import suppress_instrumentation

logger = logging.getLogger("llmphases")

_CAPACITY = 16_384
"""About 50 MB: a finished span takes 3.1 kB. That is what a backend costs that does not answer. One
that does is sent 10,000 calls with five phases each, as fast as they can be made, with no more than
2,000 spans waiting; the SDK's own 2,048 may lose some, and it says so to nobody."""
_BATCH_SIZE = 512
_DELAY_MS = 5000
_LOCAL_DELAY_MS = 500
"""To a file soon: that costs one `write`, and a process that is killed loses what still waits."""


def make_outbox(
    deliver: Callable[[list[ReadableSpan]], object], *, is_local: bool = False
) -> Outbox[ReadableSpan]:
    """An outbox as the `OTEL_BSP_*` variables want it; `is_local`: for a file on this machine."""
    delay_ms = _LOCAL_DELAY_MS if is_local else _DELAY_MS
    capacity = _whole_number("OTEL_BSP_MAX_QUEUE_SIZE", _CAPACITY)
    batch_size = _whole_number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", _BATCH_SIZE)
    return Outbox(
        deliver,
        capacity=capacity,
        batch_size=min(batch_size, capacity),
        delay_s=_whole_number("OTEL_BSP_SCHEDULE_DELAY", delay_ms) / 1000,
        prepare=suppress_instrumentation,
    )


class OutboxProcessor(SpanProcessor):
    """Puts finished spans in an outbox; never blocks, unless asked to flush."""

    def __init__(self, outbox: Outbox[ReadableSpan], patience_s: float) -> None:
        self.outbox = outbox
        self._patience_s = patience_s

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.outbox.start()

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is not None and context.trace_flags.sampled:
            self.outbox.put(span)

    def shutdown(self) -> None:
        if not self.outbox.is_closing:  # else somebody has waited for it already
            self.outbox.close()
            self.outbox.wait(self._patience_s)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self.outbox.flush(timeout_millis / 1000)


def _whole_number(variable: str, default: int) -> int:
    """What a variable says; nonsense is told and has no effect, as the specification demands."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or int(text) == 0:
        logger.warning(
            "llmphases: %s=%r is no whole number above 0; %d is used", variable, text, default
        )
        return default
    return int(text)
