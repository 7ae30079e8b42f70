"""Jobs on threads, on executors of the program, and in asynchronous code."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import functools
import itertools
import random
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context

from llmphases import (
    ArgumentError,
    llm_call,
    llm_job,
    prompt_build,
    retrieval,
    tool,
    traced_llm_call,
)
from llmphases import conventions as names
from llmphases.calls import Call
from llmphases.capture import current, pools
from llmphases.phases import Phase


@traced_llm_call
def place(segment: int) -> int:
    with prompt_build():
        pass
    return segment * 10


@traced_llm_call
async def place_async(segment: int) -> int:
    async with prompt_build():
        await asyncio.sleep(0)
    return segment * 10


@traced_llm_call
def stream(segment: int):
    yield "one"
    yield "two"


def consume(segment: int) -> list[str]:
    return list(stream(segment))


def undecorated(segment: int) -> int:
    with llm_call("place"):
        return segment * 10


def parent_id(span):
    return span.parent.span_id if span.parent is not None else None


def assert_children_of_job(exported, count, call="place", job="boxes"):
    job_span = exported.one(job)
    calls = exported.named(call)
    assert len(calls) == count
    assert {parent_id(span) for span in calls} == {job_span.context.span_id}
    assert {span.context.trace_id for span in calls} == {job_span.context.trace_id}
    for span in calls:
        assert job_span.start_time <= span.start_time <= span.end_time <= job_span.end_time
    return job_span, calls


class Inline(Executor):
    """An executor of the program's own: runs everything at once, where it is."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # an executor keeps it for the result
            future.set_exception(error)
        return future


class Labelled(ThreadPoolExecutor):
    """Another: labels its work by name."""

    def __init__(self, workers):
        super().__init__(workers)
        self.labels = []

    def submit(self, fn, /, *args, **kwargs):
        self.labels.append(fn.__name__)
        return super().submit(fn, *args, **kwargs)


# --- on threads ---------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [place, undecorated])
def test_calls_on_threads_are_children_of_the_job(exported, function):
    with llm_job("boxes", workers=2) as job:
        assert list(job.map(function, range(6))) == [0, 10, 20, 30, 40, 50]
    job_span, calls = assert_children_of_job(exported, 6)
    assert {span.attributes[names.JOB_NAME] for span in calls} == {"boxes"}
    assert job_span.attributes[names.JOB_WORKERS] == 2
    assert job_span.attributes[names.JOB_CHUNKS] == 6
    assert job_span.attributes[names.JOB_WAVES] == 3


def test_results_come_in_the_order_of_the_items():
    last_is_done = threading.Event()

    def work(item):
        if item == 0:
            assert last_is_done.wait(60)
        if item == 2:
            last_is_done.set()
        return item

    with llm_job("boxes", workers=3) as job:
        assert list(job.map(work, iter([0, 1, 2]))) == [0, 1, 2]


def test_submit_gives_a_future_and_passes_all_arguments(exported):
    with llm_job("boxes", workers=1) as job:
        future = job.submit(dict, [("a", 1)], b=2)
        assert isinstance(future, Future)
        assert future.result() == {"a": 1, "b": 2}
    assert exported.one("boxes").attributes[names.JOB_CHUNKS] == 1


def test_a_stream_consumed_in_the_worker_is_a_child_of_the_job(exported):
    with llm_job("boxes", workers=2) as job:
        assert list(job.map(consume, range(2))) == [["one", "two"]] * 2
    assert_children_of_job(exported, 2, "stream")
    assert all(call.queued_ns is not None for call in exported.calls)


def test_the_phases_of_a_call_on_a_thread_are_its_own(exported):
    with llm_job("boxes", workers=3) as job:
        list(job.map(place, range(9)))
    calls = {span.context.span_id for span in exported.named("place")}
    parents = [parent_id(span) for span in exported.named("prompt_build")]
    assert len(parents) == 9
    assert set(parents) == calls


def test_a_job_with_nothing_in_it_is_a_span_without_chunks(exported):
    with llm_job("boxes", workers=4) as job:
        assert list(job.map(place, [])) == []
    span = exported.one("boxes")
    assert exported.spans == [span]
    assert span.attributes[names.JOB_WORKERS] == 4
    assert names.JOB_CHUNKS not in span.attributes
    assert names.JOB_WAVES not in span.attributes


def test_more_workers_than_pieces_are_one_wave(exported):
    with llm_job("boxes", workers=8) as job:
        list(job.map(place, range(3)))
    assert exported.one("boxes").attributes[names.JOB_WAVES] == 1


def test_context_variables_of_the_caller_travel_to_threads():
    variable = contextvars.ContextVar("variable", default="unset")
    with llm_job("boxes", workers=2) as job:
        variable.set("first")
        one = job.submit(variable.get)
        variable.set("second")
        two = job.submit(variable.get)
        job.submit(variable.set, "third").result()
        assert (one.result(), two.result(), variable.get()) == ("first", "second", "second")


def test_a_span_of_the_program_between_job_and_call_stays_between(exported):
    tracer = trace.get_tracer("program", tracer_provider=exported.provider)
    with llm_job("boxes", workers=2) as job:
        with tracer.start_as_current_span("stage"):
            list(job.map(place, range(2)))
        list(job.map(undecorated, range(2)))
    stage, boxes = exported.one("stage"), exported.one("boxes")
    parents = sorted(parent_id(span) for span in exported.named("place"))
    assert parents == sorted([stage.context.span_id] * 2 + [boxes.context.span_id] * 2)
    assert {parent_id(span) for span in exported.named("queue_wait")} == {boxes.context.span_id}


def test_baggage_set_inside_the_job_travels(exported):
    with llm_job("boxes", workers=1) as job:
        token = otel_context.attach(baggage.set_baggage("user", "ada"))
        seen = job.submit(baggage.get_baggage, "user").result()
        otel_context.detach(token)
    assert seen == "ada"


def test_work_handed_over_from_a_thread_without_context_is_in_the_job(exported):
    with llm_job("boxes", workers=1) as job:
        stranger = threading.Thread(target=lambda: job.submit(place, 1))
        stranger.start()
        stranger.join()
    assert_children_of_job(exported, 1)


def test_work_that_hands_over_more_work_stays_in_the_job(exported):
    with llm_job("boxes", workers=2) as job:

        def work(depth):
            place(depth)
            if depth:
                job.submit(work, depth - 1)

        job.submit(work, 3)
    assert_children_of_job(exported, 4)
    assert exported.one("boxes").attributes[names.JOB_CHUNKS] == 4


def test_a_call_that_hands_work_over_is_no_parent_of_it(exported):
    with llm_job("boxes", workers=1) as job, llm_call("plan"):
        job.submit(place, 1).result()
    assert_children_of_job(exported, 1)
    assert not exported.calls[0].nested


# --- executors of the program -------------------------------------------------------------------


@pytest.mark.parametrize("make", [ThreadPoolExecutor, Labelled])
def test_any_executor_will_do_and_stays_the_programs(exported, make):
    with make(2) as pool:
        with llm_job("boxes", executor=pool) as job:
            assert list(job.map(place, range(4))) == [0, 10, 20, 30]
        assert pool.submit(int, "7").result() == 7
    job_span, _ = assert_children_of_job(exported, 4)
    assert job_span.attributes[names.JOB_WORKERS] == 2


def test_an_executor_that_labels_its_work_sees_the_functions_names():
    with Labelled(1) as pool, llm_job("boxes", executor=pool) as job:
        job.submit(place, 1).result()
        job.submit(functools.partial(place, 1)).result()
    assert pool.labels == ["place", "partial"]


def test_an_executor_that_runs_work_where_it_is_leaves_the_context_as_it_was(exported):
    with llm_job("boxes", executor=Inline(), workers=1) as job:
        assert list(job.map(place, range(3))) == [0, 10, 20]
        place(3)
    assert_children_of_job(exported, 4)
    assert exported.one("boxes").attributes[names.JOB_CHUNKS] == 3


def test_leaving_the_block_waits_for_work_on_an_executor_of_the_program(exported):
    go = threading.Event()

    def work():
        assert go.wait(60)
        return place(1)

    with ThreadPoolExecutor(1) as pool:
        with llm_job("boxes", executor=pool) as job:
            future = job.submit(work)
            threading.Timer(0.01, go.set).start()
        assert future.done()
    assert_children_of_job(exported, 1)


# --- waiting ------------------------------------------------------------------------------------


def start_one_and_queue_one(clock, work=lambda: None, **options):
    """One worker: the second piece waits for 2 s while the first runs."""
    begun, go = threading.Event(), threading.Event()

    def first():
        begun.set()
        assert go.wait(60)

    with llm_job("boxes", workers=1, **options) as job:
        job.submit(first)
        assert begun.wait(60)
        job.submit(work)
        clock.tick(2)
        go.set()


def test_the_wait_for_a_worker_is_before_the_call_and_not_in_its_sums(timed, clock):
    start_one_and_queue_one(clock, lambda: place(1))
    (call,) = timed.calls
    assert call.queued_ns == 2_000_000_000
    assert call.duration_ns == 0
    assert Phase.QUEUE_WAIT not in call.exclusive_ns
    wait, job, span = timed.one("queue_wait"), timed.one("boxes"), timed.one("place")
    assert parent_id(wait) == job.context.span_id
    assert wait.end_time < span.start_time
    assert wait.end_time - wait.start_time == 2_000_000_000 - 1000
    assert span.attributes[names.QUEUED_DURATION] == 2.0


def test_the_wait_is_a_sample_of_its_own_with_the_jobs_name(timed, clock):
    start_one_and_queue_one(clock, lambda: place(1))
    (point,) = [
        point
        for point in timed.points()[names.PHASE_DURATION.name]
        if point.attributes[names.PHASE] == "queue_wait"
    ]
    assert point.sum == 2.0
    assert point.attributes[names.JOB_NAME] == "boxes"


def test_only_the_first_call_of_a_piece_has_waited(timed_calls, clock):
    def work():
        place(1)
        place(2)

    start_one_and_queue_one(clock, work)
    assert [call.queued_ns for call in timed_calls] == [2_000_000_000, None]


def test_a_call_inside_the_first_call_has_not_waited(timed_calls, clock):
    def work():
        with llm_call("outer"):
            place(1)

    start_one_and_queue_one(clock, work)
    assert {call.name: call.queued_ns for call in timed_calls} == {
        "outer": 2_000_000_000,
        "place": None,
    }


def test_a_piece_that_need_not_wait_has_waited_for_no_time(timed, clock):
    with llm_job("boxes", workers=1) as job:
        job.submit(place, 1)
    assert timed.calls[0].queued_ns == 0
    assert timed.named("queue_wait") == []


def test_waiting_is_measured_per_item(timed_calls, clock):
    """One worker, each piece takes 1 s: they wait 0, 1, 2 and 3 s."""
    all_submitted = threading.Event()

    def work(item):
        assert all_submitted.wait(60)
        place(item)
        clock.tick(1)

    with llm_job("boxes", workers=1) as job:
        results = job.map(work, range(4))
        all_submitted.set()
        list(results)
    assert [call.queued_ns for call in timed_calls] == [0, 10**9, 2 * 10**9, 3 * 10**9]


# --- errors and early ends ----------------------------------------------------------------------


def test_an_exception_is_raised_where_its_result_would_be():
    def work(item):
        if item == 2:
            raise LookupError("two")
        return item

    seen = []
    with pytest.raises(LookupError, match="two"), llm_job("boxes", workers=2) as job:
        seen.extend(job.map(work, range(5)))
    assert seen == [0, 1]


def test_an_exception_of_a_call_on_a_thread_is_the_calls_own(exported):
    @traced_llm_call
    def failing():
        raise LookupError

    with llm_job("boxes", workers=1) as job:
        assert isinstance(job.submit(failing).exception(), LookupError)
    assert [call.error_type for call in exported.calls] == ["LookupError"]
    assert exported.one("boxes").status.is_unset


@pytest.fixture
def pieces(monkeypatch):
    """The futures of all work that is handed to threads of a job."""
    kept = []

    class Noting(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            kept.append(super().submit(fn, *args, **kwargs))
            return kept[-1]

    monkeypatch.setattr(pools, "ThreadPoolExecutor", Noting)
    return kept


def set_when_cancelled(event, futures):
    left = set(futures)

    def over(future):
        left.discard(future)
        if not left:
            event.set()

    for future in futures:
        future.add_done_callback(over)


@pytest.mark.parametrize("leave", ["close", "error", "raise in the block"])
def test_what_has_not_begun_is_cancelled(exported, leave, pieces):
    """Closed early, ended by an exception of a piece, or of the block itself."""
    go, begun = threading.Event(), []

    def work(item):
        begun.append(item)
        if item == 1:
            assert go.wait(60)
        if leave == "error" and item == 0:
            raise LookupError
        return item

    def run():
        with llm_job("boxes", workers=1) as job:
            results = job.map(work, range(10))
            try:
                next(results)
                if leave == "close":
                    results.close()
                elif leave == "raise in the block":
                    raise LookupError
            finally:
                if leave == "raise in the block":
                    set_when_cancelled(go, pieces[2:])
                else:
                    go.set()

    if leave == "close":
        run()
    else:
        with pytest.raises(LookupError):
            run()
    assert begun in ([0], [0, 1])
    assert len(exported.named("boxes")) == 1


def test_a_keyboard_interrupt_ends_the_job_once_and_cancels_the_rest(exported, pieces):
    begun, handed_over, cancelled = [], threading.Event(), threading.Event()

    def work(item):
        begun.append(item)
        place(item)
        if item == 0:
            assert handed_over.wait(60)
            _thread.interrupt_main()
        elif item == 1:
            assert cancelled.wait(60)
        return item

    with pytest.raises(KeyboardInterrupt), llm_job("boxes", workers=1) as job:
        results = job.map(work, range(1000))
        set_when_cancelled(cancelled, pieces[2:])
        handed_over.set()
        list(results)
    assert begun in ([0], [0, 1])
    assert len(exported.named("boxes")) == 1
    assert_children_of_job(exported, len(begun))


def test_the_context_is_left_as_it_was_found(exported):
    before = otel_context.get_current()
    with pytest.raises(LookupError), llm_job("boxes"):
        raise LookupError
    assert otel_context.get_current() == before


def test_a_job_open_at_the_programs_end_is_ended(exported):
    job = llm_job("boxes")
    job.__enter__()
    place(1)
    current.close_open_calls()
    assert_children_of_job(exported, 1)
    job.__exit__(None, None, None)
    assert len(exported.named("boxes")) == 1


# --- inside each other --------------------------------------------------------------------------


def test_a_job_inside_a_call_has_nested_calls_and_its_span_under_the_call(exported):
    with llm_call("outer"), llm_job("boxes", workers=2) as job:
        list(job.map(place, range(2)))
    outer, boxes = exported.one("outer"), exported.one("boxes")
    assert parent_id(boxes) == outer.context.span_id
    _, calls = assert_children_of_job(exported, 2)
    assert all(span.attributes[names.CALL_NESTED] for span in calls)
    assert {span.attributes[names.JOB_NAME] for span in calls} == {"boxes"}
    assert names.JOB_NAME not in outer.attributes
    assert outer.start_time <= boxes.start_time
    assert boxes.end_time <= outer.end_time


def test_nested_calls_in_a_job_count_in_the_call_around_it(timed_calls, clock):
    def work():
        with llm_call("inner"), retrieval():
            clock.tick(3)

    with llm_call("outer"), llm_job("boxes", workers=1) as job:
        job.submit(work).result()
    inner, outer = timed_calls
    assert inner.queued_ns == 0
    assert outer.exclusive_ns == {Phase.RETRIEVAL: 3 * 10**9}


def test_a_job_inside_a_block_of_a_call_belongs_to_the_block(timed_calls, clock):
    def work():
        with llm_call("inner"), retrieval():
            clock.tick(3)

    with llm_call("outer"), tool(), llm_job("boxes", workers=1) as job:
        job.submit(work).result()
    assert timed_calls[1].exclusive_ns == {Phase.TOOL: 3 * 10**9}


def test_a_job_inside_a_job_keeps_its_calls(exported):
    def inner(name):
        with llm_job(name, workers=2) as job:
            list(job.map(place, range(2)))

    with llm_job("outer", workers=2) as job:
        list(job.map(inner, ["boxes", "captions"]))
    outer = exported.one("outer")
    for name in ("boxes", "captions"):
        job_span = exported.one(name)
        assert parent_id(job_span) == outer.context.span_id
        calls = [s for s in exported.named("place") if s.attributes[names.JOB_NAME] == name]
        assert {parent_id(span) for span in calls} == {job_span.context.span_id}
        assert job_span.attributes[names.JOB_CHUNKS] == 2
    assert outer.attributes[names.JOB_CHUNKS] == 2
    assert not any(call.nested for call in exported.calls)


def test_siblings_under_a_job_never_touch(timed, clock):
    """Jaeger's critical path drops a child that ends in the microsecond the next one begins in."""
    with llm_job("boxes", workers=1) as job:
        for item in range(3):
            job.submit(lambda n: (place(n), clock.tick_ns(700)), item).result()
    spans = sorted(timed.named("place"), key=lambda span: span.start_time)
    assert all(a.end_time < b.start_time for a, b in itertools.pairwise(spans))


# --- in asynchronous code -----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["gather", "task group"])
@pytest.mark.parametrize("repetition", range(20))
async def test_fifty_siblings_run_at_once_and_keep_their_phases(exported, how, repetition):
    """RC-034: each is a child of the job, and each phase of its own call."""
    vary = random.Random(repetition)

    async def call(n):
        async with llm_call("place") as call:
            call.set_attribute("n", n)
            async with prompt_build():
                await asyncio.sleep(vary.random() / 500)
            async with retrieval():
                await asyncio.sleep(vary.random() / 500)

    async with llm_job("boxes"):
        if how == "gather":
            await asyncio.gather(*[call(n) for n in range(50)])
        else:
            async with asyncio.TaskGroup() as group:
                for n in range(50):
                    group.create_task(call(n))
    job_span, calls = assert_children_of_job(exported, 50)
    assert sorted(span.attributes["n"] for span in calls) == list(range(50))
    for phase in ("prompt_build", "retrieval"):
        parents = [parent_id(span) for span in exported.named(phase)]
        assert sorted(parents) == sorted(span.context.span_id for span in calls)
    assert job_span.attributes[names.JOB_CHUNKS] == 50
    assert names.JOB_WORKERS not in job_span.attributes
    assert names.JOB_WAVES not in job_span.attributes


async def test_calls_that_begin_directly_under_the_job_are_its_chunks(exported):
    async with llm_job("boxes", workers=2):
        async with llm_call("outer"):
            await place_async(1)
        with retrieval():
            await place_async(2)
        await place_async(3)
    attributes = exported.one("boxes").attributes
    assert attributes[names.JOB_CHUNKS] == 3
    assert attributes[names.JOB_WAVES] == 2


class Placer:
    async def __call__(self, segment):
        return await place_async(segment)

    async def method(self, segment):
        return await place_async(segment)


async def with_model(model, segment):
    return await place_async(segment)


@pytest.mark.parametrize(
    "function",
    [
        place_async,
        functools.partial(with_model, "m"),
        functools.partial(functools.partial(with_model), "m"),
        Placer(),
        functools.partial(Placer()),
        Placer().method,
        prompt_build(with_model.__get__("m")),
    ],
    ids=["decorated", "partial", "partial of partial", "object", "partial of object", "method",
         "phase"],
)  # fmt: skip
async def test_coroutine_functions_of_every_kind_are_mapped_in_the_loop(exported, function):
    async with llm_job("boxes", workers=2) as job:
        assert await job.map(function, range(4)) == [0, 10, 20, 30]
    assert len(exported.named("place_async")) == 4
    attributes = exported.one("boxes").attributes
    assert attributes[names.JOB_CHUNKS] == 4
    assert attributes[names.JOB_WAVES] == 2


async def test_no_more_coroutines_run_at_once_than_there_are_workers(exported):
    """Also where several maps of one job run at the same time."""
    running, most = 0, 0

    @traced_llm_call(name="place")
    async def work(item):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (item % 3))
        running -= 1

    async with llm_job("boxes", workers=3) as job:
        await asyncio.gather(job.map(work, range(10)), job.map(work, range(10)))
    assert most == 3
    assert_children_of_job(exported, 20)
    assert exported.one("boxes").attributes[names.JOB_WAVES] == 7


async def test_a_coroutine_that_waits_for_its_turn_is_in_queue_wait(timed, clock):
    async def work(item):
        await place_async(item)
        clock.tick(1)

    async with llm_job("boxes", workers=1) as job:
        await job.map(work, range(3))
    assert [call.queued_ns for call in timed.calls] == [0, 10**9, 2 * 10**9]
    job_span = timed.one("boxes")
    waits = timed.named("queue_wait")
    assert [parent_id(wait) for wait in waits] == [job_span.context.span_id] * 2
    assert [round((wait.end_time - wait.start_time) / 1e9, 3) for wait in waits] == [1, 2]


async def test_context_variables_of_the_caller_travel_to_tasks():
    variable = contextvars.ContextVar("variable", default="unset")

    async def work(item):
        seen = variable.get()
        variable.set(str(item))
        return seen

    async with llm_job("boxes", workers=1) as job:
        variable.set("caller")
        assert await job.map(work, range(3)) == ["caller"] * 3
    assert variable.get() == "caller"


async def test_the_first_exception_of_a_coroutine_cancels_the_others(exported):
    async def work(item):
        if item == 1:
            raise LookupError
        async with llm_call("slow"):
            await asyncio.sleep(60)

    with pytest.raises(LookupError):
        async with llm_job("boxes", workers=4) as job:
            await job.map(work, range(8))
    assert {call.error_type for call in exported.calls} == {"CancelledError"}
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
    assert len(exported.named("boxes")) == 1


async def test_cancelling_a_map_cancels_its_coroutines(exported):
    begun = asyncio.Semaphore(0)

    async def slow(item):
        async with llm_call("slow"):
            begun.release()
            await asyncio.sleep(60)

    async def run():
        async with llm_job("boxes", workers=2) as job:
            await job.map(slow, range(4))

    task = asyncio.create_task(run())
    for _ in range(2):
        await begun.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [call.error_type for call in exported.calls] == ["CancelledError"] * 2
    assert len(exported.named("boxes")) == 1


async def test_a_synchronous_call_from_asynchronous_code_is_nested(exported):
    """RC-035: by `to_thread`, and by the job's own threads instead of `run_in_executor`."""
    async with llm_job("boxes", workers=2) as job:
        assert await asyncio.to_thread(place, 1) == 10
        assert await asyncio.wrap_future(job.submit(place, 2)) == 20
        given = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, given.run, place, 3) == 30
    assert_children_of_job(exported, 3)


async def test_run_in_executor_by_itself_loses_the_job(exported):
    """RC-035: the event loop does not take the context along, so the call is a root."""
    async with llm_job("boxes"):
        await asyncio.get_running_loop().run_in_executor(None, place, 1)
    assert exported.one("place").parent is None


async def test_leaving_an_asynchronous_job_does_not_block_the_loop(exported):
    go = threading.Event()

    async def release():
        await asyncio.sleep(0.01)
        go.set()

    releasing = asyncio.create_task(release())
    async with llm_job("boxes", workers=1) as job:
        future = job.submit(go.wait, 60)
    await releasing
    assert future.result() is True


async def test_two_jobs_in_two_tasks_keep_their_calls(exported):
    async def one(name):
        async with llm_job(name, workers=2) as job:
            await job.map(place_async, range(4))

    await asyncio.gather(one("boxes"), one("captions"))
    for name in ("boxes", "captions"):
        job_span = exported.one(name)
        calls = [s for s in exported.named("place_async") if s.attributes[names.JOB_NAME] == name]
        assert [parent_id(span) for span in calls] == [job_span.context.span_id] * 4


# --- switched off, and wrong arguments ----------------------------------------------------------


@pytest.fixture
def disabled(monkeypatch):
    monkeypatch.setenv(names.ENV_DISABLED, "1")


def test_a_job_works_with_everything_switched_off(exported, disabled):
    with llm_job("boxes", workers=2, progress=True) as job:
        assert list(job.map(str, range(3))) == ["0", "1", "2"]
        assert job.submit(int, "7").result() == 7
    with ThreadPoolExecutor(1) as pool, llm_job("boxes", executor=pool) as job:
        assert list(job.map(str, range(3))) == ["0", "1", "2"]
    assert exported.spans == []


async def test_an_asynchronous_job_works_with_everything_switched_off(exported, disabled):
    async with llm_job("boxes", workers=2) as job:
        assert await job.map(with_model.__get__("m"), range(3)) == [0, 10, 20]
    assert exported.named("boxes") == []


@pytest.mark.parametrize(
    ("options", "given", "expected"),
    [
        ({"name": ""}, "name=''", "a text that is not empty"),
        ({"name": 3}, "name=3", "a text that is not empty"),
        ({"workers": 0}, "workers=0", "a whole number, 1 or more"),
        ({"workers": -2}, "workers=-2", "a whole number, 1 or more"),
        ({"workers": 2.5}, "workers=2.5", "a whole number, 1 or more"),
        ({"workers": True}, "workers=True", "a whole number, 1 or more"),
        ({"executor": "threads"}, "executor='threads'", "leave it out for threads"),
        ({"progress": "yes"}, "progress='yes'", "True or False"),
    ],
)
def test_a_wrong_argument_is_told_at_once(options, given, expected):
    with pytest.raises(ArgumentError, match="llm_job") as told:
        llm_job(**{"name": "boxes", **options})
    assert given in str(told.value)
    assert expected in str(told.value)


@pytest.mark.parametrize("is_disabled", [False, True])
def test_wrong_work_is_told_at_once(monkeypatch, is_disabled):
    if is_disabled:
        monkeypatch.setenv(names.ENV_DISABLED, "1")
    with llm_job("boxes", workers=1) as job:
        with pytest.raises(ArgumentError, match=r"job.submit\(3\): expected a function"):
            job.submit(3)
        with pytest.raises(ArgumentError, match=r"job.map\('place'\): expected a function"):
            job.map("place", [1])
        with pytest.raises(ArgumentError, match="items=5; expected a list"):
            job.map(place, 5)
        with pytest.raises(ArgumentError, match=r"await job.map\(place_async, \[...\]\)"):
            job.submit(place_async, 1)


def test_an_error_of_the_items_themselves_passes_unchanged():
    def items():
        yield 1
        raise TypeError("mine")

    with llm_job("boxes", workers=1) as job, pytest.raises(TypeError, match=r"^mine$"):
        job.map(place, items())


def test_work_outside_the_block_is_told_what_to_do():
    job = llm_job("boxes", workers=1)
    with pytest.raises(ArgumentError, match=r"with llm_job\('boxes'\) as job"):
        job.map(place, [1])
    with job, pytest.raises(ArgumentError, match="open already"), job:
        pass
    with pytest.raises(ArgumentError, match="not open"):
        job.submit(place, 1)


def test_a_job_can_be_entered_again(exported):
    job = llm_job("boxes", workers=2)
    for _ in range(2):
        with job:
            list(job.map(place, range(4)))
    assert [s.attributes[names.JOB_CHUNKS] for s in exported.named("boxes")] == [4, 4]


def test_an_executor_that_refuses_work_is_heard(exported):
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    cannot = pytest.raises(RuntimeError, match="cannot schedule")
    with cannot, llm_job("boxes", executor=pool) as job:
        job.submit(place, 1)
    assert len(exported.named("boxes")) == 1


def test_the_gauges_of_a_job_tell_workers_chunks_and_waves(exported):
    with llm_job("boxes", workers=2) as job:
        list(job.map(place, range(5)))
    points = exported.points()
    metrics = (names.JOB_WORKERS_GAUGE, names.JOB_CHUNKS_GAUGE, names.JOB_WAVES_GAUGE)
    assert [points[metric.name][0].value for metric in metrics] == [2, 5, 3]


def test_the_threads_of_a_job_are_its_usual_number_and_told(exported):
    with llm_job("boxes") as job:
        list(job.map(place, range(2)))
    assert exported.one("boxes").attributes[names.JOB_WORKERS] == job.workers


def test_records_of_a_jobs_calls_name_it(exported):
    with llm_job("boxes", workers=1) as job:
        list(job.map(place, range(2)))
    assert [(type(call), call.job) for call in exported.calls] == [(Call, "boxes")] * 2
