"""The executor that a job hands its work to, and what it has not done yet."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

R = TypeVar("R")


class Pool:
    """An executor given by the program, which stays its own, or threads started when needed.

    In a forked child it is empty: the threads that would do the work are the parent's.
    """

    def __init__(self, executor: Executor | None, *, workers: int, name: str) -> None:
        self._given = executor
        self._workers = workers
        self._name = name
        self._become_empty()

    def _become_empty(self) -> None:
        self._own: Executor | None = None
        self._outstanding: set[Future[Any]] = set()
        self._changed = threading.Condition()
        self._process = os.getpid()

    def _leave_to_parent(self) -> None:
        """In a forked child: what was handed over is never done here, and locks may be held."""
        if self._process != os.getpid():
            self._become_empty()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to wait for."""
        self._leave_to_parent()
        return not self._outstanding and self._own is None

    def submit(self, work: Callable[..., R], args: Any, kwargs: Any) -> Future[R]:
        """Hand work over; `settle` will wait for it."""
        self._leave_to_parent()
        future: Future[R] = self._executor().submit(work, *args, **kwargs)
        with self._changed:
            self._outstanding.add(future)
        future.add_done_callback(self._done)
        return future

    def settle(self, *, cancel: bool) -> None:
        """Wait for all that was handed over, without what has not begun if `cancel`."""
        self._leave_to_parent()
        if cancel:
            with self._changed:
                waiting = list(self._outstanding)
            for future in waiting:
                future.cancel()
        with self._changed:
            self._changed.wait_for(lambda: not self._outstanding)
        own, self._own = self._own, None
        if own is not None:
            own.shutdown(wait=True)

    def _executor(self) -> Executor:
        if self._given is not None:
            return self._given
        with self._changed:
            if self._own is None:
                self._own = ThreadPoolExecutor(self._workers, thread_name_prefix=self._name)
            return self._own

    def _done(self, future: Future[Any]) -> None:
        self._leave_to_parent()
        with self._changed:
            self._outstanding.discard(future)
            self._changed.notify_all()


def results(futures: list[Future[R]]) -> Iterator[R]:
    """Their results in order; at the first exception, or when closed, the rest is cancelled."""
    futures.reverse()
    try:
        while futures:
            yield _result_of(futures.pop())
    finally:
        for future in futures:
            future.cancel()


def _result_of(future: Future[R]) -> R:
    """Its result; interrupted meanwhile, it need not begin any more."""
    try:
        return future.result()
    finally:
        future.cancel()
