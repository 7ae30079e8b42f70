"""See where the time of an LLM call goes: what is paid per call, and what is paid per token.

Put `@traced_llm_call` on a function you have, or `with llm_call("name"):` around a piece of code.
"""

from llmphases.adapters.registry import Instrumented, instrument, uninstrument
from llmphases.calls import Call, Detail, Ended, ProcessUse, Stretch, Usage
from llmphases.capture.blocks import (
    cache_lookup,
    llm_call,
    post_processing,
    prompt_build,
    queue_wait,
    retrieval,
    step,
    tool,
    transmission,
)
from llmphases.capture.children.command import CommandOptions, CommandResult
from llmphases.capture.children.runner import (
    run_command,
    run_command_async,
    stream_command,
    stream_command_async,
)
from llmphases.capture.decoration import call_of, traced_llm_call, traced_stream
from llmphases.capture.jobs import LlmJob, llm_job
from llmphases.capture.marks import LlmCall, current_call
from llmphases.errors import (
    ArgumentError,
    ConfigurationError,
    LlmphasesError,
    RecordError,
    UnreadableSourceError,
)
from llmphases.observers import Observer
from llmphases.phases import Cost, Origin, Phase
from llmphases.wiring import configure, flush

__all__ = [
    "ArgumentError",
    "Call",
    "CommandOptions",
    "CommandResult",
    "ConfigurationError",
    "Cost",
    "Detail",
    "Ended",
    "Instrumented",
    "LlmCall",
    "LlmJob",
    "LlmphasesError",
    "Observer",
    "Origin",
    "Phase",
    "ProcessUse",
    "RecordError",
    "Stretch",
    "UnreadableSourceError",
    "Usage",
    "cache_lookup",
    "call_of",
    "configure",
    "current_call",
    "flush",
    "instrument",
    "llm_call",
    "llm_job",
    "post_processing",
    "prompt_build",
    "queue_wait",
    "retrieval",
    "run_command",
    "run_command_async",
    "step",
    "stream_command",
    "stream_command_async",
    "tool",
    "traced_llm_call",
    "traced_stream",
    "transmission",
    "uninstrument",
]

__version__ = "0.1.0"
