"""One exporter, watched: what it prints is held back, and what it loses is said once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from llmphases.observers import never_raises
from llmphases.otel.complaints import Complaints, held_back, reason_in, watch_loggers


class Exporter(Protocol):
    """What the SDK's exporters of spans and of metrics have in common."""

    def export(self, batch: Any, /, **options: Any) -> Any:
        """Send; the result's name is `SUCCESS` or `FAILURE`."""
        ...

    def shutdown(self, **options: Any) -> None:
        """Close."""
        ...


class Delivery:
    """Exports batches and knows how that went.

    In a forked child `renew` makes it open a connection of its own: two processes that write to
    one socket garble each other's requests.
    """

    def __init__(
        self, make: Callable[[], Exporter], *, what: str, where: str, complaints: Complaints
    ) -> None:
        self.what = what
        self.where = where
        self.failures = 0
        self.is_busy = False
        """Whether an export is going on."""
        self._make = make
        self._complaints = complaints
        self._exporter: Exporter | None = make()
        self._notes: Sequence[str] = ()
        watch_loggers()

    @property
    def exporter(self) -> Exporter:
        """The exporter of this process."""
        if self._exporter is None:
            self._exporter = self._make()
        return self._exporter

    def export(self, batch: Any, **options: Any) -> Any:
        """Send one batch; a failure is complained about."""
        with held_back() as self._notes:
            self.is_busy = True
            result = _export(self.exporter, batch, options)
            self.is_busy = False
        if getattr(result, "name", None) != "SUCCESS":
            self.failures += 1
            self._complaints.undelivered(self.what, self.where, reason_in(self._notes))
        return result

    @property
    def trouble(self) -> str:
        """What is known of why the last export failed, or takes so long."""
        return reason_in(self._notes) if self._notes else "no answer in time"

    def shutdown(self) -> None:
        """Close the exporter, without a word; one that is busy is left to end with the process.

        Some would wait for what they are doing, up to half a minute.
        """
        exporter, self._exporter = self._exporter, None
        if exporter is not None and not self.is_busy:
            with held_back():
                never_raises(exporter.shutdown)()

    def renew(self) -> None:
        """In a forked child: use the parent's connection no more."""
        self._exporter = None
        self.is_busy = False
        self.failures = 0


def _export(exporter: Exporter, batch: Any, options: dict[str, Any]) -> Any:
    return never_raises(exporter.export)(batch, **options)
