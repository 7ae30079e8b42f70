"""What users write, for type checkers to read; never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, assert_type

import llmphases
from llmphases import (
    ArgumentError,
    Call,
    CommandOptions,
    CommandResult,
    ConfigurationError,
    Cost,
    Detail,
    Ended,
    Instrumented,
    LlmCall,
    LlmJob,
    LlmphasesError,
    Observer,
    Origin,
    Phase,
    ProcessUse,
    RecordError,
    Stretch,
    UnreadableSourceError,
    Usage,
    cache_lookup,
    call_of,
    current_call,
    instrument,
    llm_call,
    llm_job,
    post_processing,
    prompt_build,
    queue_wait,
    retrieval,
    run_command,
    run_command_async,
    step,
    stream_command,
    stream_command_async,
    tool,
    traced_llm_call,
    traced_stream,
    transmission,
    uninstrument,
)


def set_up() -> None:
    llmphases.configure()
    llmphases.configure(endpoint="http://localhost:4318", service_name="boxes", metrics=False)
    llmphases.configure(file="traces.jsonl")
    llmphases.flush()


@traced_llm_call
def plain(question: str, *, times: int = 1) -> str:
    with retrieval(), step("rerank"):
        question.split()
    with prompt_build():
        pass
    with post_processing():
        return question * times


@traced_llm_call(name="other", model="m", provider="p", operation="chat")
def with_options(question: str) -> list[str]:
    return [question]


@traced_llm_call
async def coroutine(question: str) -> int:
    async with retrieval():
        return len(question)


@traced_llm_call
def generator(question: str) -> Iterator[str]:
    yield question


@traced_llm_call(is_token=lambda chunk: bool(chunk))
async def async_generator(question: str) -> AsyncIterator[str]:
    yield question


class Client:
    @traced_llm_call
    def method(self, question: str) -> str:
        return question

    @classmethod
    @traced_llm_call
    def of_class(cls, question: str) -> str:
        return question

    @staticmethod
    @traced_llm_call
    def of_none(question: str) -> str:
        return question


@retrieval
def search(question: str) -> list[str]:
    return [question]


@tool
async def look_up(name: str) -> int:
    return len(name)


async def types_are_kept() -> None:
    assert_type(plain("q", times=2), str)
    assert_type(with_options("q"), list[str])
    assert_type(await coroutine("q"), int)
    assert_type(generator("q"), Iterator[str])
    assert_type(async_generator("q"), AsyncIterator[str])
    assert_type(Client().method("q"), str)
    assert_type(Client.of_class("q"), str)
    assert_type(Client.of_none("q"), str)
    assert_type(search("q"), list[str])
    assert_type(await look_up("q"), int)


def marks() -> None:
    with llm_call("boxes", model="m", provider="p") as call:
        call.request_sent()
        with call.request():
            call.first_token()
            call.last_token()
        call.usage(input_tokens=3, output_tokens=5)
        call.cache("hit")
        call.model("m", response="m-1")
        call.units(4)
        call.set_attribute("segment", 7)
        with cache_lookup() as lookup:
            lookup.cache("miss")
        with queue_wait(), transmission():
            pass
    record = call.record
    if record is not None:
        assert_type(record, Call)
        assert_type(record.fixed_share, float | None)
        assert_type(record.to_json(), str)
    current_call().units(1)


async def marks_in_async_code() -> None:
    async with llm_call("boxes") as call, call.request():
        call.first_token()


def streams() -> None:
    for piece in traced_stream(iter(["a"])):
        assert_type(piece, str)
    stream = generator("q")
    with call_of(stream):
        list(stream)


def jobs() -> None:
    with llm_job("boxes", workers=4) as job:
        for answer in job.map(plain, ["a", "b"]):
            assert_type(answer, str)
        assert_type(job.submit(plain, "c").result(), str)
    with ThreadPoolExecutor() as pool, llm_job("boxes", executor=pool) as job:
        list(job.map(plain, ["a"]))


def records(call: Call) -> None:
    assert_type(call.exclusive_ns.get(Phase.GENERATION), int | None)
    assert_type(call.cost_ns(Cost.FIXED), int)
    assert_type(call.usage, Usage | None)
    assert_type(call.ended, Ended | None)
    assert_type(call.stretches, tuple[Stretch, ...])
    assert_type(call.details, tuple[Detail, ...])
    assert_type(call.stretches[0].origin, Origin)


class Printing(Observer):
    """An observer of a user's own hears only of what it asks for."""

    def flush(self) -> None:
        print("flushed")


def handles(call: LlmCall, job: LlmJob) -> None:
    assert_type(call.record, Call | None)
    assert_type(job.name, str)


def errors() -> None:
    try:
        llmphases.configure(endpoint="nonsense")
        Call.from_json("nonsense")
    except (ArgumentError, ConfigurationError, RecordError, UnreadableSourceError) as error:
        print(error)
    except LlmphasesError as error:
        print(error)


def commands() -> None:
    result = run_command(["llm", "a prompt"], input="text", timeout=60, name="boxes", check=True)
    assert_type(result, CommandResult[str])
    assert_type(result.stdout, str)
    assert_type(result.call, Call | None)
    assert_type(result.process, ProcessUse | None)
    assert_type(run_command(["llm"], tap=True).tap, Literal["requests", "bytes", "nothing"] | None)
    assert_type(run_command(["llm"], text=False).stdout, bytes)
    options: CommandOptions = {"model": "m", "env": {"A": "1"}}
    assert_type(run_command(["llm"], **options).returncode, int)
    for piece in stream_command(["llm"], format="streamed-text"):
        assert_type(piece, str)
    with stream_command(["llm"], text=False) as stream:
        assert_type(next(stream), bytes)
        assert_type(stream.returncode, int | None)


def hooks() -> None:
    done = instrument("subprocess", propagate=False, inherit_otel=False)
    assert_type(done, Instrumented)
    assert_type(done.hooked, tuple[str, ...])
    assert_type(done.skipped["subprocess"], str)
    assert_type(instrument().hooked, tuple[str, ...])
    uninstrument()


async def async_commands() -> None:
    assert_type(await run_command_async(["llm"]), CommandResult[str])
    async for piece in stream_command_async(["llm"]):
        assert_type(piece, str)
    async with stream_command_async(["llm"], text=False) as stream:
        assert_type(await anext(stream), bytes)
