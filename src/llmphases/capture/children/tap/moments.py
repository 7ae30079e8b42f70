"""What the tap sees of a child's requests, as moments of the call that the child belongs to."""

from __future__ import annotations

from llmphases import conventions as names
from llmphases.calls import AttributeValue
from llmphases.capture.children.tap.contract import View
from llmphases.observers import OpenPhase, never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.children import ChildRecorder
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.requests import Request
from llmphases.recorder.streams import ANSWER, REASONING

RULE, RULE_BY_BYTES = "tap", "tap_bytes"
"""Which moment the child was ready at: that of its first request to a model. The second says that
of an answer only the bytes could be timed."""
ABANDONED = "abandoned"
CONNECT, SEND, HEADERS = "connect", "send", "headers"


class TapMoments:
    """Told by one tap, in its thread; `conclude` comes when that has ended."""

    def __init__(self) -> None:
        self._call: CallRecorder | None = None
        self._child: ChildRecorder | None = None
        self._spawn_ns = 0
        self._lanes: list[Lane] = []
        self._connect_ns: int | None = None
        self._bytes_ns: tuple[int, int] | None = None

    def bind(self, call: CallRecorder, child: ChildRecorder, spawn_ns: int) -> None:
        """Of which child it is; before the spawn."""
        self._call, self._child, self._spawn_ns = call, child, spawn_ns

    @property
    def view(self) -> View:
        """What could be seen so far."""
        if self._lanes:
            return "requests"
        return "nothing" if self._connect_ns is None else "bytes"

    @property
    def requests(self) -> list[tuple[int, int]]:
        """From when to when there was a request, as far as over; in order of their beginning."""
        return sorted(stretch for lane in self._lanes for stretch in lane.stretches)

    @property
    def last_token_ns(self) -> int | None:
        """When the last token of all came."""
        return max((lane.token_ns for lane in self._lanes if lane.token_ns), default=None)

    @property
    def only_lane(self) -> Lane | None:
        """Where the only request was made, if there was one only."""
        return self._lanes[0] if len(self._lanes) == 1 and self._lanes[0].count == 1 else None

    # --- what the tap tells ----------------------------------------------------------------

    @never_raises
    def request(self, at_ns: int, target: str) -> Lane:
        """The first byte of a request to a model came."""
        assert self._call is not None
        assert self._child is not None
        self._child.asks(at_ns, RULE)
        lane = self._free_lane(target)
        lane.begin(at_ns, target)
        return lane

    def _free_lane(self, target: str) -> Lane:
        """Where the same request got no answer, else where nothing is open or to be repeated."""
        assert self._call is not None
        free = [lane for lane in self._lanes if not lane.is_open]
        repeated = [lane for lane in free if lane.awaited == target]
        for lane in repeated or [lane for lane in free if lane.awaited is None]:
            return lane
        self._lanes.append(Lane(self._call))
        return self._lanes[-1]

    def connection(self, at_ns: int) -> None:
        """The child asked for a connection that nobody can read into."""
        if self._connect_ns is None:
            self._connect_ns = at_ns

    def some_bytes(self, at_ns: int) -> None:
        """Bytes came to the child on such a connection."""
        self._bytes_ns = (at_ns if self._bytes_ns is None else self._bytes_ns[0], at_ns)

    # --- the end ---------------------------------------------------------------------------

    def conclude(self, error_type: str | None) -> None:
        """The child is gone, because of `error_type` if it failed."""
        for lane in self._lanes:
            lane.conclude(error_type)
        if self._child is not None and self._child.spawned is not None:
            self._child.spawned.attributes.update(self._attributes())

    def _attributes(self) -> dict[str, AttributeValue]:
        """What could be seen; of what cannot be read into when it came, counted from the spawn."""
        said: dict[str, AttributeValue] = {names.TAP_VIEW: self.view}
        first_ns, last_ns = self._bytes_ns or (None, None)
        for name, at_ns in (
            (names.TAP_CONNECT, self._connect_ns),
            (names.TAP_FIRST_BYTE, first_ns),
            (names.TAP_LAST_BYTE, last_ns),
        ):
            if at_ns is not None:
                said[name] = (at_ns - self._spawn_ns) / 1e9
        return said


class Lane:
    """Requests of which each follows on the one before: a failed one's next is its repetition."""

    def __init__(self, call: CallRecorder) -> None:
        self._call = call
        self._request: Request | None = None
        self._target = ""
        self._kinds = 0
        self._last_ns: int | None = None
        self._since_ns = self._detail_ns = 0
        self._left_ns: int | None = None
        self._is_failed = False
        self.is_open = False
        """Whether its newest request waits for its answer, or for the rest of it."""
        self.token_ns: int | None = None
        """When the last token of all its requests came."""
        self.stretches: list[tuple[int, int]] = []
        """Its requests that are over, from the first byte to the last token, or the end."""
        self.count = 0

    @property
    def awaited(self) -> str | None:
        """What would be the repetition of its newest request, which got no answer."""
        return self._target if self._is_failed or self._left_ns is not None else None

    @never_raises
    def begin(self, at_ns: int, target: str) -> None:
        """The first byte of a request came."""
        self._settle(ABANDONED)
        self._request = self._call.request_sent(at_ns, self)
        self._target, self._since_ns, self._detail_ns = target, at_ns, at_ns
        self._kinds, self._last_ns, self._is_failed = 0, None, False
        self.is_open = True
        self.count += 1

    def _settle(self, error_type: str | None) -> None:
        """What became of a request that the child did not wait for is known only later."""
        if self._left_ns is None or self._request is None:
            return
        self._call.request_ended(
            self._request, self._left_ns, failed=error_type is not None, error_type=error_type
        )
        self._left_ns = None

    # --- what the tap tells ----------------------------------------------------------------

    @never_raises
    def connected(self, since_ns: int, at_ns: int) -> None:
        """The connection that had to be made for it stands."""
        self._detail(CONNECT, since_ns, at_ns)

    @never_raises
    def sent(self, since_ns: int, at_ns: int) -> None:
        """All of it has been handed on."""
        self._detail(SEND, since_ns, at_ns)

    @never_raises
    def headers(self, at_ns: int, status: int) -> None:
        """The answer has begun."""
        self._detail(HEADERS, self._detail_ns, at_ns)

    def _detail(self, name: str, since_ns: int, at_ns: int) -> None:
        """A part of the wait for the first token, after the parts before it."""
        phase: OpenPhase | None = self._request.phase if self._request is not None else None
        if not self.is_open or self._kinds or phase is None or since_ns < self._detail_ns:
            return
        step = self._call.open_step(name, since_ns, parent=phase)
        if step is not None:
            self._call.close_block(step, at_ns)
            self._detail_ns = at_ns

    @never_raises
    def tokens(self, at_ns: int, kinds: int, *, by_bytes: bool = False) -> None:
        """Tokens have arrived."""
        if not self.is_open:
            return
        for kind in (REASONING, ANSWER):
            if kinds & kind & ~self._kinds:
                self._kinds |= kind
                self._call.first_token(at_ns, self, kind=kind)
                if by_bytes:
                    self._call.facts.first_token_rule = RULE_BY_BYTES
        self._last_ns = self.token_ns = at_ns

    @never_raises
    def ended(self, at_ns: int) -> None:
        """The answer is complete."""
        if not self._close(at_ns):
            return
        assert self._request is not None
        if self._last_ns is not None:
            self._call.last_token(self._last_ns, self)
        else:
            self._call.request_ended(self._request, at_ns)

    @never_raises
    def failed(self, at_ns: int, error_type: str) -> None:
        """There is no answer, or not all of it."""
        if not self._close(at_ns):
            return
        assert self._request is not None
        self._is_failed = True
        self._request.last_ns = self._last_ns
        self._call.request_ended(self._request, at_ns, failed=True, error_type=error_type)

    @never_raises
    def abandoned(self, at_ns: int) -> None:
        """The child has gone before the end: of an answer it may have had enough."""
        if not self._close(at_ns):
            return
        if self._last_ns is not None:
            self._call.last_token(self._last_ns, self)
        else:
            self._left_ns = at_ns

    def _close(self, at_ns: int) -> bool:
        was_open, self.is_open = self.is_open and self._request is not None, False
        if was_open:
            self.stretches.append((self._since_ns, self._last_ns or at_ns))
        return was_open

    def report(self, times: ReportedTimes) -> None:
        """What the server says of its newest request's times, by the child's words."""
        self._call.report(times, self)

    @never_raises
    def conclude(self, error_type: str | None) -> None:
        """Nothing follows."""
        self._settle(error_type)
