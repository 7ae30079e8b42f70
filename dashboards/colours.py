"""One colour for each phase, everywhere: warm is fixed cost, green is the answer."""

from __future__ import annotations

from llmphases.phases import Phase

NO_PHASE = "no phase"
"""The legend of time that no phase covers."""

COLOURS = {
    Phase.QUEUE_WAIT: "#c9b458",
    Phase.CACHE_LOOKUP: "#f7d774",
    Phase.PROMPT_BUILD: "#f2b134",
    Phase.RETRIEVAL: "#ed8936",
    Phase.PROCESS_STARTUP: "#d64545",
    Phase.RETRY: "#8c2f39",
    Phase.TIME_TO_FIRST_TOKEN: "#f26b5e",
    Phase.GENERATION: "#3d9970",
    Phase.INFERENCE: "#7f8c8d",
    Phase.TRANSMISSION: "#7fb3d5",
    Phase.POST_PROCESSING: "#4a7fb5",
    Phase.TOOL: "#8e6bbf",
    Phase.PROCESS_SHUTDOWN: "#e8a0a0",
}
COLOUR_OF_THE_REST = "#c4c9cc"


def colours_by_legend() -> dict[str, str]:
    """The colour of each series that is named after a phase."""
    named = {phase.value: colour for phase, colour in COLOURS.items()}
    return {**named, NO_PHASE: COLOUR_OF_THE_REST}
