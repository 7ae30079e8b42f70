"""What a format has read of a child that is tapped: held back until it is known what counts.

The first request to a model ends the child's start, and only at its exit is it known whether the
tap has seen one. If so, requests and tokens are the tap's, and what is kept of the output is what
the tap cannot know: which tool ran, what was used, why it failed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from llmphases.capture.children.printable import PrintableText
from llmphases.capture.children.tap.moments import TapMoments
from llmphases.capture.children.told import Told
from llmphases.recorder.child_events import Event, Said, Token, ToolResult
from llmphases.recorder.children import ChildRecorder

Timed = tuple[Event, int | None]


class HeldBack:
    """Stands in the place of `Told`."""

    def __init__(self, told: Told, child: ChildRecorder, moments: TapMoments) -> None:
        self._told = told
        self._child = child
        self._moments = moments
        self._events: list[Timed] = []
        self.has_moments = False
        """Whether the output is in the format that was expected, and not just text."""

    @property
    def error(self) -> str | None:
        """The program's own word for why it failed."""
        said = [e.error for e, _ in self._events if isinstance(e, Said) and e.error is not None]
        return self._told.error or (said[-1] if said else None)

    def event(self, event: Event, at_ns: int | None) -> None:
        """An event, by a line that began to arrive then."""
        self.has_moments |= at_ns is not None and not isinstance(event, Said)
        if self._continues(event):
            self._events.pop()
        self._events.append((event, at_ns))

    def _continues(self, event: Event) -> bool:
        """Of tokens in a row only the first and the last tell anything."""
        before = [earlier for earlier, _ in self._events[-2:]]
        return isinstance(event, Token) and before == [event, event]

    def conclude(self, text: PrintableText, *, streams: bool) -> None:
        """All output has been read, and the tap has ended."""
        if self._moments.view != "requests":
            for event, at_ns in self._events:
                self._told.event(event, at_ns)
            self._told.conclude(text, streams=streams)
            return
        for event, _ in self._events:
            if isinstance(event, Said):
                self._told.event(self._without_times(event), None)
        self._told.conclude_facts()
        self._write_tools()
        known = (self._moments.last_token_ns, text.last_ns if not self.has_moments else None)
        self._child.worked_until(max((ns for ns in known if ns is not None), default=None))

    def _without_times(self, said: Said) -> Said:
        """What a server says of the only request goes to that; of several, who knows."""
        lane, times = self._moments.only_lane, said.reported
        if lane is None or times is None or not times.has_durations:
            return said
        lane.report(times)
        return replace(said, reported=None)

    def _write_tools(self) -> None:
        """A tool ran from the end of a request until it answered, or the next one was sent."""
        results = [ns for e, ns in self._events if isinstance(e, ToolResult) and ns is not None]
        for (_, end_ns), (next_ns, next_end_ns) in pairwise(self._moments.requests):
            done = [ns for ns in results if end_ns < ns <= next_end_ns]
            if done and end_ns < next_ns:
                self._child.tool_ran(end_ns, min(max(done), next_ns))
