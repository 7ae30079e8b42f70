"""Calls inside calls: what each leaves in the one around it.

Only times travel up. A call that outlives the one around it goes on in the next one further out,
if that is still open.
"""

from __future__ import annotations

from llmphases.observers import OpenPhase
from llmphases.phases import Phase
from llmphases.recorder.conversation import Conversation
from llmphases.recorder.facts import Facts
from llmphases.recorder.ledger import Inner, Piece
from llmphases.recorder.timeline import Timeline


class Nesting:
    """Where one call stands among the others."""

    __slots__ = (
        "_conversation", "_inside", "_is_open", "_left", "_start_ns", "_timeline", "_tracks",
        "around", "has_asked", "is_inside_block", "is_spoken", "is_usage_told",
    )  # fmt: skip

    def __init__(
        self, start_ns: int, timeline: Timeline, conversation: Conversation, outer: Nesting | None,
        *, is_inside_block: bool,
    ) -> None:  # fmt: skip
        self.around = outer
        """The call that this one counts in as well."""
        self.is_inside_block = is_inside_block
        """Whether a block of the call around owns all that happens in here."""
        self._start_ns = start_ns
        self._timeline = timeline
        self._conversation = conversation
        self._is_open = True
        self._tracks = conversation.tracks
        self.is_spoken = False
        """Whether something in here, or in a call inside, has spoken of a request."""
        self.has_asked = False
        """Whether that was in here."""
        self.is_usage_told = False
        """Whether a call inside has told its tokens."""
        self._inside: dict[Nesting, None] = {}
        self._left: list[Inner] = []

    def enter(self) -> None:
        """The call begins, in the innermost call around that is still open."""
        while self.around is not None and not self.around._is_open:
            self._move_out()
        if self.around is not None:
            self.around.checkpoint(self._start_ns)
            self.around._inside[self] = None

    def checkpoint(self, at_ns: int) -> None:
        """Something divides time: note how long each stream that shares it was held by now."""
        if self._tracks:
            self._conversation.checkpoint(at_ns)
        around = self.around
        while around is not None:
            around._conversation.checkpoint(at_ns)
            around = around.around
        if self._inside:
            self._checkpoint_inside(at_ns)

    def _checkpoint_inside(self, at_ns: int) -> None:
        for inner in self._inside:
            inner._conversation.checkpoint(at_ns)
            inner._checkpoint_inside(at_ns)

    def ask(self, at_ns: int) -> None:
        """A request is asked for in here, and not only in a call inside."""
        if not self.has_asked or self.around is not None:
            self.has_asked = True
            self._speak(at_ns)

    def _speak(self, at_ns: int) -> None:
        """Something spoke of a request: what the function itself yields are no tokens any more."""
        if not self.is_spoken:
            self.is_spoken = True
            self._conversation.end_own(at_ns)
        self.speak_outside(at_ns)

    def speak_outside(self, at_ns: int) -> None:
        """What was asked in here was asked in the outer call as well, unless a block owns it."""
        if self.around is not None and not self.is_inside_block:
            self.around._speak(at_ns)

    def settle_usage(self, facts: Facts) -> None:
        """At the end: of a request that was spoken of in here, the output repeats the tokens."""
        is_told = self.is_usage_told or facts.usage is not None
        facts.settle(is_repeated=is_told and self.is_spoken)
        is_told |= facts.usage is not None
        if is_told and self.around is not None and not self.is_inside_block:
            self.around.is_usage_told = True

    def inner(self, at_ns: int) -> list[Inner]:
        """What the calls inside have left, and those still open have so far."""
        if not self._inside:
            return self._left
        return self._left + [inner._so_far(at_ns) for inner in self._inside]

    def is_seen(self) -> bool:
        """Whether anything is known of a request, in here or in what is still open inside."""
        return self._conversation.is_seen or any(
            inner.is_seen() for inner in self._inside if not inner.is_inside_block
        )

    def leave(self, at_ns: int) -> None:
        """The call is over, and counts in the one around; what is open inside moves there."""
        self._is_open = False
        around = self.around
        if around is not None and not self.is_inside_block:
            around._conversation.is_seen |= self.is_seen()
        for inner in list(self._inside):
            inner._move_out()
            if around is not None:
                around._inside[inner] = None
        self._inside.clear()
        if around is not None:
            around._inside.pop(self, None)
            around._left.append(self._so_far(at_ns))

    def _move_out(self) -> None:
        closed = self.around
        assert closed is not None
        self.is_inside_block |= closed.is_inside_block
        self.around = closed.around

    def _so_far(self, at_ns: int) -> Inner:
        left = Inner(self._start_ns, max(at_ns, self._start_ns))
        if self.is_inside_block:
            return left
        pieces = self._timeline.pieces + self._open_pieces(at_ns)
        tracks = list(self._conversation.tracks)
        for inner in self.inner(at_ns):
            pieces += inner.pieces
            tracks += inner.tracks
        left.pieces = [_clipped(piece, left.start_ns, left.end_ns) for piece in pieces]
        left.tracks = tracks
        return left

    def _open_pieces(self, at_ns: int) -> list[Piece]:
        """What has no end yet, as if it ended now."""
        return [
            self._open_piece(phase, at_ns) for phase in self._timeline.open if not phase.is_detail
        ]

    def _open_piece(self, phase: OpenPhase, at_ns: int) -> Piece:
        piece = Piece(phase.phase, phase.start_ns, at_ns, phase.sequence)
        if phase.request is None:
            return piece
        request = self._conversation.requests[phase.request]
        piece.track = request.held_by
        if request.failed_ns is not None:
            piece.phase, piece.end_ns, piece.track = Phase.RETRY, request.failed_ns, None
        elif piece.phase is Phase.TIME_TO_FIRST_TOKEN:
            piece.phase = Phase.INFERENCE
        return piece


def _clipped(piece: Piece, start_ns: int, end_ns: int) -> Piece:
    if start_ns <= piece.start_ns and piece.end_ns <= end_ns:
        return piece
    low, high = max(piece.start_ns, start_ns), min(piece.end_ns, end_ns)
    return Piece(piece.phase, low, max(low, high), piece.sequence, piece.track)
