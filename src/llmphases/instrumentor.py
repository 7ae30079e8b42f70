"""What `opentelemetry-instrument` finds by its entry point: the split without a line of code."""

from __future__ import annotations

import atexit
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from llmphases.adapters.registry import Instrumented, instrument, uninstrument
from llmphases.capture import current
from llmphases.logs import logger
from llmphases.observers import never_raises
from llmphases.wiring import default_wiring

if TYPE_CHECKING:
    from llmphases.otel.foreign_spans import PhaseSplitter


class LlmphasesInstrumentor:
    """Hooks into everything that is installed, and splits what other instrumentations tell.

    It has the methods of OpenTelemetry's `BaseInstrumentor` and is none by descent: a program that
    does not use `opentelemetry-instrument` need not have that package. What it could not hook into
    is logged, by the logger that has a line for each call; no fault of ours reaches the program.
    """

    _splitter: PhaseSplitter | None = None

    @never_raises
    def instrument(
        self, *, tracer_provider: Any = None, meter_provider: Any = None, **_others: Any
    ) -> None:
        """Hook in. Spans and metrics go to the given providers, else to the global ones."""
        if current.is_disabled():
            return
        if tracer_provider is not None or meter_provider is not None:
            current.wire(default_wiring(tracer_provider, meter_provider))
        current.wired()  # now, and not within the first call
        done = instrument()
        atexit.register(current.close_open_calls)  # before the providers end: they were there first
        self._split_others(tracer_provider, meter_provider)
        logger.info("%s", _line_of(done))

    @never_raises
    def uninstrument(self, **_others: Any) -> None:
        """Take the hooks out again. What is open is timed to its end."""
        uninstrument()
        atexit.unregister(current.close_open_calls)
        splitter = LlmphasesInstrumentor._splitter
        if splitter is not None:
            LlmphasesInstrumentor._splitter = None
            splitter.shutdown()

    def instrumentation_dependencies(self) -> Collection[str]:
        """Nothing has to be there: what is not is skipped."""
        return ()

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        """Whether it is in force."""
        return LlmphasesInstrumentor._splitter is not None

    def _split_others(self, tracer_provider: Any, meter_provider: Any) -> None:
        from llmphases.otel.foreign_spans import split_spans_of  # noqa: PLC0415  # loads the SDK

        if LlmphasesInstrumentor._splitter is None:
            LlmphasesInstrumentor._splitter = split_spans_of(tracer_provider, meter_provider)


def _line_of(done: Instrumented) -> str:
    line = f"hooked into {', '.join(done.hooked) or 'nothing'}"
    if done.skipped:
        why = ", ".join(f"{name} ({reason})" for name, reason in done.skipped.items())
        line += f"; not into {why}"
    return line
