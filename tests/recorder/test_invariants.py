"""Whatever a program does, in whatever order, and whatever its clock says: what always holds."""

from __future__ import annotations

from itertools import combinations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmphases.calls import ProcessUse, Usage
from llmphases.observers import OpenPhase
from llmphases.phases import BLOCKS, Phase
from llmphases.recorder.children import ChildRecorder
from llmphases.recorder.reported import ReportedTimes
from recorder.hand_driven import START_NS, HandDriven, Listener, assert_exact, no_fault, recorder

KEYS = st.sampled_from(["a", "b"])
WHICH = st.integers(0, 5)
SCALES = (1, 300, 1_000, 700_000, 30_000_000)

MOMENTS = st.one_of(
    st.tuples(st.just("open block"), WHICH, st.sampled_from(sorted(BLOCKS)), KEYS, st.booleans()),
    st.tuples(st.just("close block"), WHICH, st.booleans()),
    st.tuples(st.just("open step"), WHICH, st.booleans()),
    st.tuples(st.just("sent"), WHICH, KEYS),
    st.tuples(st.just("request ended"), WHICH, st.booleans()),
    st.tuples(st.just("waits for"), WHICH, st.sampled_from(["connect", "send", None])),
    st.tuples(st.just("first token"), WHICH, KEYS, st.integers(1, 2)),
    st.tuples(st.just("last token"), WHICH, KEYS),
    st.tuples(st.just("open stream"), WHICH, KEYS, st.booleans(), st.booleans()),
    st.tuples(st.just("chunk"), WHICH, st.integers(0, 2)),
    st.tuples(st.just("ask"), WHICH),
    st.tuples(st.just("end stream"), WHICH, st.booleans()),
    st.tuples(st.just("report"), WHICH, KEYS, st.tuples(*[st.none() | st.integers(-5, 40)] * 3)),
    st.tuples(st.just("say"), WHICH),
    st.tuples(st.just("begin inner"), WHICH, st.booleans()),
    st.tuples(st.just("finish"), WHICH),
    st.tuples(st.just("spawn"), WHICH),
    st.tuples(st.just("child"), WHICH, st.sampled_from(
        ["ready", "event", "first_token", "last_token", "answered", "failed", "resent",
         "tool_result", "text", "told_text", "exited", "used", "not_spawned"])),
)  # fmt: skip


class Machine:
    """Does what the moments say, to whichever of the things there are."""

    def __init__(self, scale):
        self.scale = scale
        self.now = START_NS
        self.latest = START_NS
        self.heard = Listener()
        self.outermost = recorder(self.heard, self.now)
        self.calls = [self.outermost]
        self.blocks, self.requests, self.streams, self.children = [], [], [], []

    def pass_time(self, ticks):
        self.now += ticks * self.scale
        self.latest = max(self.latest, self.now)

    def do(self, what, which, *how):
        getattr(self, "do_" + what.replace(" ", "_"))(which, *how)

    @staticmethod
    def one_of(things, which):
        return things[which % len(things)] if things else None

    def call(self, which):
        return self.calls[which % len(self.calls)]

    def do_open_block(self, which, phase, key, is_inside):
        call = self.call(which)
        around = self.around(call, is_inside)
        self.keep(call, call.open_block(phase, self.now, parent=around, key=key))

    def do_open_step(self, which, is_inside):
        call = self.call(which)
        self.keep(call, call.open_step("step", self.now, parent=self.around(call, is_inside)))

    def keep(self, call, block):
        if block is not None:
            self.blocks.append((call, block))

    def around(self, call, is_inside):
        mine = [b for c, b in self.blocks if c is call]
        return mine[-1] if mine and is_inside else None

    def do_close_block(self, which, is_error):
        if self.blocks:
            call, block = self.one_of(self.blocks, which)
            call.close_block(block, self.now, "ValueError" if is_error else None)

    def do_sent(self, which, key):
        call = self.call(which)
        request = call.request_sent(self.now, key)
        if request is not None:
            self.requests.append((call, request))

    def do_request_ended(self, which, failed):
        if self.requests:
            call, request = self.one_of(self.requests, which)
            call.request_ended(request, self.now, failed=failed)

    def do_waits_for(self, which, what):
        if self.requests:
            call, request = self.one_of(self.requests, which)
            call.waits_for(request, self.now, what)

    def do_first_token(self, which, key, kind):
        self.call(which).first_token(self.now, key, kind=kind, inside_block=which == 0)

    def do_last_token(self, which, key):
        self.call(which).last_token(self.now, key, inside_block=which == 0)

    def do_open_stream(self, which, key, own, handed_over):
        stream = HandDriven(self.call(which), self.now, key, own=own, handed_over=handed_over)
        if stream.track is not None:
            self.streams.append(stream)

    def stream(self, which):
        return self.one_of([s for s in self.streams if not s.is_over], which)

    def do_chunk(self, which, kind):
        if stream := self.stream(which):
            stream.chunk(self.now, kind)

    def do_ask(self, which):
        if stream := self.stream(which):
            stream.asked(self.now)

    def do_end_stream(self, which, failed):
        if stream := self.stream(which):
            stream.end(self.now, failed=failed)

    def do_report(self, which, key, ticks):
        queue, prefill, generation = (None if n is None else n * self.scale for n in ticks)
        times = ReportedTimes(queue_ns=queue, prefill_ns=prefill, generation_ns=generation)
        self.call(which).report(times, key)

    def do_say(self, which):
        self.call(which).add_usage(Usage(output_tokens=3))
        self.call(which).cache("hit" if which % 2 else "miss")

    def do_begin_inner(self, which, inside_block):
        outer = self.call(which)
        if outer.is_open:
            self.calls.append(recorder(self.heard, self.now, outer, inside_block=inside_block))

    def do_finish(self, which):
        self.call(which).finish(self.now)

    def do_spawn(self, which):
        self.children.append(ChildRecorder(self.call(which), self.now, key=len(self.children)))

    def do_child(self, which, what):
        child = self.one_of(self.children, which)
        if child is None:
            return
        if what == "text":
            child.text(self.now - 2 * self.scale * which, self.now)
        elif what == "told_text":
            times = ReportedTimes(prefill_ns=self.scale, generation_ns=self.scale * which)
            child.text(self.now - self.scale * which, self.now, streams=True, times=times)
        elif what == "ready":
            child.ready(self.now, "init_event")
        elif what == "resent":
            child.failed(self.now, self.now + self.scale * which)
        elif what == "used":
            child.used(ProcessUse(pid=which))
        elif what == "not_spawned":
            child.not_spawned(self.now, "spawn failed")
        else:
            getattr(child, what)(self.now)

    def finish(self):
        for call in reversed(self.calls):
            call.finish(self.now)
        return self.heard


def programs(least):
    """A time scale, and moments with the ticks that pass before each."""
    return st.tuples(
        st.sampled_from(SCALES), st.lists(st.tuples(st.integers(least, 9), MOMENTS), max_size=30)
    )


def run(program):
    scale, moments = program
    with no_fault():
        machine = Machine(scale)
        for ticks, moment in moments:
            machine.pass_time(ticks)
            machine.do(*moment)
        machine.pass_time(1)
        return machine, machine.finish()


MANY = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])


@MANY
@given(program=programs(least=-4))
def test_the_sums_are_exact_whatever_happens_and_whatever_the_clock_says(program):
    """RC-077: also with a clock that goes back."""
    machine, heard = run(program)
    assert len(heard.records) == len(machine.calls)
    for record in heard.calls:
        assert_exact(record)


@MANY
@given(program=programs(least=-4))
def test_everything_that_begins_ends_exactly_once(program):
    _, heard = run(program)
    began = [span for what, span in heard.order if what == "began"]
    ended = [span for what, span in heard.order if what == "ended"]
    assert len(set(map(id, ended))) == len(ended)
    assert set(map(id, began)) == set(map(id, ended))
    assert not {id(p) for p in heard.written} & set(map(id, began))


@MANY
@given(program=programs(least=-4))
def test_every_span_has_a_length_and_lies_inside_its_parent(program):
    """RC-098, RC-097: a call that outlives the one around it is the one exception."""
    _, heard = run(program)
    for _, span in heard.order:
        assert type(span.drawn_start_us) is int
        assert type(span.drawn_end_us) is int
        assert span.drawn_end_us > span.drawn_start_us
        if isinstance(span, OpenPhase):
            parent = span.parent or span.call
            assert parent.drawn_start_us <= span.drawn_start_us
            assert span.drawn_end_us <= parent.drawn_end_us
        elif span.parent is not None:
            assert span.parent.drawn_start_us <= span.drawn_start_us


@MANY
@given(program=programs(least=0))
def test_what_comes_after_another_never_touches_it(program):
    """Siblings of which one had ended when the other began, live or written."""
    _, heard = run(program)
    ended, siblings = {}, {}
    for number, (what, span) in enumerate(heard.order):
        if what != "began":
            ended[span] = number
        if what != "ended":
            siblings.setdefault(drawn_under(span), []).append((number, span))
    for many in siblings.values():
        for (_, a), (b_began, b) in combinations(many, 2):
            if is_stall(a) or is_stall(b):
                continue
            if comes_after(b, a) and (ended[a] < b_began or is_drawn_to_scale(a)):
                assert a.drawn_end_us < b.drawn_start_us
            elif comes_after(a, b) and is_drawn_to_scale(b):
                assert b.drawn_end_us < a.drawn_start_us


def drawn_under(span):
    return span.parent or span.call if isinstance(span, OpenPhase) else span.parent


def is_stall(span):
    return isinstance(span, OpenPhase) and span.is_stall


def is_drawn_to_scale(span):
    """Not lengthened to the microsecond that every live span has at least."""
    return end_of(span) - span.start_ns >= 2_000


def comes_after(second, first):
    return end_of(first) <= second.start_ns


def end_of(span):
    return span.end_ns if isinstance(span, OpenPhase) else span.start_ns + span.record.duration_ns


@MANY
@given(program=programs(least=-4))
def test_a_phase_of_a_call_never_takes_more_than_its_stretches_cover(program):
    _, heard = run(program)
    for record in heard.calls:
        for phase, ns in record.outside_inner_ns.items():
            if phase is not Phase.TRANSMISSION:
                assert ns <= covered(s for s in record.stretches if s.phase is phase)


def covered(stretches):
    total, reach = 0, 0
    for stretch in sorted(stretches, key=lambda s: s.start_ns):
        total += max(0, stretch.end_ns - max(reach, stretch.start_ns))
        reach = max(reach, stretch.end_ns)
    return total
