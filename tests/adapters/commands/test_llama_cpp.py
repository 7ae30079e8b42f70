"""llama.cpp's programs: text that streams, and timings on stderr, old and new."""

from __future__ import annotations

import pytest

from adapters.commands.captured import DATA, TEXT, stamped
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import Usage
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.recorder.child_events import Said
from llmphases.recorder.reported import ReportedTimes


def timings(age):
    return (DATA / f"llama_cpp_{age}.txt").read_bytes()


def read(text, stream=STDERR):
    return stamped([(None, stream, line) for line in text.split(b"\n")], "llama-cpp")


def test_old_timings_count_what_was_sampled():
    assert read(timings("old")) == [
        (
            None,
            Said(
                usage=Usage(input_tokens=181, output_tokens=256),
                reported=ReportedTimes(
                    prefill_ns=69_892_210_000,
                    generation_ns=202_861_960_000,
                    raw={
                        "load_time_ms": 3348.39,  # overlaps the prompt's: never added
                        "sample_time_ms": 496.66,
                        "prompt_eval_time_ms": 69892.21,
                        "eval_time_ms": 202861.96,
                        "total_time_ms": 273523.62,
                    },
                ),
            ),
        )
    ]


@pytest.mark.parametrize("age", ["new", "newest"])
def test_new_timings_count_the_prompt_among_what_was_sampled(age):
    [(_, last)] = read(timings(age))
    assert last.usage == Usage(input_tokens=20, output_tokens=35)
    assert last.reported.prefill_ns == 130_580_000
    assert last.reported.generation_ns == 661_060_000
    assert last.reported.queue_ns is None
    assert last.reported.raw["total_time_ms"] == 812.93


def test_a_time_that_was_not_measured_says_nothing():
    [(_, last)] = read(
        b"llama_print_timings: prompt eval time = 1.00 ms / 2 tokens ( inf ms per token)\n"
        b"llama_print_timings:        eval time =  nan ms /     0 runs\n"
        b"llama_print_timings:       total time =  inf ms"
    )
    assert last.reported == ReportedTimes(prefill_ns=1_000_000, raw={"prompt_eval_time_ms": 1.0})


def test_other_lines_say_nothing():
    assert read(b"llama_model_loader: loaded meta data\nbuild: 1 (x)\nmain: eval time\n") == []


def test_the_answer_is_text():
    assert read(b"x: eval time = 1.00 ms / 2 runs", STDOUT) == [(None, TEXT)]


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["./build/bin/llama-cli", "-m", "a.gguf"], "llama-cpp"),
        (["llama-completion.exe", "-m", "a.gguf"], "llama-cpp"),
        (["./main", "-m", "a.gguf"], "llama-cpp"),
        (["./main"], "text"),
        (["llama-server", "-m", "a.gguf"], "text"),
    ],
)
def test_the_programs_that_print_what_a_model_says(argv, name):
    assert format_for(argv).name == name
