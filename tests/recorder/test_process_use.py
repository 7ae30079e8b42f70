"""What the spans of a child process say."""

from __future__ import annotations

from llmphases import conventions as names
from llmphases.calls import ProcessUse
from llmphases.recorder.process_use import process_attributes


def test_all_that_is_known_is_said_in_seconds_and_bytes():
    use = ProcessUse(
        executable="claude", pid=7, exit_code=-9, wall_ns=4 * 10**9, cpu_ns=10**9,
        memory_peak=2**28, survivors=0,
    )  # fmt: skip
    assert process_attributes(use) == {
        names.PROCESS_EXECUTABLE_NAME: "claude",
        names.PROCESS_PID: 7,
        names.PROCESS_EXIT_CODE: -9,
        names.PROCESS_DURATION: 4.0,
        names.PROCESS_CPU_TIME: 1.0,
        names.PROCESS_CPU_SHARE: 0.25,
        names.PROCESS_MEMORY_PEAK: 2**28,
        names.PROCESS_SURVIVORS: 0,
    }


def test_what_is_not_known_is_not_said():
    """A share needs both of its times."""
    assert process_attributes(ProcessUse(pid=7, cpu_ns=5)) == {
        names.PROCESS_PID: 7,
        names.PROCESS_CPU_TIME: 5e-9,
    }
    assert process_attributes(ProcessUse(cpu_ns=5, wall_ns=0)).keys() == {
        names.PROCESS_DURATION,
        names.PROCESS_CPU_TIME,
    }
