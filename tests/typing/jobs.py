"""Jobs as users write them, for type checkers to read; never run."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import assert_type

from llmphases import LlmJob, llm_job, traced_llm_call


@traced_llm_call
def place(segment: str) -> int:
    return len(segment)


@traced_llm_call
async def place_async(segment: str) -> int:
    return len(segment)


@traced_llm_call
def stream(segment: str) -> Iterator[str]:
    yield segment


def scale(segment: str, by: float = 1.0) -> float:
    return len(segment) * by


class Placer:
    async def __call__(self, segment: str) -> bytes:
        return segment.encode()

    def method(self, segment: str) -> bytes:
        return segment.encode()


SEGMENTS = ["a", "b"]


def on_threads() -> None:
    with llm_job("boxes", workers=2, progress=False) as job:
        assert_type(job, LlmJob)
        assert_type(job.map(place, SEGMENTS), Iterator[int])
        assert_type(list(job.map(place, (s for s in SEGMENTS))), list[int])
        assert_type(job.map(scale, SEGMENTS), Iterator[float])
        assert_type(job.map(functools.partial(scale, by=2.0), SEGMENTS), Iterator[float])
        assert_type(job.map(Placer().method, SEGMENTS), Iterator[bytes])
        assert_type(job.map(stream, SEGMENTS), Iterator[Iterator[str]])
        for pieces in job.map(lambda s: s.split(), SEGMENTS):
            assert_type(pieces, list[str])
        assert_type(job.submit(place, "a"), Future[int])
        assert_type(job.submit(scale, "a", by=2.0).result(), float)


def on_processes() -> None:
    with ProcessPoolExecutor(2) as pool, llm_job("boxes", executor=pool) as job:
        assert_type(job.map(place, SEGMENTS), Iterator[int])


async def in_a_loop() -> None:
    async with llm_job("boxes", workers=2) as job:
        assert_type(job, LlmJob)
        assert_type(await job.map(place_async, SEGMENTS), list[int])
        assert_type(await job.map(Placer(), SEGMENTS), list[bytes])
        first, second = await asyncio.gather(place_async("a"), job.map(place_async, SEGMENTS))
        assert_type(first, int)
        assert_type(second, list[int])
        assert_type(await asyncio.wrap_future(job.submit(place, "a")), int)
