"""Which recorded calls are of one run of a program, where a file holds several."""

from __future__ import annotations

from collections.abc import Iterable

from llmphases.calls import Call


class Runs:
    """Tells runs apart by `service.instance.id`, of which each process has one.

    Processes that recorded into one trace (a job and its workers) are one run.
    """

    def __init__(self) -> None:
        self._process_of: dict[str, str] = {}
        self._joined: dict[str, str] = {}
        """Processes that belong to the run of another."""

    def add(self, trace_id: str, process: str) -> None:
        """This process has recorded something in that trace."""
        first = self._process_of.setdefault(trace_id, process)
        if first != process:
            one, other = self._run(first), self._run(process)
            if one != other:
                self._joined[other] = one

    def numbered(self, calls: Iterable[Call]) -> dict[str, int]:
        """The number of the run of each trace; the run whose calls began first is 0.

        `calls` are in order of their start; traces of which nobody said the process are missing.
        """
        numbers: dict[str, int] = {}
        found: dict[str, int] = {}
        for call in calls:
            process = self._process_of.get(call.trace_id or "")
            if call.trace_id is not None and process is not None:
                run = self._run(process)
                found[call.trace_id] = numbers.setdefault(run, len(numbers))
        return found

    def _run(self, process: str) -> str:
        while process in self._joined:
            process = self._joined[process]
        return process
