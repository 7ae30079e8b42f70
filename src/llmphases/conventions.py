"""Every span attribute, metric name and histogram boundary, as data.

`gen_ai.*` follows open-telemetry/semantic-conventions-genai v0.1.0 (no Python package carries those
names yet); `error.type` and `process.*` follow semantic-conventions 1.44. What the conventions do
not have lives under `llmphases.`.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmphases.phases import Cost, Phase

SCOPE = "llmphases"
"""The instrumentation scope of every span and metric. It has no schema URL: none is published for
these names, and one of other versions would have a collector rename some."""

# --- attributes of the GenAI conventions, and others' -------------------------------------------
OPERATION_NAME = "gen_ai.operation.name"
PROVIDER_NAME = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
RESPONSE_MODEL = "gen_ai.response.model"
TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_INPUT_TOKENS = "gen_ai.usage.cache_write.input_tokens"
REASONING_OUTPUT_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE = "gen_ai.token.type"
RETRIEVAL_OPERATION = "retrieval"
ERROR_TYPE = "error.type"
OTHER_ERROR = "_OTHER"
"""The `error.type` of a failure that nobody gave a reason for."""
TIMEOUT_ERROR = "timeout"
"""The `error.type` of a child process that was ended since it took too long."""
PROCESS_EXECUTABLE_NAME = "process.executable.name"
PROCESS_PID = "process.pid"
PROCESS_EXIT_CODE = "process.exit.code"

# --- attributes of ours -------------------------------------------------------------------------
PHASE = "llmphases.phase"
COST = "llmphases.cost"
ORIGIN = "llmphases.origin"
DETAIL = "llmphases.detail"
STALL = "llmphases.stall"
REQUEST_INDEX = "llmphases.request.index"
CONNECTION_REUSED = "llmphases.connection.reused"
CONNECT_DNS = "llmphases.connect.dns"
CONNECT_TCP = "llmphases.connect.tcp"
CONNECT_TLS = "llmphases.connect.tls"
CALL_NAME = "llmphases.call.name"
CALL_NESTED = "llmphases.call.nested"
FIXED_SHARE = "llmphases.fixed.share"
UNATTRIBUTED_DURATION = "llmphases.unattributed.duration"
CALL_TIME_TO_FIRST_TOKEN = "llmphases.call.time_to_first_token"
TIME_TO_FIRST_REASONING_TOKEN = "llmphases.time_to_first_reasoning_token"
TIME_TO_FIRST_ANSWER_TOKEN = "llmphases.time_to_first_answer_token"
CHUNKS = "llmphases.chunks"
REQUESTS = "llmphases.requests"
RETRIES = "llmphases.retries"
UNITS = "llmphases.units"
CACHE_RESULT = "llmphases.cache.result"
BATCH_SIZE = "llmphases.batch.size"
QUEUED_DURATION = "llmphases.queued.duration"
STREAM_ENDED = "llmphases.stream.ended"
FIRST_TOKEN_RULE = "llmphases.first_token.rule"
REPORTED_PREFIX = "llmphases.reported."
REPORTED_TRUSTED = "llmphases.reported.trusted"
TOLD_BY = "llmphases.told_by"
PROCESS_DURATION = "llmphases.process.duration"
PROCESS_CPU_TIME = "llmphases.process.cpu.time"
PROCESS_CPU_SHARE = "llmphases.process.cpu.share"
PROCESS_MEMORY_PEAK = "llmphases.process.memory.peak"
PROCESS_SURVIVORS = "llmphases.process.survivors"
TAP_VIEW = "llmphases.tap.view"
TAP_CONNECT = "llmphases.tap.connect"
TAP_FIRST_BYTE = "llmphases.tap.first_byte"
TAP_LAST_BYTE = "llmphases.tap.last_byte"
JOB_NAME = "llmphases.job.name"
JOB_WORKERS = "llmphases.job.workers"
JOB_CHUNKS = "llmphases.job.chunks"
JOB_WAVES = "llmphases.job.waves"
RUN_ID = "llmphases.run.id"

USAGE_OF_OURS = {
    name: f"llmphases.usage.{name.removeprefix('gen_ai.usage.')}"
    for name in (
        INPUT_TOKENS, OUTPUT_TOKENS, CACHE_READ_INPUT_TOKENS, CACHE_WRITE_INPUT_TOKENS,
        REASONING_OUTPUT_TOKENS,
    )
}  # fmt: skip
"""Where tokens stand on the span of a call whose requests have spans of somebody else: what has
the conventions' names is counted by backends, and would be counted twice."""

CHUNK_EVENTS = frozenset({"gen_ai.content.completion.chunk"})
"""Events that others write on a span, one for each chunk."""
DISTRUSTED_TIMES = {"gen_ai.server.time_to_first_token": "time_to_first_token"}
"""Attributes of others' that are not what they are called: counted from the response's headers on,
or the whole duration where there is no stream."""

OURS = "llmphases."
"""What all attributes of ours begin with."""
WRITTEN = frozenset(
    (
        OPERATION_NAME, PROVIDER_NAME, REQUEST_MODEL, REQUEST_STREAM, RESPONSE_MODEL,
        TIME_TO_FIRST_CHUNK, INPUT_TOKENS, OUTPUT_TOKENS, CACHE_READ_INPUT_TOKENS,
        CACHE_WRITE_INPUT_TOKENS, REASONING_OUTPUT_TOKENS, ERROR_TYPE, PROCESS_EXECUTABLE_NAME,
        PROCESS_PID, PROCESS_EXIT_CODE,
    )
)  # fmt: skip
"""Attributes under others' names that we write on the span of a call."""


def is_ours(key: str) -> bool:
    """Whether we write that attribute: a program's own would be read back as something else."""
    return key.startswith(OURS) or key in WRITTEN


def cost_duration(cost: Cost) -> str:
    """The attribute for the seconds paid in one bucket, e.g. `llmphases.fixed.duration`."""
    return f"llmphases.{cost.value}.duration"


def phase_duration(phase: Phase) -> str:
    """The attribute for the exclusive seconds of a phase."""
    return f"llmphases.phase.{phase.value}.duration"


# --- metrics ------------------------------------------------------------------------------------
SECONDS = (
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0,
    60.0, 75.0, 90.0, 120.0, 180.0, 300.0, 600.0,
)  # fmt: skip
"""Boundaries for calls that take milliseconds as well as minutes: those of the GenAI conventions
end at 81.92 s, in one bucket that is 40 s wide."""
SHARES = tuple(n / 20 for n in range(1, 21))
GEN_AI_SECONDS = (
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
)  # fmt: skip
TOKENS = tuple(float(4**n) for n in range(14))
MEMORY = tuple(float(2**n) for n in range(24, 37))
"""16 MiB to 64 GiB."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's name, unit and meaning; `boundaries` makes it a histogram."""

    name: str
    unit: str
    description: str
    boundaries: tuple[float, ...] | None = None
    is_counter: bool = False
    """Whether it is a sum that only grows."""


PHASE_DURATION = Metric(
    "llmphases.phase.duration", "s", "Exclusive time of one phase in one call", SECONDS
)
CALL_DURATION = Metric("llmphases.call.duration", "s", "Duration of a call", SECONDS)
CALL_FIRST_TOKEN = Metric(
    "llmphases.call.time_to_first_token", "s", "From the call's start to its first token", SECONDS
)
CALL_FIXED_SHARE = Metric(
    "llmphases.call.fixed_share", "1", "fixed / (fixed + generation) of a call", SHARES
)
CALL_PAID = Metric(
    "llmphases.call.paid",
    "s",
    "Fixed cost and generation of the calls where the two are told apart",
    is_counter=True,
)
CALLS_ACTIVE = Metric("llmphases.calls.active", "{call}", "Calls that are open now")
RETRIES_TOTAL = Metric(
    "llmphases.retries", "{retry}", "Requests sent again after a failure", is_counter=True
)
TIMEOUTS_TOTAL = Metric(
    "llmphases.timeouts",
    "{timeout}",
    "Requests, child processes and calls that a time-out ended",
    is_counter=True,
)
CACHE_REQUESTS = Metric(
    "llmphases.cache.requests", "{request}", "Cache look-ups, by result", is_counter=True
)
PROCESS_MEMORY = Metric(
    "llmphases.process.memory.peak", "By", "Peak memory of a child process and its tree", MEMORY
)
PROCESS_CPU = Metric(
    "llmphases.process.cpu.time",
    "s",
    "CPU time of child processes, trees included",
    is_counter=True,
)
PROCESS_WALL = Metric(
    "llmphases.process.duration", "s", "A child process, from its spawn to its exit", SECONDS
)
PROCESS_STARTUP = Metric(
    "llmphases.process.startup.duration", "s", "From a child's spawn until it is ready", SECONDS
)
JOB_WORKERS_GAUGE = Metric("llmphases.job.workers", "{worker}", "Workers of a job")
JOB_CHUNKS_GAUGE = Metric("llmphases.job.chunks", "{call}", "Pieces a job was cut into")
JOB_WAVES_GAUGE = Metric("llmphases.job.waves", "{wave}", "Pieces per worker, rounded up")
INFERENCE_DURATION = Metric(
    "gen_ai.client.inference.duration", "s", "GenAI operation duration", GEN_AI_SECONDS
)
INFERENCE_FIRST_CHUNK = Metric(
    "gen_ai.client.inference.time_to_first_chunk", "s", "Time to first chunk", GEN_AI_SECONDS
)
INFERENCE_INPUT_TOKENS = Metric(
    "gen_ai.client.inference.operation.input_tokens", "{token}", "Input tokens of a call", TOKENS
)
INFERENCE_OUTPUT_TOKENS = Metric(
    "gen_ai.client.inference.operation.output_tokens", "{token}", "Output tokens of a call", TOKENS
)
USAGE_INPUT_TOKENS = Metric(
    "gen_ai.client.inference.usage.input_tokens",
    "{token}",
    "Input tokens used, cached included",
    is_counter=True,
)
USAGE_OUTPUT_TOKENS = Metric(
    "gen_ai.client.inference.usage.output_tokens",
    "{token}",
    "Output tokens, reasoning included",
    is_counter=True,
)
USAGE_CACHE_READ_INPUT_TOKENS = Metric(
    "gen_ai.client.inference.usage.cache_read.input_tokens",
    "{token}",
    "Input read from a cache",
    is_counter=True,
)
USAGE_CACHE_WRITE_INPUT_TOKENS = Metric(
    "gen_ai.client.inference.usage.cache_write.input_tokens",
    "{token}",
    "Input written to a cache",
    is_counter=True,
)
USAGE_REASONING_OUTPUT_TOKENS = Metric(
    "gen_ai.client.inference.usage.reasoning.output_tokens",
    "{token}",
    "Output that is reasoning",
    is_counter=True,
)
EMBEDDINGS_DURATION = Metric(
    "gen_ai.client.embeddings.duration", "s", "GenAI embeddings duration", GEN_AI_SECONDS
)
EMBEDDINGS_INPUT_TOKENS = Metric(
    "gen_ai.client.embeddings.operation.input_tokens", "{token}", "Input tokens of a call", TOKENS
)
OLD_OPERATION_DURATION = Metric(
    "gen_ai.client.operation.duration", "s", "GenAI operation duration", GEN_AI_SECONDS
)
OLD_FIRST_CHUNK = Metric(
    "gen_ai.client.operation.time_to_first_chunk", "s", "Time to first chunk", GEN_AI_SECONDS
)
OLD_TOKEN_USAGE = Metric(
    "gen_ai.client.token.usage", "{token}", "Input and output tokens used", TOKENS
)
METRIC_REASON = "llmphases.reason"

# --- environment variables of ours --------------------------------------------------------------
ENV_DISABLED = "LLMPHASES_DISABLED"
ENV_LOG = "LLMPHASES_LOG"
ENV_FILE = "LLMPHASES_FILE"
ENV_OLD_NAMES = "LLMPHASES_OLD_GENAI_METRICS"
DEFAULT_FILE = "llmphases-traces.jsonl"


def is_switched_on(value: str | None) -> bool:
    """Whether a variable of ours says so; what is no such word switches nothing."""
    return (value or "").strip().lower() in {"1", "true", "yes", "on"}
