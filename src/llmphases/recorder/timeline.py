"""The phases of one call as they open and close: each becomes a piece of the ledger and a span."""

from __future__ import annotations

from itertools import count

from llmphases.calls import Detail
from llmphases.observers import Observers, OpenCall, OpenPhase, OpenSpan
from llmphases.phases import Origin, Phase
from llmphases.recorder.ledger import Piece
from llmphases.recorder.streams import StreamTrack

_sequence = count(1)


def next_sequence() -> int:
    """A number larger than any given out before, in the whole process."""
    return next(_sequence)


class Timeline:
    """Opens, closes and writes phases, and keeps what they leave for the sums."""

    __slots__ = (
        "_call", "_details", "_held", "_lane", "_observers", "_steps", "open", "pieces", "stalls",
    )  # fmt: skip

    def __init__(self, call: OpenCall, observers: Observers) -> None:
        self._call = call
        self._lane = call.lane
        self._observers = observers
        self.pieces: list[Piece] = []
        self.stalls: list[Piece] = []
        self._details: list[OpenPhase] = []
        self._held: dict[OpenPhase, None] = {}
        self._steps: dict[OpenPhase, list[OpenPhase]] = {}
        self.open: dict[OpenPhase, None] = {}

    def begin(
        self,
        phase: Phase,
        at_ns: int,
        base: object,
        parent: OpenSpan | None = None,
        *,
        request: int | None = None,
        detail: str | None = None,
    ) -> OpenPhase:
        """Open a phase, or a detail of that name, now, and tell the observers.

        Its span is live, so that other libraries' spans nest under it; `base` is the context that
        it began in.
        """
        offset_ns = self._call.offset_ns
        if parent is None:
            parent = self._call
            drawn_us = self._lane.begin(at_ns + offset_ns)
        else:
            parent, drawn_us = self._begin_inside(parent, at_ns + offset_ns)
        opened = OpenPhase(phase, at_ns, parent, offset_ns=offset_ns, drawn_start_us=drawn_us)
        opened.call = self._call
        opened.base = base
        opened.request = request
        opened.sequence = next(_sequence)
        if detail is not None:
            opened.name, opened.is_detail = detail, True
        self.open[opened] = None
        self._observers.phase_started(opened)
        return opened

    def _begin_inside(self, parent: OpenSpan, wall_ns: int) -> tuple[OpenSpan, int]:
        """The span to be drawn under, and where: the call's own if that of the block has ended."""
        around = _spans_of(parent)
        if any(span.drawn_end_us is not None for span in around):
            return self._call, self._lane.begin(wall_ns)
        drawn_us = parent.lane.begin(wall_ns)
        for span in around:
            span.lane.reach(drawn_us + 1)
        return parent, drawn_us

    def end(
        self, phase: OpenPhase, at_ns: int, track: StreamTrack | None = None,
        *, kind: Phase | None = None, hold: bool = False,
    ) -> None:  # fmt: skip
        """Close a live phase; `kind` is what it turned out to be.

        `hold`: there is more to be said of it, so that the observers hear of its end by `release`.
        """
        if phase.end_ns is not None:
            return
        if kind is not None and kind is not phase.phase:
            phase.phase, phase.name = kind, kind.value
        if self._steps:
            self._end_steps(phase, at_ns)
        end_ns = phase.end_ns = max(at_ns, phase.start_ns)
        phase.drawn_end_us = self._drawn_end(phase, end_ns)
        self.open.pop(phase, None)
        if phase.is_detail:
            self._details.append(phase)
        else:
            piece = Piece(
                phase.phase, phase.start_ns, end_ns, phase.sequence, track, request=phase.request,
                origin=phase.origin, drawn=(phase.drawn_start_us, phase.drawn_end_us),
            )  # fmt: skip
            self.pieces.append(piece)
        if hold:
            self._held[phase] = None
        else:
            self._observers.phase_ended(phase)

    def next_step(
        self, phase: OpenPhase, at_ns: int, name: str | None, error_type: str | None = None
    ) -> OpenPhase | None:
        """The next of the details that make up an open phase: it ends the one before.

        None is what has no name; `error_type` is why the one before it failed. The observers hear
        of the end of each once it is known what the phase was.
        """
        steps = self._steps.setdefault(phase, [])
        if steps and steps[-1].end_ns is None:
            steps[-1].error_type = error_type
            self.end(steps[-1], at_ns, hold=True)
        if name is None:
            return None
        step = self.begin(phase.phase, at_ns, None, phase, request=phase.request, detail=name)
        steps.append(step)
        return step

    def _end_steps(self, phase: OpenPhase, at_ns: int) -> None:
        """The details of a phase that ends are what it turned out to be."""
        for step in self._steps.pop(phase, ()):
            self.end(step, at_ns, hold=True)
            step.phase = phase.phase
            self.release(step)

    def release(self, phase: OpenPhase) -> None:
        """All is said of a phase that was held; a second time changes nothing."""
        if phase in self._held:
            del self._held[phase]
            self._observers.phase_ended(phase)

    def release_all(self) -> None:
        """No more will be said of any phase."""
        for phase in list(self._held):
            self.release(phase)

    def tell_nobody(self) -> None:
        """From now on nobody hears of any phase."""
        self._observers = Observers()

    def let_go(self) -> None:
        """The call is over, and nothing is opened or written any more."""
        self._details.clear()
        self._steps.clear()
        del self._call

    def _drawn_end(self, phase: OpenPhase, end_ns: int) -> int:
        wall_ns = end_ns + phase.offset_ns
        parent = phase.parent
        if parent is self._call or parent is None:
            return self._lane.finish(phase.drawn_start_us, wall_ns, phase.last_inside_us)
        end_us = parent.lane.finish(phase.drawn_start_us, wall_ns, phase.last_inside_us)
        for around in _spans_of(parent):
            if around.drawn_end_us is not None:  # it outlived the block that it began in
                end_us = min(end_us, around.drawn_end_us)
        return end_us

    def write(
        self, phase: Phase, start_ns: int, end_ns: int, track: StreamTrack | None = None,
        *, request: int | None = None, origin: Origin = Origin.MEASURED,
        sequence: int | None = None, error_type: str | None = None,
    ) -> OpenPhase | None:  # fmt: skip
        """Note a phase that is known only afterwards; it is drawn, and given, if there is room."""
        end_ns = max(start_ns, end_ns)
        piece = Piece(
            phase, start_ns, end_ns, sequence or next_sequence(), track, request=request,
            origin=origin,
        )  # fmt: skip
        self.pieces.append(piece)
        return self._draw(piece, self._call, is_stall=False, error_type=error_type)

    def write_stall(self, start_ns: int, length_ns: int, parent: OpenSpan | None) -> None:
        """Draw a long wait for the consumer inside the phase it interrupts."""
        piece = Piece(Phase.TRANSMISSION, start_ns, start_ns + length_ns, 0)
        self._draw(piece, parent or self._call, is_stall=True)
        self.stalls.append(piece)

    def details(self) -> list[OpenPhase]:
        """The closed steps."""
        return self._details

    def _draw(
        self, piece: Piece, parent: OpenSpan, *, is_stall: bool, error_type: str | None = None
    ) -> OpenPhase | None:
        offset_ns = self._call.offset_ns
        place = parent.lane.fit(piece.start_ns + offset_ns, piece.end_ns + offset_ns)
        if place is None:
            return None
        piece.drawn = place
        written = OpenPhase(
            piece.phase, piece.start_ns, parent, offset_ns=offset_ns, drawn_start_us=place[0]
        )
        written.call = self._call
        written.end_ns, written.drawn_end_us = piece.end_ns, place[1]
        written.request, written.origin = piece.request, piece.origin
        written.is_stall, written.error_type = is_stall, error_type
        self._observers.phase_written(written)
        return written


def _spans_of(phase: OpenSpan | None) -> list[OpenPhase]:
    """A phase and those around it, up to its call."""
    around: list[OpenPhase] = []
    while isinstance(phase, OpenPhase):
        around.append(phase)
        phase = phase.parent
    return around


def detail_of(phase: OpenPhase, start_ns: int, end_ns: int) -> Detail:
    """The record of a closed step, relative to the start of its call and inside of it."""
    assert phase.end_ns is not None
    assert phase.drawn_end_us is not None
    begin_ns = min(max(phase.start_ns, start_ns), end_ns)
    return Detail(
        name=phase.name,
        cost=phase.cost,
        start_ns=begin_ns - start_ns,
        end_ns=max(begin_ns, min(phase.end_ns, end_ns)) - start_ns,
        drawn=(phase.drawn_start_us, phase.drawn_end_us),
    )
