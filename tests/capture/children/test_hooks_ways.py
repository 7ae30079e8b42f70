"""However a program reads its child, it gets what it would have got, and the stamps are right."""

from __future__ import annotations

import time

import pytest

from capture.children import ways_to_read as ways
from capture.children.tools_of_ours import SPLIT, SPLIT_OR_NOT, phases
from lab.tries import tries
from llmphases import llm_call
from llmphases.phases import Phase

pytestmark = pytest.mark.slow
NEAR_NS = 40_000_000
"""Much more than the stamps are off on a machine at rest, and less than the child's pauses."""


def each(these):
    return pytest.mark.parametrize("way", these, ids=lambda way: way.__name__)


@pytest.fixture
def child(tmp_path):
    return ways.Child.made(tmp_path)


def traced(way, child, calls):
    """What a way gives inside a traced call, and the call."""
    with llm_call("a way to read"):
        result = way(child)
    return result, calls[-1]


@each(ways.STREAMED + ways.NOT_SEEN + ways.OTHER)
def test_a_program_gets_the_same(way, tmp_path, calls, hooked):
    child = ways.Child.made(tmp_path, pace=0.1)
    got, _ = traced(way, child, calls)
    assert got == way(child)  # outside a call: not touched


@each(ways.STREAMED)
def test_a_reader_that_waits_tells_start_generation_and_exit(way, child, calls, hooked):
    for attempt in tries():
        _, call = traced(way, child, calls)
        first_ns, last_ns, gone_ns = child.truth()
        assert phases(call) in SPLIT_OR_NOT
        assert call.process.exit_code == 0
        assert call.exclusive_ns.get(Phase.PROCESS_STARTUP, 100_000_001) > 100_000_000
        with attempt:
            assert phases(call) == SPLIT
            assert abs(call.exclusive_ns[Phase.GENERATION] - (last_ns - first_ns)) < NEAR_NS
            assert abs(call.exclusive_ns[Phase.PROCESS_SHUTDOWN] - (gone_ns - last_ns)) < NEAR_NS


@each(ways.NOT_SEEN)
def test_output_that_nobody_saw_arriving_tells_no_first_token(way, child, calls, hooked):
    for attempt in tries():
        began_ns = time.perf_counter_ns()
        _, call = traced(way, child, calls)
        _, _, gone_ns = child.truth()
        assert phases(call) in SPLIT_OR_NOT
        assert call.process.exit_code == 0
        assert call.process.cpu_ns > 0
        with attempt:
            assert phases(call) == {"inference"}
            assert call.first_token_ns is None
            # also where the program waits long after the exit
            assert abs(call.process.wall_ns - call.exclusive_ns[Phase.INFERENCE]) < NEAR_NS
            assert abs(call.process.wall_ns - (gone_ns - began_ns)) < NEAR_NS
