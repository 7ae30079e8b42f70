"""A call from its beginning to its end: blocks, child processes, and what is known afterwards.

Every method takes the time as an argument, in monotonic nanoseconds, and none ever raises into
the program that is traced. Calls inside calls share one lock, so an outer call can look at what
an inner one has so far.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import RLock

from llmphases.calls import Call, Ended, ProcessUse
from llmphases.conventions import TIMEOUT_ERROR
from llmphases.observers import Observers, OpenCall, OpenJob, OpenPhase, OpenSpan, never_raises
from llmphases.phases import Phase
from llmphases.recorder.closing import close_call
from llmphases.recorder.collected import is_collecting, later, settle
from llmphases.recorder.conversation import Conversation
from llmphases.recorder.facts import Facts
from llmphases.recorder.nesting import Nesting
from llmphases.recorder.process_use import process_attributes
from llmphases.recorder.streams import ANSWER
from llmphases.recorder.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What the program says of a call before it begins."""

    name: str
    operation: str = "chat"
    provider: str | None = None
    model: str | None = None


class CallLifetime(OpenCall):
    """What is true of every call, whether or not it asks a model."""

    __slots__ = (
        "_endings", "_lock", "_observers", "context", "conversation", "facts", "is_elsewhere",
        "nesting", "parent", "queued_ns", "record", "timeline",
    )  # fmt: skip

    def __init__(
        self,
        what: Description,
        at_ns: int,
        *,
        offset_ns: int,
        observers: Observers,
        outer: CallLifetime | None = None,
        parent: OpenSpan | None = None,
        inside_block: bool = False,
    ) -> None:
        self._lock: RLock = RLock() if outer is None else outer._lock
        with self._lock:
            wall_ns = at_ns + offset_ns
            drawn_us = wall_ns // 1000 if parent is None else parent.lane.begin(wall_ns)
        super().__init__(what.name, at_ns, offset_ns, drawn_us)
        self.operation = what.operation
        self.provider = what.provider
        self.request_model = what.model
        self.outer = outer
        self.nested = outer is not None
        self.parent = parent  # the span of ours that it is drawn under
        self.context: object = None
        """The context value in which the body of the call runs; once it is over, that outside."""
        self.facts = Facts(what.provider, what.model)
        self.timeline = Timeline(self, observers)
        self.conversation = Conversation(at_ns, self.timeline, self.facts)
        self.nesting: Nesting = Nesting(
            at_ns, self.timeline, self.conversation, None if outer is None else outer.nesting,
            is_inside_block=inside_block,
        )  # fmt: skip
        self.queued_ns: int | None = None
        self.record: Call | None = None
        """What happened, once the call is over."""
        self._observers = observers
        self._endings: set[Callable[[], object]] | None = None
        self.is_elsewhere = False  # in the process that this one was forked from, and not here
        if outer is not None:
            with self._lock:
                self.nesting.enter()

    # --- beginning and end -----------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it has not ended yet."""
        return self.record is None

    def started(self, job: OpenJob | None = None) -> None:
        """Tell the observers that the call has begun."""
        settle()
        self.job = job
        self._observers.call_started(self)

    @never_raises
    def finish(
        self, at_ns: int, ended: Ended | None = None, error_type: str | None = None
    ) -> Call | None:
        """End the call. Later moments and a second end change nothing."""
        if is_collecting():
            later(self.finish, at_ns, ended, error_type)
            return None
        settle()
        while self._endings:
            self._endings.pop()()
        with self._lock:
            if self.record is not None:
                return self.record
            at_ns = max(at_ns, self.start_ns)
            self.nesting.checkpoint(at_ns)
            self.conversation.end_all(at_ns, error_type)
            for track in self.conversation.tracks:
                track.freeze()
            for phase in reversed(list(self.timeline.open)):
                self.timeline.end(phase, at_ns)
            self.timeline.release_all()
            record = close_call(self, at_ns, ended, error_type)
            self.record = record
            self.nesting.leave(at_ns)
            self._let_go()
        self._observers.call_ended(self, record)
        return record

    @never_raises
    def disown(self, at_ns: int) -> None:
        """This process was forked while the call was open: it is over here, and nobody hears."""
        self.is_elsewhere = True
        self._lock = RLock()  # a thread that is not here may have held the old one
        self._endings = None
        self._observers = Observers()
        self.timeline.tell_nobody()
        self.finish(at_ns)

    def before_end(self, act: Callable[[], object]) -> None:
        """Have `act`, which never raises, called when the call is about to end."""
        if self._endings is None:
            self._endings = set()
        self._endings.add(act)

    def not_before_end(self, act: Callable[[], object]) -> None:
        """It was done already."""
        if self._endings is not None:
            self._endings.discard(act)

    def _let_go(self) -> None:
        """Cut what leads back here: else only the garbage collector could free a call."""
        self.context = self.base
        self.conversation.let_go()
        self.timeline.let_go()

    # --- blocks ----------------------------------------------------------------------------

    def open_block(
        self, phase: Phase, at_ns: int, parent: OpenPhase | None = None, key: Hashable = None,
        base: object = None,
    ) -> OpenPhase | None:  # fmt: skip
        """A block of the program begins; it ends what the same context had asked before."""
        with self._lock:
            if self.record is not None:
                return None
            self.nesting.checkpoint(at_ns)
            self.conversation.block_begins(phase, at_ns, key)
            return self.timeline.begin(phase, at_ns, base, parent)

    def open_step(
        self, name: str, at_ns: int, parent: OpenPhase | None = None, base: object = None
    ) -> OpenPhase | None:
        """A detail inside a phase begins."""
        with self._lock:
            if self.record is not None:
                return None
            phase = parent.phase if parent is not None else Phase.INFERENCE
            return self.timeline.begin(phase, at_ns, base, parent, detail=name)

    def close_block(self, block: OpenPhase, at_ns: int, error_type: str | None = None) -> None:
        """A block or step ends, by whatever way."""
        if is_collecting():
            later(self.close_block, block, at_ns, error_type)
            return
        with self._lock:
            if block.end_ns is not None:
                return
            self.nesting.checkpoint(at_ns)
            block.error_type = error_type
            self.timeline.end(block, at_ns)
            if not block.is_detail:
                self.conversation.block_ends(at_ns)

    # --- child processes, and what is known only afterwards --------------------------------

    @never_raises
    def open_process(self, at_ns: int, base: object = None) -> OpenPhase | None:
        """A child process is spawned."""
        with self._lock:
            if self.record is not None:
                return None
            self.nesting.checkpoint(at_ns)
            self.conversation.is_seen = True
            self.facts.children += 1
            return self.timeline.begin(Phase.PROCESS_STARTUP, at_ns, base)

    @never_raises
    def close_process(self, phase: OpenPhase, at_ns: int, kind: Phase | None = None) -> None:
        """The child is ready, or its start turns out to be something else.

        Its span stays open until `process_used`: more is known of it once the child has exited.
        """
        with self._lock:
            if phase.end_ns is not None:
                return
            self.nesting.checkpoint(at_ns)
            self.timeline.end(phase, at_ns, kind=kind, hold=True)
            self.conversation.block_ends(at_ns)

    @never_raises
    def process_used(
        self, phase: OpenPhase, use: ProcessUse | None = None, error_type: str | None = None
    ) -> None:
        """The child is gone: what it has used, and why it failed if it did."""
        with self._lock:
            if self.record is not None:
                return
            if use is not None:
                phase.attributes.update(process_attributes(use))
                self.facts.process = use
            phase.error_type = error_type
            self.timeouts += error_type == TIMEOUT_ERROR
            self.timeline.release(phase)

    @never_raises
    def write_phase(self, phase: Phase, start_ns: int, end_ns: int, *, token: bool = False) -> None:
        """A phase that is known only now."""
        with self._lock:
            if self.record is None:
                self.nesting.checkpoint(max(start_ns, end_ns))
                self.timeline.write(phase, start_ns, end_ns)
                if token:
                    self.conversation.stamp(ANSWER, start_ns)
