"""Whether an event loop was waiting when something became ready."""

from __future__ import annotations

import asyncio
import os
import selectors

import pytest

from llmphases.capture.children.loop_waits import LoopWaits, waits_of
from llmphases.testing import FakeClock


@pytest.fixture
def selector():
    with selectors.DefaultSelector() as made:
        yield made


@pytest.fixture
def pipe(selector):
    """The writing end of a pipe that the selector watches."""
    read_fd, write_fd = os.pipe()
    selector.register(read_fd, selectors.EVENT_READ)
    yield write_fd
    os.close(read_fd)
    os.close(write_fd)


def test_what_lies_there_woke_nobody(selector, pipe):
    waits = LoopWaits(selector, FakeClock().now)
    waits.begin()
    os.write(pipe, b"x")
    assert len(selector.select(10)) == 1
    assert waits.woken_ns is None


def test_what_comes_while_it_waits_wakes_it(selector, pipe):
    clock = FakeClock()
    waits = LoopWaits(selector, clock.now)
    waits.begin()
    assert selector.select(0.001) == []
    assert waits.woken_ns == clock.now()
    assert selector.select(0) == []
    assert waits.woken_ns is None


def test_it_is_gone_with_its_last_user(selector):
    plain = selector.select
    waits = LoopWaits(selector, FakeClock().now)
    waits.begin()
    waits.begin()
    waits.end()
    assert selector.select != plain
    waits.end()
    assert selector.select == plain
    assert "select" not in selector.__dict__


def test_children_of_one_loop_share_it(selector):
    class Loop:
        _selector = selector

    first = waits_of(Loop(), FakeClock().now)
    first.begin()
    assert waits_of(Loop(), FakeClock().now) is first
    first.end()
    assert waits_of(Loop(), FakeClock().now) is not first


def test_a_loop_without_a_selector_has_none():
    assert waits_of(object(), FakeClock().now) is None


def test_a_real_loop_works_on(selector):
    async def program():
        waits = waits_of(asyncio.get_running_loop(), FakeClock().now)
        waits.begin()
        await asyncio.sleep(0.01)
        first = await asyncio.to_thread(lambda: "threads too")
        waits.end()
        await asyncio.sleep(0)
        return first

    assert asyncio.run(program()) == "threads too"
