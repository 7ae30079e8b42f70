"""How far several runs are: a bar on a terminal, else a line for each."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from llmphases.calls import Call
from llmphases.cli.terminal import tell
from llmphases.reports.wording import duration, printable

if TYPE_CHECKING:
    from rich.progress import Progress


class RunsProgress:
    """As a block. The bar comes with the end of the first run, whose output would run into it."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._wants_bar = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        """Nothing is done yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def one_done(self, call: Call | None) -> None:
        """One more has ended; in whatever thread."""
        with self._lock:
            self._done += 1
            if self._wants_bar and self._bar is None:
                self._wants_bar, self._bar = False, _bar(self._total)
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=self._done)
                return
        took = f": {duration(call.duration_ns)}" if call is not None else ""
        tell(f"llmphases: run {self._done} of {self._total}{took}")

    def say(self, text: str) -> None:
        """A line, above the bar if there is one."""
        line = f"llmphases: {printable(text)}"
        with self._lock:
            if self._bar is not None:
                self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
            else:
                tell(line)


def _bar(total: int) -> Progress | None:
    with suppress(ImportError):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

        columns = (BarColumn(), MofNCompleteColumn(), "runs", TimeElapsedColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        bar.add_task("runs", total=total)
        bar.start()
        return bar
    return None
