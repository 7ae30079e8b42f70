"""Real children that take a stated time over each step: what is measured is what they did.

A child notes when it does what (its clock is the same as ours), so a slow machine is no fault.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from capture.children.captures import extents
from capture.children.tools_of_ours import phases, tool
from lab.tries import tries
from llmphases import run_command, run_command_async
from llmphases.phases import Phase
from llmphases.testing import recorded

pytestmark = pytest.mark.slow

SLACK_MS = 20

_TOOL = """
import json
def note(): err(str(time.perf_counter_ns()) + "\\n")
def at(seconds, data, is_noted=True):
    time.sleep(max(0, began + seconds - time.perf_counter()))
    if is_noted: note()
    if data: out(data if isinstance(data, str) else json.dumps(data) + "\\n")
began = time.perf_counter()
"""


@pytest.fixture
def timed_run():
    """Runs a program in `_TOOL`; gives the phases and the notes on one clock."""

    def run(program, **options):
        with recorded() as kept:
            result = run_command(tool(_TOOL + program), **options)
        began = kept.open_calls[0].start_ns
        (call,) = kept.calls
        notes = [(int(line) - began) / 1e6 for line in result.stderr.split()]
        return extents(call), notes, call

    return run


def assert_spans(attempt, found, expected):
    """Never earlier than they were, and not much later, once."""
    phases_found = [phase for phase, _, _ in found]
    phases_told = [phase for phase, _, _ in expected]
    if phases_found == phases_told:
        for (phase, *got), (_, *told) in zip(found, expected, strict=True):
            assert all(g >= t - 0.1 for g, t in zip(got, told, strict=True)), phase
    with attempt:
        assert phases_found == phases_told
        for (phase, *got), (_, *told) in zip(found, expected, strict=True):
            assert got == [pytest.approx(ms, abs=SLACK_MS) for ms in told], phase


def test_a_tool_with_events(timed_run):
    for attempt in tries():
        spans, notes, call = timed_run(
            """
text = lambda: {"type": "stream_event", "event": {"type": "content_block_delta",
                "delta": {"type": "text_delta", "text": "x"}}}
stop = {"type": "stream_event", "event": {"type": "message_stop"}}
at(0.3, {"type": "system", "subtype": "init"})
at(0.5, text()); at(0.75, text())
at(0.8, {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t"}]}}, False)
at(0.8, stop, False)
at(1.3, {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t"}]}})
at(1.5, text()); at(1.7, text()); at(1.75, stop, False)
at(1.9, "")
os._exit(0)
""",
            format="claude-stream-json",
        )
        init, first, last, result, first_2, last_2, end = notes
        assert_spans(
            attempt,
            spans,
            [
                ("process_startup", 0, init),
                ("time_to_first_token", init, first),
                ("generation", first, last),
                ("tool", last, result),
                ("time_to_first_token", result, first_2),
                ("generation", first_2, last_2),
                ("process_shutdown", last_2, end),
            ],
        )
        assert call.first_token_rule == "init_event"


def test_plain_text_that_streams(timed_run):
    for attempt in tries():
        spans, notes, _ = timed_run(
            "at(0.4, 'Hello'); at(0.8, ' there', False); at(1.2, '.'); at(1.4, ''); os._exit(0)"
        )
        first, last, end = notes
        assert_spans(
            attempt,
            spans,
            [
                ("process_startup", 0, first),
                ("generation", first, last),
                ("process_shutdown", last, end),
            ],
        )


def test_plain_text_in_one_burst_as_pipes_buffer_it(timed_run, monkeypatch):
    """RC-068"""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    for attempt in tries():
        spans, notes, call = timed_run(
            "for i in range(10): print('line'); time.sleep(0.05)\n"
            "note(); sys.stdout.flush(); at(0.8, ''); os._exit(0)"
        )
        assert_spans(
            attempt,
            spans, [("inference", 0, notes[0]), ("process_shutdown", notes[0], notes[1])]
        )  # fmt: skip
        assert call.fixed_share is None
        assert call.first_token_ns is None


def test_an_option_that_ends_the_buffering_shows_the_first_token(timed_run, monkeypatch):
    """RC-068"""
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    for attempt in tries():
        spans, notes, _ = timed_run(
            "at(0.3, ''); print('a'); at(0.5, ''); print('b'); at(0.6, ''); os._exit(0)"
        )
        first, last, end = notes
        assert_spans(
            attempt,
            spans,
            [
                ("process_startup", 0, first),
                ("generation", first, last),
                ("process_shutdown", last, end),
            ],
        )


def test_a_long_line_is_stamped_when_it_begins(timed_run):
    """RC-065"""
    for attempt in tries():
        spans, notes, _ = timed_run(
            "at(0.3, '')\n"
            "all_out(1, b'x' * 2_500_000); at(0.6, ''); all_out(1, b'x' * 500_000)\n"
            "at(0.7, ''); os._exit(0)"
        )
        first, last, end = notes
        assert_spans(
            attempt,
            spans,
            [
                ("process_startup", 0, first),
                ("generation", first, last),
                ("process_shutdown", last, end),
            ],
        )


def test_stamps_do_not_wait_for_a_busy_event_loop():
    """Bytes are stamped when they arrive, not when a loop gets round to it."""

    async def main():
        program = "at(0.3, 'a'); at(0.6, 'b'); at(0.7, ''); os._exit(0)"
        running = asyncio.create_task(run_command_async(tool(_TOOL + program)))
        await asyncio.sleep(0)
        time.sleep(1.2)  # that is the point
        return await running

    for attempt in tries():
        with recorded() as kept:
            result = asyncio.run(main())
        began = kept.open_calls[0].start_ns
        first, last, end = ((int(line) - began) / 1e6 for line in result.stderr.split())
        assert_spans(
            attempt,
            extents(kept.calls[0]),
            [
                ("process_startup", 0, first),
                ("generation", first, last),
                ("process_shutdown", last, end),
            ],
        )


def test_start_up_that_contends_for_a_lock_grows_with_the_number_of_children(tmp_path):
    """RC-101: and none of it is taken for generation."""
    program = tool(
        "import fcntl, json\n"
        f"with open({str(tmp_path / 'lock')!r}, 'w') as file:\n"
        "    fcntl.flock(file, fcntl.LOCK_EX); time.sleep(0.3)\n"
        "out(json.dumps({'type': 'thread.started'}) + '\\n'); time.sleep(0.1)\n"
        "out(json.dumps({'type': 'turn.completed'}) + '\\n')"
    )
    for number in (1, 4):
        with recorded() as kept:
            threads = [
                threading.Thread(
                    target=run_command,
                    args=(program,),
                    kwargs={"format": "codex-json", "name": str(n)},
                )
                for n in range(number)
            ]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        assert all("generation" not in phases(call) for call in kept.calls)
        starts = {opened.name: opened.start_ns for opened in kept.open_calls}
        took = {call.name: call.exclusive_ns[Phase.PROCESS_STARTUP] for call in kept.calls}
        ready = sorted(starts[name] + took[name] - min(starts.values()) for name in starts)
        assert len(ready) == number
        assert all(ns >= 300_000_000 * (i + 1) for i, ns in enumerate(ready))


def test_a_tools_own_clock_divides_what_it_prints_at_its_end(timed_run):
    """RC-104"""
    for attempt in tries():
        spans, notes, call = timed_run(
            "at(0.9, {'type': 'result', 'duration_ms': 400, 'duration_api_ms': 300}); os._exit(0)",
            format="claude-json",
        )
        (end,) = notes
        assert_spans(
            attempt,
            spans,
            [
                ("process_startup", 0, end - 400),
                ("inference", end - 400, end),
                ("process_shutdown", end, end),
            ],
        )
        assert call.reported == {"duration_ms": 400, "duration_api_ms": 300}


def test_items_without_tokens_are_inference(timed_run):
    """RC-103"""
    item = json.dumps({"type": "agent_message", "text": "x"})
    for attempt in tries():
        spans, notes, call = timed_run(
            "at(0.3, {'type': 'thread.started'}); at(0.35, {'type': 'turn.started'}, False)\n"
            f"at(0.6, {{'type': 'item.completed', 'item': {item}}}, False)\n"
            "at(0.8, {'type': 'turn.completed'}); at(0.9, ''); os._exit(0)",
            format="codex-json",
        )
        ready, last, end = notes
        assert_spans(
            attempt,
            spans,
            [
                ("process_startup", 0, ready),
                ("inference", ready, last),
                ("process_shutdown", last, end),
            ],
        )
        assert call.fixed_share is None
