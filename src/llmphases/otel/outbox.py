"""A bounded queue with one worker that hands its items on in batches.

Nothing here ever blocks whoever puts an item in: no lock is held there that a signal handler or
the garbage collector, coming in between, could wait for.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

from llmphases.observers import never_raises

T = TypeVar("T")


class Outbox(Generic[T]):
    """Hands items to `deliver` in batches, in a daemon thread.

    `deliver` is called with at most `batch_size` items every `delay_s` seconds, or as soon as a
    batch is full; what it raises is logged once, and its batch is lost. Beyond `capacity` waiting
    items the oldest are dropped, and counted. `prepare` is called once in each worker.
    """

    def __init__(
        self,
        deliver: Callable[[list[T]], object],
        *,
        capacity: int,
        batch_size: int,
        delay_s: float,
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self.capacity = capacity
        self.dropped = 0
        """How many items were dropped because too many were waiting."""
        self._deliver = never_raises(deliver)
        self._prepare = prepare
        self._batch_size = batch_size
        self._delay_s = delay_s
        self._become_empty()
        self.start()

    def _become_empty(self) -> None:
        self._queue: deque[T] = deque(maxlen=self.capacity)
        self._drops = itertools.count(1)
        self._bell = Lock()
        self._bell.acquire()
        self._waiting: deque[Event] = deque()
        self.is_closing = False
        """Whether it takes nothing more."""
        self._closed = Event()
        self._starting = Lock()
        self._worker: Thread | None = None

    def start(self) -> None:
        """Start the worker if there is none: after a fork there is not, and it may have died."""
        if self._worker is not None or self.is_closing:
            return
        if self._starting.acquire(blocking=False):  # else somebody else is just doing it
            self._worker = Thread(target=self._work, name="llmphases-outbox", daemon=True)
            try:
                self._worker.start()
            except RuntimeError:  # the interpreter is on its way out
                self._worker = None
            self._starting.release()

    def forget(self) -> None:
        """Begin anew in a forked child: what waits is the parent's to deliver."""
        self.dropped = 0
        self._become_empty()

    def put(self, item: T) -> None:
        """Leave an item; after `close` it is dropped, and not counted: there was room enough."""
        if self.is_closing:
            return
        if self._worker is None:
            self.start()
        queue = self._queue
        if len(queue) >= self.capacity:
            self.dropped = next(self._drops)
        queue.append(item)
        if len(queue) >= self._batch_size and self._bell.locked():
            self._ring()

    def hurry(self) -> None:
        """Have what waits delivered now, not only when a batch is full or time is up."""
        if self._queue:
            self._ring()

    def flush(self, timeout_s: float) -> bool:
        """Have everything delivered that was put before; whether that was done in time."""
        if self._queue:
            self.start()
        if self._worker is None:
            return not self._queue
        if self.is_closing:
            return self.wait(timeout_s)
        delivered = Event()
        self._waiting.append(delivered)
        self._ring()
        return delivered.wait(timeout_s)

    def close(self) -> None:
        """Take nothing more and deliver the rest; does not wait for it."""
        if self._queue:
            self.start()
        self.is_closing = True
        if self._worker is None:
            self._closed.set()
        self._ring()

    def wait(self, timeout_s: float) -> bool:
        """Wait until everything is delivered after `close`; whether it was in time."""
        return self._closed.wait(timeout_s)

    def __len__(self) -> int:
        return len(self._queue)

    def _ring(self) -> None:
        # A lock as a bell: releasing it is one step, where Event.set() holds a lock of its own.
        with suppress(RuntimeError):  # it is ringing already
            self._bell.release()

    def _work(self) -> None:
        try:
            self._prepare()
            while not self._closed.is_set():
                self._bell.acquire(timeout=self._delay_s)
                self._deliver_round()
        finally:
            self._worker = None

    def _deliver_round(self) -> None:
        is_last = self.is_closing
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        # Not until the queue is empty: who puts in as fast as we take out would keep those waiting
        # who asked for no more than was there. The last round takes what came in between as well.
        left = len(self._queue)
        while self._queue and (left > 0 or is_last):
            batch = self._next_batch()
            left -= len(batch)
            self._deliver(batch)
        for delivered in waiting:
            delivered.set()
        if is_last:
            self._closed.set()

    def _next_batch(self) -> list[T]:
        batch: list[T] = []
        with suppress(IndexError):  # a full queue drops its oldest while we take them
            while len(batch) < self._batch_size:
                batch.append(self._queue.popleft())
        return batch
