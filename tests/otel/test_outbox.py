"""The queue between a traced program and its exporter."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from llmphases.otel.outbox import Outbox

_SOON = 60.0
_NEVER = 3600.0


def _outbox(deliver: Callable[[list[int]], Any], **options: Any) -> Outbox[int]:
    return Outbox(deliver, **{"capacity": 100, "batch_size": 10, "delay_s": _NEVER, **options})


def test_a_flush_delivers_everything_in_order_and_in_batches():
    batches: list[list[int]] = []
    outbox = _outbox(batches.append)
    for number in range(7):
        outbox.put(number)
    assert outbox.flush(_SOON)
    assert batches == [list(range(7))]


def test_a_full_batch_goes_out_without_a_flush():
    went = threading.Event()
    outbox = _outbox(lambda batch: went.set())
    for number in range(10):
        outbox.put(number)
    assert went.wait(_SOON)


def test_a_lone_item_goes_out_after_the_delay():
    went = threading.Event()
    outbox = _outbox(lambda batch: went.set(), delay_s=0.01)
    outbox.put(1)
    assert went.wait(_SOON)


def test_closing_delivers_the_rest_and_takes_nothing_more():
    batches: list[list[int]] = []
    outbox = _outbox(batches.append)
    outbox.put(1)
    outbox.close()
    assert outbox.wait(_SOON)
    outbox.put(2)
    assert batches == [[1]]
    assert (len(outbox), outbox.dropped) == (0, 0)


def test_a_hanging_delivery_blocks_neither_put_nor_anyone_who_waits():
    """RC-080"""
    hanging, go_on = threading.Event(), threading.Event()

    def hang(batch: list[int]) -> None:
        hanging.set()
        go_on.wait()

    outbox = _outbox(hang)
    for number in range(10):
        outbox.put(number)
    assert hanging.wait(_SOON)
    for number in range(1000):
        outbox.put(number)
    assert not outbox.flush(0.01)
    outbox.close()
    assert not outbox.wait(0.01)
    go_on.set()
    assert outbox.wait(_SOON)


def test_beyond_its_capacity_the_oldest_are_dropped_and_counted():
    """RC-086"""
    batches: list[list[int]] = []
    outbox = _outbox(batches.append, capacity=4, batch_size=1000)
    for number in range(10):
        outbox.put(number)
    assert outbox.flush(_SOON)
    assert batches == [[6, 7, 8, 9]]
    assert outbox.dropped == 6


def test_many_threads_lose_nothing():
    got: list[int] = []
    outbox = _outbox(got.extend, capacity=10_000, batch_size=64)
    threads = [
        threading.Thread(target=lambda n=n: [outbox.put(n * 1000 + i) for i in range(1000)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outbox.close()
    assert outbox.wait(_SOON)
    assert sorted(got) == list(range(8000))


def test_a_child_forgets_what_its_parent_has_to_deliver():
    got: list[int] = []
    outbox = _outbox(got.extend)
    outbox.put(1)
    outbox.forget()
    assert len(outbox) == 0
    outbox.start()
    outbox.put(2)
    assert outbox.flush(_SOON)
    assert got == [2]


def test_each_worker_is_prepared_once():
    prepared: list[str] = []
    outbox = _outbox(lambda batch: None, prepare=lambda: prepared.append("x"))
    for _ in range(3):
        outbox.start()
    outbox.put(1)
    outbox.flush(_SOON)
    assert prepared == ["x"]


def test_a_delivery_that_raises_loses_its_own_batch_only():
    got: list[int] = []

    def deliver(batch: list[int]) -> None:
        if 1 in batch:
            raise ValueError("no")
        got.extend(batch)

    outbox = _outbox(deliver)
    for number in (1, 2):
        outbox.put(number)
        assert outbox.flush(_SOON)
    assert got == [2]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("by", ["put", "flush", "close"])
def test_a_worker_that_has_died_is_replaced(by: str):
    got: list[int] = []
    dying = threading.Event()

    def deliver(batch: list[int]) -> None:
        if not dying.is_set():
            dying.set()
            raise SystemExit  # ends its thread, without a word
        got.extend(batch)

    outbox = _outbox(deliver, batch_size=1)
    worker = outbox._worker
    assert worker is not None
    outbox.put(1)
    worker.join(_SOON)
    if by == "put":
        outbox.put(2)
    else:
        outbox._queue.append(2)  # as if it had died just after that
    if by == "close":
        outbox.close()
        assert outbox.wait(_SOON)
    else:
        assert outbox.flush(_SOON)
    assert got == [2]


def test_what_was_begun_before_a_fork_is_delivered_though_nothing_starts_after_it():
    got: list[int] = []
    outbox = _outbox(got.extend)
    outbox.forget()
    outbox.put(2)
    assert outbox.flush(_SOON)
    assert got == [2]


def test_a_flush_ends_though_more_comes_in_than_goes_out():
    """It waits for what was there when it was asked."""
    delivered: list[int] = []

    def deliver(batch: list[int]) -> None:
        delivered.extend(batch)
        for _ in range(2 * len(batch)):
            outbox.put(1)

    outbox = _outbox(deliver, capacity=10_000, batch_size=10)
    outbox.put(0)
    assert outbox.flush(_SOON)
    assert delivered[0] == 0


def test_closing_delivers_what_comes_in_while_the_last_round_begins():
    got: list[int] = []
    outbox = _outbox(got.extend, batch_size=2)
    for number in range(5):
        outbox.put(number)
    outbox.close()
    assert outbox.wait(_SOON)
    assert got == list(range(5))
