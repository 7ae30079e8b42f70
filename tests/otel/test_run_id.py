"""One id for a program and the workers of its pools: real pools, and what is read of their file."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llmphases.conventions import RUN_ID
from llmphases.otel.run_id import run_id
from llmphases.sources.otlp_file import OtlpFiles

PROGRAM = """
import concurrent.futures, multiprocessing, sys
import llmphases

llmphases.configure(
    file="traces.jsonl", metrics=False, exit_deadline_s=30, say=lambda line: None)

def keep(given):
    global both_here
    both_here = given

@llmphases.traced_llm_call
def ask(n):
    both_here.wait(100)  # else one worker may do all the work

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with concurrent.futures.ProcessPoolExecutor(
        2, mp_context=context, initializer=keep, initargs=(context.Barrier(2),)
    ) as pool:
        list(pool.map(ask, range(4)))
    with llmphases.llm_call("its own"):
        pass
"""


def _run(kind: str, cwd: Path) -> None:
    (cwd / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py", kind], cwd=cwd, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def _told(path: Path, key: str) -> set[str]:
    return {
        pair["value"]["stringValue"]
        for line in path.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for pair in resource["resource"]["attributes"]
        if pair["key"] == key
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fork", "spawn", "forkserver"])
def test_a_program_and_the_workers_of_its_pool_are_one_run(tmp_path: Path, kind: str) -> None:
    traces = tmp_path / "traces.jsonl"
    _run(kind, tmp_path)
    assert len(_told(traces, "service.instance.id")) == 3
    assert len(_told(traces, RUN_ID)) == 1
    _run(kind, tmp_path)
    reading = OtlpFiles([traces]).read()
    assert [reading.run_of(call) for call in reading.calls] == [0] * 5 + [1] * 5


@pytest.mark.slow
def test_a_program_that_another_starts_is_a_run_of_its_own() -> None:
    program = "from llmphases.otel.run_id import run_id; print(run_id())"
    command = [sys.executable, "-c", program]
    told = {subprocess.check_output(command, text=True, timeout=120).strip() for _ in range(2)}
    assert len({run_id(), *told}) == 3


@pytest.fixture
def process() -> Iterator[multiprocessing.process.BaseProcess]:
    one = multiprocessing.current_process()
    key = one.authkey
    yield one
    one.authkey = key


def test_it_stays_the_same(process: multiprocessing.process.BaseProcess) -> None:
    process.authkey = b"\xff" * 32
    assert run_id() == run_id()


@pytest.mark.parametrize("key", [b"", b"secret", b"a chosen key of 32 characters ..", b"\xff" * 31])
def test_nothing_is_told_of_a_key_that_somebody_has_chosen(
    process: multiprocessing.process.BaseProcess, key: bytes
) -> None:
    process.authkey = key
    assert run_id() != run_id()
