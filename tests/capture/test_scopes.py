"""One block object may be entered as often as one likes, from wherever one likes."""

from __future__ import annotations

import asyncio
import threading

import pytest

from llmphases import current_call, llm_call, retrieval
from llmphases.capture import current


def now_current():
    return current.wired().carrier.variable.get()


def test_one_block_is_entered_again_and_again(calls):
    block, call = retrieval(), llm_call("call")
    for _ in range(3):
        with call, block:
            pass
    assert [len(one.stretches) for one in calls] == [1, 1, 1]


def test_one_block_is_entered_inside_itself(exported):
    block, before = retrieval(), now_current()
    with llm_call("call"):
        with block:
            with block, block:
                pass
            assert not exported.named("call")
        with block:
            pass
    assert len(exported.named("retrieval")) == 4
    assert now_current() is before


def test_one_call_block_is_entered_inside_itself(exported):
    call, before = llm_call("call"), now_current()
    with call as outer, call as inner:
        assert outer.record is inner.record is None
        assert current_call()
    assert [one.nested for one in exported.calls] == [True, False]
    assert (inner.record, outer.record) == tuple(exported.calls)
    assert now_current() is before


async def test_one_block_is_shared_by_tasks(calls):
    block = retrieval()
    gates = [asyncio.Event() for _ in range(3)]

    async def work(n):
        before = now_current()
        async with llm_call(f"call {n}"), block:
            await gates[n].wait()
        assert now_current() is before

    tasks = [asyncio.create_task(work(n)) for n in range(3)]
    for n in (1, 0, 2):
        await asyncio.sleep(0)
        gates[n].set()
        await tasks[n]
    assert [call.name for call in calls] == ["call 1", "call 0", "call 2"]
    assert [len(call.stretches) for call in calls] == [1, 1, 1]


def test_one_block_is_shared_by_threads(calls):
    block, inside, faults = retrieval(), threading.Barrier(2, timeout=60), []

    def work(name):
        before = now_current()
        with llm_call(name), block:
            inside.wait()
        if now_current() is not before:
            faults.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert [len(call.stretches) for call in calls] == [1, 1]


def test_an_error_leaves_by_the_way_it_came(calls):
    error = KeyError("x")
    with pytest.raises(KeyError) as caught, llm_call("call"), retrieval():
        raise error
    assert caught.value is error
    assert (error.__context__, error.__cause__) == (None, None)
    assert [call.error_type for call in calls] == ["KeyError"]
