"""What is seen of a child, as moments of its call; by a clock that moves when told."""

from __future__ import annotations

import os
import signal

import pytest

from capture.children.tools_of_ours import phases
from llmphases import llm_call
from llmphases.adapters.commands.registry import format_for
from llmphases.capture import current
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.capture.children.hooked_child import HookedChild
from llmphases.capture.children.observation import ChildObservation
from llmphases.capture.children.watcher import Watch, Watcher
from llmphases.phases import Phase

MS = 1_000_000
EXITED = 0


@pytest.fixture
def child(timed_calls, clock):
    """A child of an open call, spawned now; the call ends with the test's `end`."""
    with llm_call("ask") as _:
        frame = current.frame_here()
        call = current.recorder_of(frame)
        base = current.wired().carrier.variable.get()
        observation = ChildObservation(call, format_for(["tool"]), clock.now(), base)
        made = HookedChild(observation, clock.now(), clock.now)
        call.before_end(made.conclude)
        yield made


@pytest.fixture
def end(timed_calls):
    """Ends the call, and gives it."""

    def finish():
        current.end_call(current.recorder_of(current.frame_here()))
        return timed_calls[0]

    return finish


def watched(child, clock, *, output_ns=None, exit_ns=None):
    """What the watcher has seen of it."""
    child._watcher = Watcher(clock.now)
    child._watch = Watch(-1, None)
    child._watch.output_ns, child._watch.exit_ns = output_ns, exit_ns


def read_late(stream, data=b"all of it"):
    stream.read(data, waited=False, is_drained=True)


def test_a_reader_that_waits_gives_start_generation_and_shutdown(child, clock, end):
    stream = child.stream(STDOUT)
    clock.tick(2.0)
    stream.read(b"one", waited=True, is_drained=True)
    clock.tick(7.8)
    stream.read(b"two", waited=True, is_drained=True)
    stream.ended()
    clock.tick(0.2)
    child.reaped(EXITED, None, waited=True)
    call = end()
    assert call.exclusive_ns == {
        Phase.PROCESS_STARTUP: 2000 * MS,
        Phase.GENERATION: 7800 * MS,
        Phase.PROCESS_SHUTDOWN: 200 * MS,
    }


def test_a_late_reader_tells_no_more_than_that_it_took_its_time(child, clock, end):
    stream = child.stream(STDOUT)
    clock.tick(2.0)
    read_late(stream)
    stream.ended()
    child.reaped(EXITED, None, waited=True)
    assert end().exclusive_ns == {Phase.INFERENCE: 2000 * MS}


def test_the_watcher_saw_the_first_byte_that_is_read_late(child, clock, end):
    """The rest of what was read may have come at any time between."""
    stream = child.stream(STDOUT)
    start_ns = clock.now()
    clock.tick(2.0)
    watched(child, clock, output_ns=start_ns + 500 * MS)
    read_late(stream)
    clock.tick(1.0)
    stream.read(b"seen", waited=True, is_drained=True)
    stream.ended()
    child.reaped(EXITED, None, waited=True)
    call = end()
    assert call.exclusive_ns[Phase.PROCESS_STARTUP] == 500 * MS
    assert call.exclusive_ns[Phase.GENERATION] == 2500 * MS


def test_the_watcher_right_before_a_read_is_as_good_as_having_waited(child, clock, end):
    stream = child.stream(STDOUT)
    clock.tick(1.0)
    watched(child, clock, output_ns=clock.now())
    clock.tick(0.004)
    read_late(stream)
    stream.ended()
    child.reaped(EXITED, None, waited=True)
    assert end().exclusive_ns[Phase.INFERENCE] == 1004 * MS  # one burst, all of it known


def test_a_burst_that_woke_its_reader_late_does_not_stream(child, clock, end):
    """On a busy machine the watcher sees it, and the thread that waits for it comes later."""
    stream = child.stream(STDOUT)
    clock.tick(1.0)
    watched(child, clock, output_ns=clock.now())
    clock.tick(0.06)
    stream.read(b"all of it", waited=True, is_drained=True)
    stream.ended()
    child.reaped(EXITED, None, waited=True)
    assert end().exclusive_ns == {Phase.INFERENCE: 1060 * MS}


def test_a_stamp_of_the_watcher_after_our_own_changes_nothing(child, clock, end):
    stream = child.stream(STDOUT)
    clock.tick(1.0)
    watched(child, clock, output_ns=clock.now() + 50 * MS)
    stream.read(b"one", waited=True, is_drained=True)
    clock.tick(1.0)
    stream.read(b"two", waited=True, is_drained=True)
    stream.ended()
    child.reaped(EXITED, None, waited=True)
    assert end().exclusive_ns[Phase.PROCESS_STARTUP] == 1000 * MS


def test_the_exit_is_what_the_watcher_saw_however_late_the_wait(child, clock, end):
    start_ns = clock.now()
    clock.tick(5.0)
    watched(child, clock, exit_ns=start_ns + 1000 * MS)
    child.reaped(EXITED, None, waited=False)
    call = end()
    assert call.exclusive_ns == {Phase.INFERENCE: 1000 * MS}
    assert call.process.wall_ns == 1000 * MS


def test_without_the_watcher_a_late_wait_tells_no_exit(child, clock, end):
    clock.tick(5.0)
    child.reaped(EXITED, None, waited=False)
    assert end().process.wall_ns is None


def test_without_the_watcher_bounds_may_be_close_enough(child, clock, end):
    clock.tick(1.0)
    child.seen_running()
    clock.tick(0.003)
    child.reaped(EXITED, None, waited=False)
    assert end().process.wall_ns == 1003 * MS


def test_the_end_of_all_outputs_and_the_exit_are_awaited_in_any_order(child, clock, end):
    """A thread may reap it before the event loop has read the rest."""
    out, err = child.stream(STDOUT), child.stream(STDERR)
    clock.tick(1.0)
    out.read(b"one", waited=True, is_drained=True)
    clock.tick(1.0)
    child.reaped(EXITED, None, waited=True)
    out.read(b"two", waited=True, is_drained=True)
    out.ended()
    err.ended()
    assert Phase.GENERATION in end().exclusive_ns


def test_what_its_call_did_not_live_to_see_is_told_as_far_as_it_went(child, clock, end):
    stream = child.stream(STDOUT)
    clock.tick(1.0)
    stream.read(b"one", waited=True, is_drained=True)
    clock.tick(1.0)
    stream.read(b"two", waited=True, is_drained=True)
    call = end()
    assert phases(call) == {"process_startup", "generation"}
    stream.read(b"three", waited=True, is_drained=True)
    stream.ended()
    child.reaped(EXITED, None, waited=True)


def test_it_is_over_once(child, clock, end):
    over = []
    child.when_over(lambda: over.append("over"))
    stream = child.stream(STDOUT)
    stream.ended()
    assert over == []
    child.reaped(signal.SIGKILL, None, waited=True)
    child.conclude()
    end()
    assert over == ["over"]


def test_in_a_forked_process_nobody_is_told(child, clock, end):
    stream = child.stream(STDOUT)
    child.forget()
    read_late(stream)
    stream.ended()
    child.reaped(EXITED, None, waited=True)
    child.conclude()


def test_a_pipe_is_seen_to_be_empty(child):
    read_fd, write_fd = os.pipe()
    stream = child.stream(STDOUT)
    assert stream.is_empty(read_fd)
    os.write(write_fd, b"x")
    assert not stream.is_empty(read_fd)
    os.close(write_fd)
    os.close(read_fd)
