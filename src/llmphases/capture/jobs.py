"""Fan-out: calls that belong together, wherever they run, and their wait for a worker."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from llmphases.capture.blocks import is_name
from llmphases.capture.current import begin_job, end_job, frame_here, is_off_here, wired
from llmphases.capture.marks import leave
from llmphases.capture.pools import Pool, results
from llmphases.capture.progress import Progress
from llmphases.capture.workers import Piece, arrive, is_async
from llmphases.errors import ArgumentError
from llmphases.observers import Frame, OpenJob, never_raises

T = TypeVar("T")
R = TypeVar("R")


class LlmJob:
    """Calls that belong together: ``with llm_job("boxes", workers=4) as job:`` (or async).

    Calls made inside, by `map` and `submit` on any executor, or by any other way that keeps the
    context (`asyncio.gather`, a `TaskGroup`, `asyncio.to_thread`), become children of the job's
    span. Leaving the block waits for all work that was handed over; when an exception leaves it,
    what has not begun is cancelled.
    """

    def __init__(
        self, name: str, *, workers: int | None, executor: Executor | None, progress: bool | None
    ) -> None:
        self.name = name
        self._told_workers = workers
        self.workers = workers or min(32, (os.cpu_count() or 1) + 4)
        """How many threads are started, and how many coroutines `map` runs at once."""
        self._executor = executor
        self._wants_progress = progress
        self._is_open = False
        self._forget()

    def _forget(self) -> None:
        self._pool = Pool(self._executor, workers=self.workers, name=self.name)
        self._job: OpenJob | None = None
        self._context: Any = None
        self._token: Any = None
        self._free: Any = None
        """How many more coroutines may run; of the loop it is first used in."""
        self._progress = Progress(self.name, wanted=self._wants_progress)

    # --- as a block --------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """The job begins."""
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for what was handed over, then end."""
        try:
            self._pool.settle(cancel=error is not None)
        finally:
            self._end()

    async def __aenter__(self) -> Self:
        """The job begins."""
        self._open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The same, without blocking the loop."""
        try:
            if not self._pool.is_idle:
                import asyncio  # loaded: a loop is running

                await asyncio.to_thread(self._pool.settle, cancel=error is not None)
        finally:
            self._end()

    def _open(self) -> None:
        if self._is_open:
            raise ArgumentError(f"llm_job({self.name!r}): it is open already; make another one")
        self._forget()
        self._is_open = True
        self._begin()

    @never_raises
    def _begin(self) -> None:
        if is_off_here():
            return
        wiring = wired()
        variable, carrier = wiring.carrier.variable, wiring.carrier
        job = begin_job(self.name, self._told_workers)
        around = carrier.frame_of(job.base)
        inside = Frame(
            call=around.call if around is not None else None,
            block=around.block if around is not None else None,
            job=job,
            owner=job,
        )
        self._job = job
        self._context = carrier.enter(job.base, inside)
        self._token = variable.set(self._context)

    @never_raises
    def _end(self) -> None:
        self._is_open = False
        self._progress.finish()
        token, self._token = self._token, None
        if token is not None:
            leave(token)
        if self._job is not None:
            end_job(self._job)

    # --- work --------------------------------------------------------------------------------

    def submit(self, function: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Run `function(*args, **kwargs)` on a worker; the wait for it is `queue_wait`.

        `await asyncio.wrap_future(job.submit(...))` waits for it in asynchronous code. Raises
        `ArgumentError` outside the job's block and for coroutine functions, which `map` takes.
        """
        self._check("submit", function)
        if is_async(function):
            raise ArgumentError(
                f"job.submit({_named(function)}): a coroutine function cannot run on a worker; "
                f"use `await job.map({_named(function)}, [...])`"
            )
        return self._submit(function, args, kwargs)

    @overload
    def map(  # type: ignore[overload-overlap]  # a coroutine function is also a function
        self, function: Callable[[T], Awaitable[R]], items: Iterable[T], /
    ) -> Awaitable[list[R]]: ...
    @overload
    def map(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]: ...
    def map(self, function: Any, items: Any, /) -> Any:
        """`function` over `items`, results in the order of the items.

        For a function an iterator, as `Executor.map` gives: everything is submitted at once, an
        exception is raised where its result would be, and what has not begun is cancelled then,
        or when the iterator is closed. For a coroutine function (`async def`, also behind
        `functools.partial` or as an object's `__call__`) an awaitable of a list, `workers` at a
        time; the first exception cancels the others.

        Raises `ArgumentError` outside the job's block and for arguments of the wrong kind.
        """
        self._check("map", function)
        try:
            given = list(items)
        except TypeError as error:
            if hasattr(type(items), "__iter__"):
                raise
            raise ArgumentError(
                f"job.map: items={items!r}; expected a list or anything else to iterate over"
            ) from error
        if is_async(function):
            return self._map_async(function, given)
        return results([self._submit(function, (item,), {}) for item in given])

    def _check(self, what: str, function: Any) -> None:
        if not callable(function):
            raise ArgumentError(f"job.{what}({function!r}): expected a function to run, first")
        if not self._is_open:
            raise ArgumentError(
                f"job.{what}({_named(function)}): the job {self.name!r} is not open; hand work "
                f"over inside `with llm_job({self.name!r}) as job:`"
            )

    def _submit(self, function: Callable[..., R], args: Any, kwargs: Any) -> Future[R]:
        future = self._pool.submit(self._piece(function) or function, args, kwargs)
        self._count(1)
        future.add_done_callback(self._progress.one_done)
        return future

    async def _map_async(self, function: Callable[[T], Awaitable[R]], items: list[T]) -> list[R]:
        import asyncio  # loaded: a loop is running

        if self._free is None:
            self._free = asyncio.Semaphore(self.workers)
        place = self._place()
        self._count(len(items))
        tasks = [asyncio.create_task(self._run(function, item, place)) for item in items]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _run(self, function: Callable[[T], Awaitable[R]], item: T, place: Any) -> R:
        async with self._free:
            token = None if place is None else arrive(*place)
            try:
                return await function(item)
            finally:
                if token is not None:
                    leave(token)
                self._progress.one_done()

    # --- where it runs -----------------------------------------------------------------------

    @never_raises
    def _piece(self, function: Callable[..., Any]) -> Piece | None:
        return None if self._job is None else Piece(self._job, self._here(), function)

    @never_raises
    def _place(self) -> tuple[OpenJob, Any, int] | None:
        return None if self._job is None else (self._job, self._here(), wired().now())

    def _here(self) -> Any:
        """The current context, if it is the job's: with spans and baggage of the program's own."""
        frame = frame_here()
        if frame is not None and frame.job is self._job and frame.owner in {self._job, None}:
            return wired().carrier.variable.get()
        return self._context

    @never_raises
    def _count(self, pieces: int) -> None:
        job = self._job
        self._progress.more(pieces)
        if job is not None:
            job.workers = self.workers
            for _ in range(pieces):
                next(job.pieces)


def _named(function: Any) -> str:
    return getattr(function, "__name__", None) or repr(function)


def llm_job(
    name: str,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> LlmJob:
    """Calls that belong together, and their workers.

    Args:
        name: the name of the job's span.
        workers: how many calls run at once; default: what `executor` has, else as many as
            `ThreadPoolExecutor` would start threads. With an `executor` it is only told: that
            decides how many run.
        executor: any `concurrent.futures` executor, process pools too; it stays yours to shut
            down. Default: threads of the job's own. A pool that pickles by code (loky, dask)
            sees functions of the main program undecorated, but for the one handed over itself:
            put decorated functions in a module.
        progress: a line on stderr while it runs; default: on a terminal, for jobs over 2 s.

    Raises:
        ArgumentError: for a wrong name, number of workers, executor or progress.
    """
    if not is_name(name):
        raise ArgumentError(f"llm_job: name={name!r}; expected a text that is not empty")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise ArgumentError(
            f"llm_job: executor={executor!r}; expected a concurrent.futures executor, such as "
            f"ProcessPoolExecutor(4), or leave it out for threads"
        )
    if progress is not None and not isinstance(progress, bool):
        raise ArgumentError(
            f"llm_job: progress={progress!r}; expected True or False, or leave it out"
        )
    known = _number_of(workers, executor)
    return LlmJob(name, workers=known, executor=executor, progress=progress)


def _number_of(workers: int | None, executor: Executor | None) -> int | None:
    if workers is None:
        given = getattr(executor, "_max_workers", None)
        return given if _is_count(given) else None
    if not _is_count(workers):
        raise ArgumentError(
            f"llm_job: workers={workers!r}; expected a whole number, 1 or more, or leave it out"
        )
    return workers


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
