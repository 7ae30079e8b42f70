"""A traced program that hands work to a process pool; run as a process of its own.

python pool_program.py SCENARIO KIND, where KIND is fork, forkserver, spawn or loky.
"""

from __future__ import annotations

import concurrent.futures
import functools
import multiprocessing
import os
import sys

from pool_work import Tokens, consumed, failing, place, undecorated

import llmphases
from llmphases import llm_call, llm_job, prompt_build, traced_llm_call


@traced_llm_call(name="place", model="stand-in")
def of_the_program(segment):
    with prompt_build():
        return segment * 10, os.getpid()


def pool_of(kind, **options):
    if kind == "loky":
        import loky

        return loky.ProcessPoolExecutor(2, **options)
    context = multiprocessing.get_context(kind)
    return concurrent.futures.ProcessPoolExecutor(2, mp_context=context, **options)


def map_all(kind):
    with pool_of(kind) as pool, llm_job("boxes", executor=pool) as job:
        for function in (place, consumed, functools.partial(undecorated), of_the_program):
            results = list(job.map(function, range(3)))
            assert [result for result, _ in results] == [0, 10, 20]
            assert os.getpid() not in {process for _, process in results}


def inside_a_call(kind):
    with pool_of(kind) as pool, llm_call("outer"), llm_job("boxes", executor=pool) as job:
        list(job.map(place, range(3)))


def exceptions(kind):
    with pool_of(kind) as pool, llm_job("boxes", executor=pool) as job:
        futures = [job.submit(failing, n) for n in range(3)]
        assert [str(future.exception()) for future in futures] == ["0", "1", "2"]


def shut_down_at_once(kind):
    """The pool is gone before the workers' next regular export."""
    pool = pool_of(kind)
    with llm_job("boxes", executor=pool) as job:
        futures = [job.submit(place, n) for n in range(10)]
        pool.shutdown(wait=False)
    assert len([future.result() for future in futures]) == 10


def one_task_per_worker(kind):
    with pool_of(kind, max_tasks_per_child=1) as pool, llm_job("boxes", executor=pool) as job:
        processes = {process for _, process in job.map(place, range(10))}
    assert len(processes) == 10


def multiprocessing_pool(kind):
    """No executor, and ended the hard way: by SIGTERM."""
    with multiprocessing.get_context(kind).Pool(2, maxtasksperchild=1) as pool:
        pool.map(place, range(10), chunksize=1)


def cannot_be_pickled(kind):
    with pool_of(kind) as pool, llm_job("boxes", executor=pool) as job:
        future = job.submit(place, Tokens())
        assert isinstance(future.exception(), TypeError)
        assert "not to be pickled" in str(future.exception())
        list(job.map(place, range(3)))


def many(kind):
    with pool_of(kind) as pool, llm_job("boxes", executor=pool) as job:
        list(job.map(place, range(40)))


SCENARIOS = (
    map_all, inside_a_call, exceptions, shut_down_at_once, one_task_per_worker,
    multiprocessing_pool, cannot_be_pickled, many,
)  # fmt: skip

if __name__ == "__main__":
    # Only where nobody answers does it matter how long they wait.
    patience_s = 1 if sys.argv[1] == "many" else 30
    llmphases.configure(service_name="boxes", metrics=False, exit_deadline_s=patience_s)
    next(one for one in SCENARIOS if one.__name__ == sys.argv[1])(sys.argv[2])
