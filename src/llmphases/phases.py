"""The phases of an LLM call, and in which bucket each is paid."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cost(StrEnum):
    """The bucket that time is paid in."""

    FIXED = "fixed"
    """Paid once per call or request, whatever the length of the answer."""
    GENERATION = "generation"
    """Paid per output token."""
    DELIVERY = "delivery"
    """Spent by whoever consumes the answer."""
    TOOL = "tool"
    """Spent running tools between two requests."""
    UNSPLIT = "unsplit"
    """Fixed cost and generation together, where nothing tells the two apart."""


class Origin(StrEnum):
    """Who says how long something took."""

    MEASURED = "measured"
    """Our own clock."""
    REPORTED = "reported"
    """A server or a command-line tool."""


class Phase(StrEnum):
    """A named kind of time inside a call. The value is the span's name."""

    QUEUE_WAIT = "queue_wait"
    CACHE_LOOKUP = "cache_lookup"
    PROMPT_BUILD = "prompt_build"
    RETRIEVAL = "retrieval"
    PROCESS_STARTUP = "process_startup"
    RETRY = "retry"
    TIME_TO_FIRST_TOKEN = "time_to_first_token"
    GENERATION = "generation"
    INFERENCE = "inference"
    TRANSMISSION = "transmission"
    POST_PROCESSING = "post_processing"
    TOOL = "tool"
    PROCESS_SHUTDOWN = "process_shutdown"

    @property
    def cost(self) -> Cost:
        """The bucket this phase is paid in."""
        return _COST_OF[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a phase covers, in words: the documentation is generated from it."""

    starts: str
    ends: str
    cost: Cost


MEANING: dict[Phase, Meaning] = {
    Phase.QUEUE_WAIT: Meaning(
        starts="handed to a pool, batch window or limiter", ends="the work starts", cost=Cost.FIXED
    ),
    Phase.CACHE_LOOKUP: Meaning(
        starts="the block is entered", ends="the block is left (hit or miss)", cost=Cost.FIXED
    ),
    Phase.PROMPT_BUILD: Meaning(
        starts="the block is entered", ends="the block is left", cost=Cost.FIXED
    ),
    Phase.RETRIEVAL: Meaning(
        starts="the block is entered", ends="the block is left", cost=Cost.FIXED
    ),
    Phase.PROCESS_STARTUP: Meaning(
        starts="the child process is spawned", ends="it is ready", cost=Cost.FIXED
    ),
    Phase.RETRY: Meaning(
        starts="a request that failed was sent",
        ends="the next one is sent (attempt and back-off)",
        cost=Cost.FIXED,
    ),
    Phase.TIME_TO_FIRST_TOKEN: Meaning(
        starts="the request is issued",
        ends="its first output token (text, reasoning or tool call) is in our hands",
        cost=Cost.FIXED,
    ),
    Phase.GENERATION: Meaning(
        starts="the first token of a request", ends="its last token", cost=Cost.GENERATION
    ),
    Phase.INFERENCE: Meaning(
        starts="the request is issued",
        ends="the whole response is there, and nothing tells first token and generation apart",
        cost=Cost.UNSPLIT,
    ),
    Phase.TRANSMISSION: Meaning(
        starts="the consumer holds a chunk (or the block is entered)",
        ends="it asks for the next (or the block is left)",
        cost=Cost.DELIVERY,
    ),
    Phase.POST_PROCESSING: Meaning(
        starts="the block is entered", ends="the block is left", cost=Cost.DELIVERY
    ),
    Phase.TOOL: Meaning(
        starts="a tool starts between two requests", ends="it is done", cost=Cost.TOOL
    ),
    Phase.PROCESS_SHUTDOWN: Meaning(
        starts="the last token (or output byte)",
        ends="the child process has exited",
        cost=Cost.FIXED,
    ),
}

_COST_OF = {phase: meaning.cost for phase, meaning in MEANING.items()}

BLOCKS = frozenset(
    {
        Phase.QUEUE_WAIT,
        Phase.CACHE_LOOKUP,
        Phase.PROMPT_BUILD,
        Phase.RETRIEVAL,
        Phase.TRANSMISSION,
        Phase.POST_PROCESSING,
        Phase.TOOL,
    }
)
"""The phases a program may open itself."""
