"""Captured output of real programs, and where each of their phases was, read by hand."""

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


def extents(call):
    """The same of a call, to the tenth of a millisecond; seconds are those of its clock."""
    return [(s.phase.value, s.start_ns / 1e6, s.end_ns / 1e6) for s in call.stretches]
