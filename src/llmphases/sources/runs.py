"""Which recorded calls are of one run of a program, where a file holds several."""

from __future__ import annotations

from collections.abc import Iterable

from llmphases.calls import Call


class Runs:
    """Tells runs apart by the ids of those that recorded them.

    That is `llmphases.run.id`, which a program shares with its workers; where it is missing,
    `service.instance.id`, of which each process has one. Those that recorded into one trace (a job
    and its workers) are one run in any case.
    """

    def __init__(self) -> None:
        self._recorder_of: dict[str, str] = {}
        self._joined: dict[str, str] = {}
        """Recorders that belong to the run of another."""

    def add(self, trace_id: str, recorder: str) -> None:
        """The one with this id has recorded something in that trace."""
        first = self._recorder_of.setdefault(trace_id, recorder)
        if first != recorder:
            one, other = self._run(first), self._run(recorder)
            if one != other:
                self._joined[other] = one

    def numbered(self, calls: Iterable[Call]) -> dict[str, int]:
        """The number of the run of each trace; the run whose calls began first is 0.

        `calls` are in order of their start; traces of which nobody said the recorder are missing.
        """
        numbers: dict[str, int] = {}
        found: dict[str, int] = {}
        for call in calls:
            recorder = self._recorder_of.get(call.trace_id or "")
            if call.trace_id is not None and recorder is not None:
                run = self._run(recorder)
                found[call.trace_id] = numbers.setdefault(run, len(numbers))
        return found

    def _run(self, recorder: str) -> str:
        while recorder in self._joined:
            recorder = self._joined[recorder]
        return recorder
