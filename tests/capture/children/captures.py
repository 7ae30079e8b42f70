"""Captured output of real programs, and where each of their phases was, read by hand."""

import json
from pathlib import Path

DATA = Path(__file__).parents[2] / "adapters" / "commands" / "data"

CLAUDE, CODEX = "claude-stream-json", "codex-json"
START, TTFT, GENERATION = "process_startup", "time_to_first_token", "generation"
INFERENCE, RETRY, SHUTDOWN = "inference", "retry", "process_shutdown"

CAPTURES = {
    "claude_json_2.1.197.jsonl": (
        "claude-json",
        # One object at 3323.2 that says 1553 ms, of which 560 before the first request.
        [(START, 0, 2330.2), (INFERENCE, 2330.2, 3323.2), (SHUTDOWN, 3323.2, 3384.1)],
    ),
    "claude_stream_json_bare_2.1.197.jsonl": (
        CLAUDE,
        [(START, 0, 3247.8), (TTFT, 3247.8, 3905.8), (GENERATION, 3905.8, 4092.5),
         (SHUTDOWN, 4092.5, 4318.3)],
    ),
    "claude_stream_json_partial_2.1.197.jsonl": (
        CLAUDE,
        [(START, 0, 1273.1), (TTFT, 1273.1, 1970.1), (GENERATION, 1970.1, 2161.3),
         (SHUTDOWN, 2161.3, 2340.4)],
    ),
    "claude_stream_json_retry_2.1.197.jsonl": (
        CLAUDE,
        # It says at 920 that it will try again in 1000 ms.
        [(START, 0, 882.5), (RETRY, 882.5, 1920.0), (TTFT, 1920.0, 2536.0),
         (GENERATION, 2536.0, 2741.1), (SHUTDOWN, 2741.1, 2949.3)],
    ),
    "codex_json_0.171.0.jsonl": (
        CODEX,
        [(START, 0, 224.6), (INFERENCE, 224.6, 1125.8), (SHUTDOWN, 1125.8, 1160.3)],
    ),
    "codex_json_retry_0.171.0.jsonl": (
        CODEX,
        # Nothing of the retry shows.
        [(START, 0, 313.9), (INFERENCE, 313.9, 2147.5), (SHUTDOWN, 2147.5, 2183.4)],
    ),
    "copilot_json_1.0.102.jsonl": (
        "copilot-json",
        [(START, 0, 1439.4), (TTFT, 1439.4, 2000.1), (GENERATION, 2000.1, 2201.5),
         (SHUTDOWN, 2201.5, 2640.5)],
    ),
    "gemini_stream_json_0.61.0.jsonl": (
        "gemini-stream-json",
        [(START, 0, 4919.7), (TTFT, 4919.7, 5263.3), (GENERATION, 5263.3, 5433.7),
         (SHUTDOWN, 5433.7, 5817.9)],
    ),
    "opencode_json_1.18.33.jsonl": (
        "opencode-json",
        # All in one burst.
        [(INFERENCE, 0, 8327.5), (SHUTDOWN, 8327.5, 8649.7)],
    ),
    "qwen_stream_json_partial_0.15.10.jsonl": (
        "qwen-stream-json",
        [(START, 0, 3758.8), (TTFT, 3758.8, 4255.3), (GENERATION, 4255.3, 4454.0),
         (SHUTDOWN, 4454.0, 5546.0)],
    ),
}  # fmt: skip
"""File -> name of the format; phase, start and end in milliseconds since the spawn."""

LLAMA_OLD = """
llama_print_timings:        load time =   348.39 ms
llama_print_timings:      sample time =     4.66 ms /    56 runs   (    0.08 ms per token)
llama_print_timings: prompt eval time =   200.00 ms /    18 tokens (   11.11 ms per token)
llama_print_timings:        eval time =   600.00 ms /    55 runs   (   10.91 ms per token)
llama_print_timings:       total time =   973.52 ms /    73 tokens
"""
OLLAMA = """
total duration:       950ms
load duration:        300ms
prompt eval count:    26 token(s)
prompt eval duration: 200ms
eval count:           40 token(s)
eval duration:        400ms
"""


def _texts(*pieces, err="", end, exit_ms):
    """Text that comes in pieces, then a report on stderr."""
    records = [{"t_ms": at, "stream": "out", "text": text} for at, text in pieces]
    records += [{"t_ms": end, "stream": "err", "text": err}] if err else []
    return [*records, {"t_ms": exit_ms, "exit": 0}]


def _data(name):
    return (DATA / name).read_text("utf-8")


PLAYED = {
    name: (form, [json.loads(line) for line in _data(name).splitlines()], expected)
    for name, (form, expected) in CAPTURES.items()
} | {
    # Real output without times, or real times of a few bytes: what it says is what it would be.
    "gemini json": (
        "gemini-json",
        _texts((900.0, _data("gemini_json_0.61.0.json")), end=0, exit_ms=1100.0),
        [(INFERENCE, 0, 900.0), (SHUTDOWN, 900.0, 1100.0)],
    ),
    "llm": (
        "llm",
        _texts((2268.4, "Hello"), (2366.1, " there"), (2468.4, "."), (2592.1, "\n"),
               end=0, exit_ms=3116.2),
        [(START, 0, 2268.4), (GENERATION, 2268.4, 2468.4), (SHUTDOWN, 2468.4, 3116.2)],
    ),
    "llm -u": (
        "llm",
        _texts((1000.0, "Hello there.\n"), err=_data("llm_usage_0.36.txt"), end=1010.0,
               exit_ms=1200.0),
        [(START, 0, 1000.0), (GENERATION, 1000.0, 1000.0), (SHUTDOWN, 1000.0, 1200.0)],
    ),
    "ollama --verbose": (
        "ollama",
        # 300 ms to load, 200 for the prompt.
        _texts((1500.0, "Hello"), (1700.0, " there"), (1900.0, "."), err=OLLAMA, end=1920.0,
               exit_ms=2100.0),
        [(START, 0, 1000.0), (TTFT, 1000.0, 1500.0), (GENERATION, 1500.0, 1900.0),
         (SHUTDOWN, 1900.0, 2100.0)],
    ),
    "llama.cpp, old": (
        "llama-cpp",
        _texts((900.0, "Hello"), (1200.0, " there"), (1500.0, "."), err=LLAMA_OLD, end=1520.0,
               exit_ms=1700.0),
        [(START, 0, 700.0), (TTFT, 700.0, 900.0), (GENERATION, 900.0, 1500.0),
         (SHUTDOWN, 1500.0, 1700.0)],
    ),
    "llama.cpp, new": (
        "llama-cpp",
        # 130.58 ms for the prompt, 661.06 for the answer.
        _texts((900.0, "Hello"), (1200.0, " there"), (1561.0, "."),
               err=_data("llama_cpp_new.txt"), end=1580.0, exit_ms=1700.0),
        [(START, 0, 769.42), (TTFT, 769.42, 900.0), (GENERATION, 900.0, 1561.0),
         (SHUTDOWN, 1561.0, 1700.0)],
    ),
    "text that streams": (
        "text",
        _texts((600.0, "Hello"), (900.0, " there"), (1200.0, ".\n"), end=0, exit_ms=1400.0),
        [(START, 0, 600.0), (GENERATION, 600.0, 1200.0), (SHUTDOWN, 1200.0, 1400.0)],
    ),
    "text in one burst": (
        "text",
        _texts((900.0, "Hello there.\n"), end=0, exit_ms=1100.0),
        [(INFERENCE, 0, 900.0), (SHUTDOWN, 900.0, 1100.0)],
    ),
}  # fmt: skip
"""Name -> of the format; the records that are played; phases as above."""

TOLD_AT = {
    2330.2: 3323.2,  # by the program's own clock
    1920.0: 920.0,  # when it says it will try again
    1000.0: 1500.0, 700.0: 900.0, 769.42: 900.0,  # before the first token, as the server says
}  # fmt: skip
"""Moments that no record has the time of -> that of the record by which they are known."""

COMMANDS = {
    "claude-json": "claude -p hi --output-format json",
    "claude-stream-json": "claude -p hi --output-format stream-json --verbose",
    "codex-json": "codex exec --json hi",
    "copilot-json": "copilot -p hi --output-format json",
    "gemini-json": "gemini -p hi --output-format json",
    "gemini-stream-json": "gemini -p hi --output-format stream-json",
    "llama-cpp": "llama-cli -m tiny.gguf -p hi",
    "llm": "llm hi",
    "ollama": "ollama run --verbose tiny hi",
    "opencode-json": "opencode run --format json hi",
    "qwen-stream-json": "qwen -p hi --output-format stream-json --include-partial-messages",
    "text": "a-tool hi",
}
"""Name of a format -> a command that prints in it."""


def extents(call):
    """The same of a call, to the tenth of a millisecond; seconds are those of its clock."""
    return [(s.phase.value, s.start_ns / 1e6, s.end_ns / 1e6) for s in call.stretches]
