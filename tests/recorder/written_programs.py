"""Small programs with a known meaning: what they do to a recorder, and which phases that makes.

The phases are noted here by the rules of the documentation, as a program is written down and
without any help of the recorder; `owner_of_each_instant` then adds them up instant by instant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from llmphases.phases import BLOCKS, Cost, Phase
from recorder.hand_driven import START_NS, HandDriven, recorder

TICKS = st.integers(0, 5)
PLAIN = sorted(BLOCKS)
DEEPEST = 3


@dataclass(eq=False)
class Interval:
    """One phase as the rules have it; `moment` is the one that opened it (it breaks ties)."""

    phase: Phase
    start: int
    moment: Moment
    end: int = -1
    stream: object = None


@dataclass(eq=False)
class Moment:
    at: int
    act: Any
    number: int = -1


@dataclass(eq=False)
class Body:
    """One call: its phases, its streams' stalls, the calls inside."""

    outer: Body | None = None
    is_inside_block: bool = False
    start: int = 0
    end: int = -1
    base: int = 0
    intervals: list[Interval] = field(default_factory=list)
    stalls: list[tuple[int, int, object]] = field(default_factory=list)
    inner: list[Body] = field(default_factory=list)
    is_spoken: bool = False
    own_run: list[Interval] | None = None
    own_runs: int = 0
    own_chunks: int = 0
    own: Any = None
    """The stream of what the function itself yields, if it does."""
    call: Any = None
    """Its recorder, while the program runs."""


class Task:
    """One task or thread of a program, written down moment by moment."""

    def __init__(self, draw, moments, key):
        self.draw, self.moments, self.key = draw, moments, key
        self.at = 0
        self.pending = None
        """A generation that nobody has ended yet, and whether only a delivery block followed."""
        self.failed = None
        self.blocks = 0

    # --- moments ---------------------------------------------------------------------------

    def moment(self, act):
        made = Moment(self.at, act)
        self.moments.append(made)
        return made

    def wait(self):
        self.at += self.draw(TICKS)

    def open(self, body, phase, start, moment, stream=None):
        made = Interval(phase, start, moment, stream=stream)
        body.intervals.append(made)
        return made

    def speaks(self, body):
        """Something spoke of a request: a run of the function's own tokens is over."""
        while body is not None:
            if not body.is_spoken:
                body.is_spoken = True
                self.end_run(body)
            body = None if body.is_inside_block else body.outer

    def end_run(self, body):
        if body.own_run is not None:
            generation = body.own_run[1]
            generation.end = max(generation.end, generation.start)
            body.own_run = None
            body.base = max(body.base, self.at)

    def end_pending(self, body, at=None):
        if self.pending is not None:
            generation, soft = self.pending
            generation.end = soft if soft is not None else (self.at if at is None else at)
            body.base = max(body.base, generation.end)
            self.pending = None

    def resent(self, body, issued, moment):
        """A failed request is followed by another of the same task."""
        if self.failed is None:
            return
        attempt, failed_at, stream = self.failed
        if attempt is not None:
            attempt.end = issued
        else:
            retry = self.open(body, Phase.RETRY, failed_at, moment, stream)
            retry.end = issued
        self.failed = None

    def issued(self, body, moment, *, announced):
        """Where the next request begins, its predecessor done with."""
        self.end_pending(body)
        start = self.at if announced else min(body.base, self.at)
        self.resent(body, start, moment)
        return start

    # --- what a function does --------------------------------------------------------------

    def run(self, body, depth, *, in_block=False):
        kinds = ["gap", "block"] if self.blocks < DEEPEST else ["gap"]
        if not in_block:
            kinds += ["marks", "silent", "failing"]
            kinds += ["stream"] if self.may_stream(body) else []
            kinds += ["yield", "enough"] if body.own is not None else []
        if depth:
            kinds += ["call"]
        for kind in self.draw(st.lists(st.sampled_from(kinds), max_size=4)):
            self.wait()
            if kind in {"block", "call"}:
                getattr(self, kind)(body, depth, in_block=in_block)
            elif kind == "stream" and not self.may_stream(body):
                continue
            elif kind != "gap":
                getattr(self, kind.replace("yield", "yields"))(body)

    def may_stream(self, body):
        return self.pending is None and self.draw_streams

    draw_streams = True
    only_announced = False

    def is_announced(self):
        return self.only_announced or self.draw(st.booleans())

    def block(self, body, depth, *, in_block):
        phase = self.draw(st.sampled_from(PLAIN))
        self.block_begins(body, phase)
        opened = []
        key = self.key
        begin = self.moment(lambda at: opened.append(body.call.open_block(phase, at, key=key)))
        block = self.open(body, phase, self.at, begin)
        self.blocks += 1
        self.run(body, depth - 1 if depth else 0, in_block=True)
        self.blocks -= 1
        self.wait()
        self.moment(lambda at: body.call.close_block(opened[0], at))
        block.end = self.at
        body.base = max(body.base, self.at)

    def block_begins(self, body, phase):
        is_delivery = phase.cost is Cost.DELIVERY
        if not is_delivery and not body.is_spoken and body.own is not None:
            self.end_run(body)
        if self.pending is None:
            return
        if not is_delivery:
            self.end_pending(body)
        elif self.pending[1] is None:
            self.pending = self.pending[0], self.at

    def call(self, body, depth, *, in_block):
        """A traced call inside; what is pending outside goes on meanwhile."""
        inside = Body(outer=body, is_inside_block=in_block, start=self.at, base=self.at)
        body.inner.append(inside)
        begins(self, inside)
        held = self.pending, self.failed
        self.pending = self.failed = None
        if self.draw(st.booleans()):
            own_stream(self, inside)
        self.run(inside, depth - 1)
        self.wait()
        ends(self, inside)
        self.pending, self.failed = held

    def marks(self, body):
        """A request whose tokens are marked by hand."""
        key = self.key
        announced = self.is_announced()
        if announced:
            sent = self.moment(lambda at: body.call.request_sent(at, key))
            start = self.issued(body, sent, announced=True)
            self.speaks(body)
            self.wait()
        first = self.moment(lambda at: body.call.first_token(at, key))
        if not announced and self.pending is not None:
            self.pending = self.pending[0], None  # one more token of the request that is open
            return
        if not announced:
            self.speaks(body)
            sent, start = first, self.issued(body, first, announced=False)
        stream = body.own
        self.open(body, Phase.TIME_TO_FIRST_TOKEN, start, sent, stream).end = self.at
        generation = self.open(body, Phase.GENERATION, self.at, first, stream)
        self.pending = generation, None
        if body.own is not None and self.draw(st.booleans()):
            self.yields(body)
        self.wait()
        if self.draw(st.booleans()):
            self.moment(lambda at: body.call.last_token(at, key))
            self.pending = generation, None
            self.end_pending(body)

    def enough(self, body):
        """The function says that what it has yielded so far was the answer."""
        if body.own_run is not None:
            key = self.key
            self.moment(lambda at: body.call.last_token(at, key))
            self.speaks(body)

    def silent(self, body):
        """A request that gave its answer as a whole."""
        key = self.key
        sent = self.moment(lambda at: body.call.request_sent(at, key))
        start = self.issued(body, sent, announced=True)
        self.speaks(body)
        self.wait()
        self.moment(lambda at: body.call.last_token(at, key))
        self.open(body, Phase.INFERENCE, start, sent, body.own).end = self.at
        body.base = max(body.base, self.at)

    def failing(self, body):
        """A request that fails before any token; what follows decides how long the retry is."""
        key, requests = self.key, []
        sent = self.moment(lambda at: requests.append(body.call.request_sent(at, key)))
        start = self.issued(body, sent, announced=True)
        self.speaks(body)
        self.wait()
        self.moment(lambda at: body.call.request_ended(requests[0], at, failed=True))
        attempt = self.open(body, Phase.RETRY, start, sent, body.own)
        attempt.end = self.at
        body.base = max(body.base, self.at)
        self.failed = attempt, self.at, body.own

    def stream(self, body):
        """A stream that the function reads, piece by piece, with work in between."""
        key, made, token = self.key, [], object()
        announced, sent, start = self.is_announced(), None, None
        if announced:
            sent = self.moment(lambda at: body.call.request_sent(at, key))
            start = self.issued(body, sent, announced=True)
            self.speaks(body)
        self.wait()
        handed_over = self.draw(st.booleans())
        self.moment(lambda at: made.append(HandDriven(body.call, at, key, handed_over=handed_over)))
        self.speaks(body)
        if handed_over:
            since = self.at
            self.wait()
            self.moment(lambda at: made[0].asked(at))
            body.stalls.append((since, self.at, token))
        generation, last, chunks = None, None, self.draw(st.lists(st.booleans(), max_size=3))
        for is_token in chunks:
            self.wait()
            kind = int(is_token)
            seen = self.moment(lambda at, kind=kind: made[0].chunk(at, kind))
            if is_token:
                last = self.at
                if generation is None:
                    if not announced:
                        sent, start = seen, self.issued(body, seen, announced=False)
                    wait = self.open(body, Phase.TIME_TO_FIRST_TOKEN, start, sent, token)
                    wait.end = self.at
                    generation = self.open(body, Phase.GENERATION, self.at, seen, token)
            since = self.at
            self.consume(body)
            self.moment(lambda at: made[0].asked(at))
            body.stalls.append((since, self.at, token))
        self.wait()
        failed = self.draw(st.booleans())
        end = self.moment(lambda at: made[0].end(at, failed=failed))
        if generation is not None:
            generation.end = last
        elif announced or chunks:
            if not announced:
                sent, start = end, self.issued(body, end, announced=False)
            phase = Phase.RETRY if failed else Phase.INFERENCE
            attempt = self.open(body, phase, start, sent, token)
            attempt.end = self.at
        else:
            return
        body.base = max(body.base, self.at)
        if failed:
            self.failed = (None if generation is not None else attempt), self.at, token

    def consume(self, body):
        """What the function does with a chunk in its hands."""
        for kind in self.draw(st.lists(st.sampled_from(["gap", "block", "yield"]), max_size=2)):
            self.wait()
            if kind == "block":
                self.quiet_block(body)
            elif kind == "yield" and body.own is not None:
                self.yields(body)

    def quiet_block(self, body):
        opened, key = [], self.key
        phase = self.draw(st.sampled_from(PLAIN))
        begin = self.moment(lambda at: opened.append(body.call.open_block(phase, at, key=key)))
        block = self.open(body, phase, self.at, begin)
        self.wait()
        self.moment(lambda at: body.call.close_block(opened[0], at))
        block.end = self.at
        body.base = max(body.base, self.at)

    def yields(self, body):
        """The function hands out an item of its own, and its consumer keeps it for a while."""
        kind = self.draw(st.integers(0, 1))
        body.own_chunks += 1
        seen = self.moment(lambda at: body.own.chunk(at, kind))
        if kind and not body.is_spoken:
            outside = None if body.is_inside_block else body.outer
            if outside is not None:
                self.speaks(outside)
            if body.own_run is None:
                start = min(body.base, self.at)
                body.own_runs += 1
                wait = self.open(body, Phase.TIME_TO_FIRST_TOKEN, start, seen, body.own)
                wait.end = self.at
                generation = self.open(body, Phase.GENERATION, self.at, seen, body.own)
                body.own_run = [wait, generation]
            body.own_run[1].end = self.at
        since = self.at
        self.wait()
        self.moment(lambda at: body.own.asked(at))
        body.stalls.append((since, self.at, body.own))


class Own:
    """Stands for the stream of a function's own output, before it is opened and after."""

    def __init__(self):
        self.stream = None

    def chunk(self, at, kind):
        self.stream.chunk(at, kind)

    def asked(self, at):
        self.stream.asked(at)


def begins(task, body):
    def act(at):
        outer = None if body.outer is None else body.outer.call
        body.call = recorder(task.heard[0], at, outer, inside_block=body.is_inside_block)

    task.moment(act)


def own_stream(task, body):
    """The body is a generator: its call begins with its first step."""
    own, key = Own(), task.key
    body.own = own

    def act(at):
        own.stream = HandDriven(body.call, at, key, own=True)

    task.moment(act)


def ends(task, body):
    """The call is over; first its own stream, then whatever it has left open."""
    if body.own is not None:
        end = task.moment(lambda at: body.own.stream.end(at))
        if not body.is_spoken:
            if body.own_chunks and not body.own_runs:
                start = min(body.base, task.at)
                task.open(body, Phase.INFERENCE, start, end, body.own).end = task.at
            task.end_run(body)
    task.end_pending(body)
    body.end = task.at
    task.moment(lambda at: body.call.finish(at))


@st.composite
def programs(draw, most_tasks=1, depth=2):
    """A body and the moments of a run of it, in order of time."""
    body, heard = Body(), []
    keys = [f"task {n}" for n in range(draw(st.integers(min(2, most_tasks), most_tasks)))]
    written = []
    main = None
    for key in keys:
        task = Task(draw, [], key)
        task.heard = heard
        task.only_announced = len(keys) > 1
        task.draw_streams = not written  # one stream at a time
        if main is None:
            main = task
            begins(task, body)
            if len(keys) == 1 and draw(st.booleans()):
                own_stream(task, body)
        task.run(body, depth if len(keys) == 1 else 0)
        written.append(task)
    last = max(task.at for task in written)
    for task in written:
        task.at = last
    main.wait()
    moments = sorted((m for task in written for m in task.moments), key=lambda m: m.at)
    for task in written[1:]:
        task.at = main.at
        task.end_pending(body)
    closing = len(main.moments)
    ends(main, body)
    moments += main.moments[closing:]
    return body, moments, heard


def run(program, listener):
    """Do it all, on a recorder."""
    _, moments, heard = program
    heard.append(listener)
    for number, moment in enumerate(moments):
        moment.number = number
        moment.act(START_NS + moment.at)


def owner_of_each_instant(body):
    """Instant by instant: exclusive times, the same outside inner calls, and what nobody owns."""
    intervals, stalls = everything_in(body)
    exclusive = {i.phase: 0 for i in intervals}
    outside = {i.phase: 0 for i in body.intervals}
    unattributed = 0
    for t in range(body.start, body.end):
        open_now = [i for i in intervals if i.start <= t < i.end]
        owner = max(open_now, key=lambda i: (i.start, i.moment.number), default=None)
        held = {stream for start, end, stream in stalls if start <= t < end}
        if owner is None and not held:
            unattributed += 1
            continue
        is_held = held and (owner is None or owner.stream in held)
        phase = Phase.TRANSMISSION if is_held else owner.phase
        exclusive[phase] = exclusive.get(phase, 0) + 1
        if not any(inner.start <= t < inner.end for inner in body.inner):
            outside[phase] = outside.get(phase, 0) + 1
    return exclusive, outside, unattributed


def everything_in(body):
    """The intervals and stalls of a call and of those inside that no block owns."""
    intervals, stalls = list(body.intervals), list(body.stalls)
    for inner in body.inner:
        if not inner.is_inside_block:
            more, held = everything_in(inner)
            intervals += more
            stalls += held
    return intervals, stalls


def all_bodies(body):
    yield body
    for inner in body.inner:
        yield from all_bodies(inner)
