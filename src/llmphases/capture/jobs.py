"""Fan-out: calls that belong together, wherever they run, and their wait for a worker."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from llmphases.capture.blocks import is_name
from llmphases.capture.current import is_disabled, recorder_of, wired
from llmphases.capture.marks import leave
from llmphases.capture.progress import Progress
from llmphases.capture.workers import Parcel, pack, run_parcel
from llmphases.errors import ArgumentError
from llmphases.observers import Frame, OpenJob, OpenPhase, never_raises
from llmphases.phases import Phase

T = TypeVar("T")
R = TypeVar("R")


class LlmJob:
    """Calls that belong together: ``with llm_job("boxes", workers=4) as job:`` (or async).

    Calls made inside, by `map` and `submit` on any executor, or by any other way that keeps the
    context (`asyncio.gather`), become children of the job's span.
    """

    def __init__(self, name: str, workers: int, executor: Executor | None, progress: bool | None):
        self.name = name
        self.workers = workers
        self._executor = executor
        self._pool: Executor | None = None
        self._job: OpenJob | None = None
        self._token: Any = None
        self._context: Any = None
        self._progress = Progress(name, wanted=progress)

    # --- as a block --------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """The job begins."""
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for what was submitted to our own threads, then end."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=error is not None)
        self._end()

    async def __aenter__(self) -> Self:
        """The job begins."""
        self._begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The job ends; what was submitted to threads is waited for without blocking the loop."""
        pool, self._pool = self._pool, None
        if pool is not None:
            import asyncio  # noqa: PLC0415  # loaded: a loop is running

            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=error is not None)
        self._end()

    @never_raises
    def _begin(self) -> None:
        if is_disabled():
            return
        wiring = wired()
        variable = wiring.carrier.variable
        base = variable.get()
        frame = wiring.carrier.frame_of(base)
        at_ns = wiring.now()
        outer = recorder_of(frame)
        offset_ns = outer.offset_ns if outer is not None else wiring.wall() - at_ns
        job = OpenJob(self.name, self.workers, at_ns, offset_ns)
        job.base = base
        self._job = job
        wiring.observers.job_started(job)
        self._context = wiring.carrier.enter(base, self._frame(job, frame))
        self._token = variable.set(self._context)

    def _frame(self, job: OpenJob, around: Frame | None) -> Frame:
        call = around.call if around is not None else None
        block = around.block if around is not None else None
        return Frame(call=call, block=block, job=job, owner=job)

    @never_raises
    def _end(self) -> None:
        self._progress.finish()
        if self._job is None:
            return
        token, self._token = self._token, None
        leave(token)
        job = self._job
        wiring = wired()
        end_us = job.wall(wiring.now()) // 1000
        job.drawn_end_us = max(end_us, job.drawn_start_us + 1, job.lane.last_us)
        wiring.observers.job_ended(job)

    # --- work --------------------------------------------------------------------------------

    def submit(self, function: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Run `function(*args, **kwargs)` on a worker; the wait for it is `queue_wait`."""
        executor = self._workers()
        parcel = self._packed(function)
        self._progress.one_more()
        if parcel is None:
            future = executor.submit(function, *args, **kwargs)
        elif _runs_in_processes(executor):
            future = executor.submit(run_parcel, parcel, function, args, kwargs)
        else:
            context = contextvars.copy_context()
            future = executor.submit(context.run, self._run_here, parcel, function, args, kwargs)
        future.add_done_callback(self._progress.one_done)
        return future

    @overload
    def map(  # type: ignore[overload-overlap]  # a coroutine function is also a function
        self, function: Callable[[T], Awaitable[R]], items: Iterable[T], /
    ) -> Awaitable[list[R]]: ...
    @overload
    def map(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]: ...
    def map(self, function: Any, items: Any, /) -> Any:
        """`function` over `items`, `workers` at a time, results in the order of the items.

        For a function an iterator, as `Executor.map` gives; everything is submitted at once. For a
        coroutine function an awaitable of a list. The first exception is raised where its result
        would be.
        """
        import inspect  # noqa: PLC0415  # only here

        if inspect.iscoroutinefunction(function):
            return self._map_async(function, list(items))
        return _results([self.submit(function, item) for item in items])

    async def _map_async(self, function: Callable[[T], Awaitable[R]], items: list[T]) -> list[R]:
        import asyncio  # noqa: PLC0415  # loaded: a loop is running

        free = asyncio.Semaphore(self.workers)

        async def one(item: T) -> R:
            parcel = self._packed(function)
            self._progress.one_more()
            async with free:
                token = self._arrive(parcel) if parcel is not None else None
                try:
                    return await function(item)
                finally:
                    if token is not None:
                        leave(token)
                    self._progress.one_done()

        return list(await asyncio.gather(*(one(item) for item in items)))

    def _workers(self) -> Executor:
        if self._executor is not None:
            return self._executor
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix=self.name)
        return self._pool

    @never_raises
    def _packed(self, function: Any) -> Parcel | None:
        """What a worker needs to go on in this job."""
        if self._job is None:
            return None
        self._job.chunks += 1
        return pack(self._job, self._context)

    def _run_here(self, parcel: Parcel, function: Callable[..., R], args: Any, kwargs: Any) -> R:
        token = self._arrive(parcel)
        try:
            return function(*args, **kwargs)
        finally:
            if token is not None:
                leave(token)

    @never_raises
    def _arrive(self, parcel: Parcel) -> Any:
        """A worker has taken the work: note the wait, and stand in the job."""
        wiring = wired()
        job = self._job
        if job is None:
            return None
        waited = _wait_span(job, parcel.submitted_ns, wiring.now())
        if waited is not None:
            wiring.observers.phase_written(waited)
        frame = self._frame(job, wiring.carrier.frame_of(self._context))
        frame.queued = waited
        variable = wiring.carrier.variable
        return variable.set(wiring.carrier.enter(self._context, frame))


def _wait_span(job: OpenJob, submitted_ns: int, at_ns: int) -> OpenPhase | None:
    place = job.lane.fit(job.wall(submitted_ns), job.wall(at_ns))
    if place is None:
        return None
    waited = OpenPhase(
        Phase.QUEUE_WAIT, submitted_ns, job, offset_ns=job.offset_ns, drawn_start_us=place[0]
    )
    waited.job = job
    waited.end_ns, waited.drawn_end_us = at_ns, place[1]
    return waited


def _results(futures: list[Future[R]]) -> Iterator[R]:
    try:
        while futures:
            yield futures.pop(0).result()
    finally:
        for future in futures:
            future.cancel()


def _runs_in_processes(executor: Executor) -> bool:
    return any(kind.__name__ == "ProcessPoolExecutor" for kind in type(executor).__mro__)


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
        workers: how many calls run at once; default: what `executor` has, else as many threads
            as `ThreadPoolExecutor` would start.
        executor: any `concurrent.futures` executor, process pools too; it stays yours to shut
            down. Default: threads of the job's own.
        progress: a line on stderr while it runs; default: on a terminal, for jobs over 2 s.

    Raises:
        ArgumentError: for a wrong name, number of workers or executor.
    """
    if not is_name(name):
        raise ArgumentError(f"llm_job: name={name!r}; expected a text that is not empty")
    if executor is not None and not hasattr(executor, "submit"):
        raise ArgumentError(
            f"llm_job: executor={executor!r}; expected a concurrent.futures executor"
        )
    if workers is None:
        given = getattr(executor, "_max_workers", None)
        workers = given if isinstance(given, int) else min(32, (os.cpu_count() or 1) + 4)
    if not _is_count(workers):
        raise ArgumentError(f"llm_job: workers={workers!r}; expected a whole number, 1 or more")
    return LlmJob(name, workers, executor, progress)




def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
