"""Writes the tables of the documents from the package itself, between their markers.

`python docs/generate.py` writes them; `--check` writes nothing and tells which are stale (exit 1).
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import llmphases
from llmphases import conventions
from llmphases.calls import Ended
from llmphases.conventions import Metric, cost_duration, phase_duration
from llmphases.phases import MEANING, Cost

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "docs" / "phases.md",
    ROOT / "docs" / "attributes.md",
    ROOT / "docs" / "api.md",
)
_MARKED = re.compile(r"(<!-- generated: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)

_CALL = "call"
_PHASE = "phase"
_JOB = "job"
_RESOURCE = "resource"
_CHILD = "call, phase"
"""Where there was one child process, on its call; on `process_startup` or `inference` for each."""

ATTRIBUTES: dict[str, tuple[str, str]] = {
    conventions.OPERATION_NAME: (_CALL, "what is done: `chat` unless said otherwise"),
    conventions.PROVIDER_NAME: (_CALL, "who serves the model, as given or as a response says"),
    conventions.REQUEST_MODEL: (_CALL, "the model asked for"),
    conventions.REQUEST_STREAM: (_CALL, "true for a stream, else absent"),
    conventions.RESPONSE_MODEL: (_CALL, "the model that answered"),
    conventions.TIME_TO_FIRST_CHUNK: (
        _CALL,
        "s; from the first request's issue to its first chunk of any kind",
    ),
    conventions.INPUT_TOKENS: (_CALL, "input tokens, cached ones included"),
    conventions.OUTPUT_TOKENS: (_CALL, "output tokens, reasoning included"),
    conventions.CACHE_READ_INPUT_TOKENS: (_CALL, "of the input: read from the provider's cache"),
    conventions.CACHE_WRITE_INPUT_TOKENS: (_CALL, "of the input: written to that cache"),
    conventions.REASONING_OUTPUT_TOKENS: (_CALL, "of the output: reasoning"),
    conventions.ERROR_TYPE: (f"{_CALL}, {_PHASE}", "the class of the exception that ended it"),
    conventions.CALL_NAME: (_CALL, "the function's or block's name"),
    conventions.CALL_NESTED: (_CALL, "whether it ran inside another traced call"),
    **{
        cost_duration(cost): (_CALL, f"s; paid as {cost.value}; the five add up to the duration")
        for cost in Cost
    },
    conventions.UNATTRIBUTED_DURATION: (_CALL, "s; what no phase covers"),
    phase_duration(next(iter(MEANING))).replace("queue_wait", "<phase>"): (
        _CALL,
        "s; exclusive time of each phase that occurred",
    ),
    conventions.FIXED_SHARE: (_CALL, "fixed / (fixed + generation), where the two are told apart"),
    conventions.CALL_TIME_TO_FIRST_TOKEN: (
        _CALL,
        "s; from the call's start to its first token, reasoning included",
    ),
    conventions.TIME_TO_FIRST_REASONING_TOKEN: (_CALL, "s; the same, to the first reasoning token"),
    conventions.TIME_TO_FIRST_ANSWER_TOKEN: (
        _CALL,
        "s; the same, to the first token of the answer",
    ),
    conventions.CHUNKS: (_CALL, "items of the stream, of any kind"),
    conventions.REQUESTS: (_CALL, "requests to a model"),
    conventions.RETRIES: (_CALL, "requests sent again after a failure"),
    conventions.UNITS: (_CALL, "work items in the call, as `call.units(n)` said"),
    conventions.CACHE_RESULT: (
        _CALL,
        (
            "`hit` or `miss`: as `call.cache(...)` said, else of the prompt: some was read from "
            "the provider's cache, or none though some was written to it"
        ),
    ),
    conventions.BATCH_SIZE: (_CALL, "calls that were sent together"),
    conventions.QUEUED_DURATION: (_CALL, "s; wait for a worker *before* the call"),
    conventions.STREAM_ENDED: (
        _CALL,
        "how: " + ", ".join(f"`{ended.value}`" for ended in Ended),
    ),
    conventions.FIRST_TOKEN_RULE: (
        f"{_CALL}, {_PHASE}",
        (
            "what decided when a child process was ready; under another instrumentation's span: "
            "whether it stamps the `first_token` or, as most, the `first_chunk`, maybe an empty one"
        ),
    ),
    f"{conventions.REPORTED_PREFIX}<field>": (
        f"{_CALL}, {_PHASE}",
        "what a server said about its own times, under its own names; or another instrumentation",
    ),
    conventions.TOLD_BY: (
        _PHASE,
        (
            "of another instrumentation's span: by which of its records it was split "
            "([beside_others.md](beside_others.md))"
        ),
    ),
    "llmphases.usage.<count>": (
        _CALL,
        "tokens, instead of `gen_ai.usage.<count>` where another instrumentation's span has these",
    ),
    conventions.REPORTED_TRUSTED: (_CALL, "whether that fitted the time we measured"),
    conventions.PROCESS_EXECUTABLE_NAME: (_CHILD, "the program that a child process runs"),
    conventions.PROCESS_PID: (_CHILD, "its pid"),
    conventions.PROCESS_EXIT_CODE: (_CHILD, "negative for the signal that ended it"),
    conventions.PROCESS_DURATION: (_CHILD, "s; from its spawn to its exit"),
    conventions.PROCESS_CPU_TIME: (
        _CHILD,
        "s; with all its descendants: exact for those waited for, else as last seen",
    ),
    conventions.PROCESS_CPU_SHARE: (_CHILD, "CPU time by duration; over 1 on several cores"),
    conventions.PROCESS_MEMORY_PEAK: (
        _CHILD,
        "bytes; resident memory of it and its descendants together, at least",
    ),
    conventions.PROCESS_SURVIVORS: (_CHILD, "descendants that were seen and outlived it"),
    conventions.TAP_VIEW: (
        _PHASE,
        "of a tapped child: its `requests` were seen, only that `bytes` went by, or `nothing`",
    ),
    conventions.TAP_CONNECT: (
        _PHASE,
        "s; through `CONNECT`: from the spawn to the first connection that was asked for",
    ),
    conventions.TAP_FIRST_BYTE: (_PHASE, "s; likewise, to the first bytes that came back"),
    conventions.TAP_LAST_BYTE: (_PHASE, "s; likewise, to the last"),
    conventions.PHASE: (_PHASE, "the phase, as in [phases.md](phases.md)"),
    conventions.COST: (_PHASE, "the bucket it is paid in"),
    conventions.ORIGIN: (_PHASE, "`measured` by our clock, or `reported` by a server or others"),
    conventions.REQUEST_INDEX: (_PHASE, "which request it belongs to, from 0"),
    conventions.DETAIL: (_PHASE, "true for a piece inside a phase; never added up"),
    conventions.STALL: (_PHASE, "true for a wait of a stream for its consumer"),
    conventions.CONNECTION_REUSED: (
        _PHASE,
        "where an HTTP client tells: whether its connection was there before the request",
    ),
    conventions.CONNECT_DNS: (_PHASE, "s; of the detail `connect`: until the name was resolved"),
    conventions.CONNECT_TCP: (_PHASE, "s; likewise, until the socket was connected"),
    conventions.CONNECT_TLS: (_PHASE, "s; likewise, for the TLS handshakes"),
    conventions.JOB_NAME: (f"{_JOB}, {_CALL}", "the job's name"),
    conventions.JOB_WORKERS: (_JOB, "how many calls may run at once"),
    conventions.JOB_CHUNKS: (_JOB, "calls in the job"),
    conventions.JOB_WAVES: (_JOB, "calls per worker, rounded up"),
    conventions.RUN_ID: (
        _RESOURCE,
        (
            "one for a run of a program, the workers of its pools included, where `configure()` "
            "sets the provider"
        ),
    ),
}

SETTINGS = {
    conventions.ENV_DISABLED: "`1` hands back decorated functions as they are, and records nothing",
    conventions.ENV_LOG: "`1` writes one line per call to the logger `llmphases`",
    conventions.ENV_FILE: f"where traces go without an endpoint (`{conventions.DEFAULT_FILE}`)",
    conventions.ENV_OLD_NAMES: "`1` gives the `gen_ai.*` metrics their names from before 2026",
}


def phases() -> Iterable[str]:
    """One row per phase."""
    yield "| phase | from | to | paid as |"
    yield "| --- | --- | --- | --- |"
    for phase, meaning in MEANING.items():
        yield f"| `{phase.value}` | {meaning.starts} | {meaning.ends} | {meaning.cost.value} |"


def attributes() -> Iterable[str]:
    """One row per attribute."""
    yield "| attribute | on | meaning |"
    yield "| --- | --- | --- |"
    for name, (where, meaning) in ATTRIBUTES.items():
        yield f"| `{name}` | {where} | {meaning} |"


def metrics() -> Iterable[str]:
    """One row per metric."""
    yield "| metric | kind | unit | meaning |"
    yield "| --- | --- | --- | --- |"
    for metric in vars(conventions).values():
        if isinstance(metric, Metric):
            number = "counter" if metric.is_counter else "number"
            kind = "histogram" if metric.boundaries else number
            yield f"| `{metric.name}` | {kind} | {metric.unit} | {metric.description} |"


def settings() -> Iterable[str]:
    """One row per environment variable."""
    yield "| variable | effect |"
    yield "| --- | --- |"
    for name, effect in SETTINGS.items():
        yield f"| `{name}` | {effect} |"


def api() -> Iterable[str]:
    """One row per public name."""
    yield "| name | what it is |"
    yield "| --- | --- |"
    for name in llmphases.__all__:
        described = inspect.getdoc(getattr(llmphases, name)) or ""
        yield f"| `{name}` | {' '.join(described.split(chr(10) * 2)[0].split())} |"


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "api": api,
    "phases": phases,
    "attributes": attributes,
    "metrics": metrics,
    "settings": settings,
}


def filled(text: str) -> str:
    """A document with every table between markers written anew."""

    def table(match: re.Match[str]) -> str:
        rows = "\n".join(TABLES[match[2]]())
        return f"{match[1]}{rows}\n{match[3]}"

    return _MARKED.sub(table, text)


def main(arguments: list[str]) -> int:
    """Write, or with `--check` tell what is stale."""
    stale = 0
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        new = filled(text)
        if new == text:
            continue
        stale += 1
        if "--check" in arguments:
            print(f"{path.relative_to(ROOT)} is stale: make docs writes it anew", file=sys.stderr)
        else:
            path.write_text(new, "utf-8")
            print(f"{path.relative_to(ROOT)} written")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
