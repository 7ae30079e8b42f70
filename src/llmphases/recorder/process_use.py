"""What the spans of a child process say of its use."""

from __future__ import annotations

from llmphases import conventions as names
from llmphases.calls import AttributeValue, ProcessUse


def process_attributes(use: ProcessUse) -> dict[str, AttributeValue]:
    """As flat attributes, durations in seconds; what is not known is left out."""
    said = {
        names.PROCESS_EXECUTABLE_NAME: use.executable,
        names.PROCESS_PID: use.pid,
        names.PROCESS_EXIT_CODE: use.exit_code,
        names.PROCESS_DURATION: _seconds(use.wall_ns),
        names.PROCESS_CPU_TIME: _seconds(use.cpu_ns),
        names.PROCESS_CPU_SHARE: use.cpu_share,
        names.PROCESS_MEMORY_PEAK: use.memory_peak,
        names.PROCESS_SURVIVORS: use.survivors,
    }
    return {key: value for key, value in said.items() if value is not None}


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
