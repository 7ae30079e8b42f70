"""What a child's output, as it arrives, makes of a call. Times are told, not waited for."""

import json
import signal

import pytest

from capture.children.captures import CAPTURES, DATA, extents
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import ProcessUse
from llmphases.capture import current
from llmphases.capture.children.formats import STDERR, STDOUT, CommandFormat
from llmphases.capture.children.observation import ChildObservation
from llmphases.recorder.recorder import Description

STREAMS = {"out": STDOUT, "err": STDERR}


class Child:
    """A child that is spawned at second 0, in a call that ends with it."""

    def __init__(self, sink, format_name):
        self._sink = sink
        self.call = current.begin_call(Description(name="x"))
        form = format_for([], format_name)
        self.seen = ChildObservation(self.call, form, self.call.start_ns, self.call.context)

    def at(self, seconds):
        return None if seconds is None else self.call.start_ns + round(seconds * 1e9)

    def out(self, seconds, text, stream=STDOUT):
        data = text if isinstance(text, bytes) else text.encode()
        self.seen.output(stream, data, self.at(seconds))
        return self

    def err(self, seconds, text):
        return self.out(seconds, text, STDERR)

    def says(self, seconds, **event):
        return self.out(seconds, json.dumps(event) + "\n")

    def exit(self, seconds, code=0, ends=None, **used):
        self.seen.exited(self.at(seconds), code)
        self.seen.used(ProcessUse(exit_code=code), **used)
        current.end_call(self.call, at_ns=self.at(seconds if ends is None else ends))
        return self.call.record


@pytest.fixture
def spawn(timed):
    """A child whose output is read in the format of that name."""
    return lambda format_name: Child(timed, format_name)


def seconds(call):
    """Phase -> seconds, and what is unattributed."""
    found = {phase.value: round(ns / 1e9, 3) for phase, ns in call.exclusive_ns.items()}
    return found | ({"rest": call.unattributed_ns / 1e9} if call.unattributed_ns else {})


def token(child, at, text="x"):
    return child.says(
        at, type="stream_event", event={
            "type": "content_block_delta", "delta": {"type": "text_delta", "text": text}
        },
    )  # fmt: skip


# --- the worked timelines of command-line tools -------------------------------------------------


def test_a_tool_with_events(spawn):
    child = spawn("claude-stream-json").says(1.2, type="system", subtype="init", model="m")
    token(child, 2), token(child, 3)
    child.says(3, type="assistant", message={"content": [{"type": "tool_use", "id": "t"}]})
    child.says(3, type="stream_event", event={"type": "message_stop"})
    child.says(5.5, type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t"}]})
    token(child, 6), token(child, 7)
    child.says(7.1, type="stream_event", event={"type": "message_stop"})
    call = child.exit(7.5)
    assert seconds(call) == {
        "process_startup": 1.2,
        "time_to_first_token": 1.3,
        "generation": 2.0,
        "tool": 2.5,
        "process_shutdown": 0.5,
    }
    assert (call.first_token_rule, call.requests, call.request_model) == ("init_event", 2, "m")


def test_plain_text_that_streams(spawn):
    call = spawn("text").out(2, "Hello").out(5, " there").out(9.8, ".\n").exit(10)
    assert seconds(call) == {"process_startup": 2, "generation": 7.8, "process_shutdown": 0.2}
    assert call.first_token_rule == "first_byte"


def test_plain_text_in_one_burst(spawn):
    """RC-068: so does what a pipe has buffered."""
    call = spawn("text").out(9.7, "Hello").out(9.72, " there.\n").exit(9.9)
    assert seconds(call) == {"inference": 9.72, "process_shutdown": 0.18}
    assert call.fixed_share is None
    assert call.first_token_ns is None


def test_a_burst_of_a_program_that_is_known_to_stream_is_its_first_token(spawn):
    call = spawn("llm").out(9.7, "Yes.\n").exit(9.9)
    assert seconds(call) == {"process_startup": 9.7, "generation": 0, "process_shutdown": 0.2}


@pytest.mark.parametrize("name", CAPTURES)
def test_captured_output_has_the_phases_that_a_reader_finds_in_it(spawn, name):
    format_name, expected = CAPTURES[name]
    child = spawn(format_name)
    for record in map(json.loads, (DATA / name).read_text("utf-8").splitlines()):
        if "line" in record:
            child.out(record["t_ms"] / 1e3, record["line"] + "\n", STREAMS[record["stream"]])
    found = extents(child.exit(record["t_ms"] / 1e3, int(record["exit"])))
    assert [(phase, round(a, 3), round(b, 3)) for phase, a, b in found] == expected


# --- json ---------------------------------------------------------------------------------------


def test_items_without_tokens_are_inference(spawn):
    """RC-103"""
    child = spawn("codex-json").says(0.8, type="thread.started").says(0.9, type="turn.started")
    child.says(4, type="item.completed", item={"type": "reasoning", "text": "x"})
    child.says(6, type="item.completed", item={"type": "agent_message", "text": "x"})
    child.says(6.1, type="turn.completed", usage={"input_tokens": 3, "output_tokens": 2})
    call = child.exit(6.4)
    assert seconds(call) == {"process_startup": 0.8, "inference": 5.3, "process_shutdown": 0.3}
    assert call.fixed_share is None
    assert call.first_token_ns is None
    assert call.usage.output_tokens == 2


def test_a_tools_own_clock_tells_when_it_was_ready(spawn):
    """RC-104"""
    child = spawn("claude-json").says(2.9, type="result", duration_ms=900, duration_api_ms=700)
    call = child.exit(2.9)
    assert seconds(call) == {"process_startup": 2.0, "inference": 0.9, "process_shutdown": 0}
    assert call.reported == {"duration_ms": 900, "duration_api_ms": 700}
    assert call.reported_trusted is True
    assert call.first_token_rule == "own_clock"


def test_a_tools_own_clock_that_ran_before_its_spawn_is_not_believed(spawn):
    """RC-104"""
    child = spawn("claude-json").says(2.9, type="result", duration_ms=3900)
    call = child.exit(3.0)
    assert seconds(call) == {"inference": 2.9, "process_shutdown": 0.1}
    assert call.reported == {"duration_ms": 3900}
    assert call.reported_trusted is False


def test_an_events_time_is_that_of_its_lines_first_byte(spawn):
    """RC-065: however long the line is."""
    line = json.dumps({"type": "thread.started", "x": "y" * 5_000_000})
    child = spawn("codex-json")
    for i in range(0, len(line), 65536):
        child.out(1 + i / 5e6, line[i : i + 65536])
    child.out(3, "\n").says(4, type="turn.completed")
    assert seconds(child.exit(4))["process_startup"] == 1.0


def test_lines_may_end_as_on_windows_and_follow_a_progress_display(spawn):
    """RC-071"""
    child = spawn("codex-json").out(1, "\r⠋\r⠙ 10 %\r")
    child.out(2, json.dumps({"type": "thread.started"}) + "\r\n")
    child.out(3, json.dumps({"type": "turn.completed"}) + "\r\n")
    # The line with the display began at 1.
    assert seconds(child.exit(3)) == {
        "process_startup": 1, "inference": 2, "process_shutdown": 0,
    }  # fmt: skip


def test_output_that_turns_out_to_be_text_is_read_as_text(spawn):
    call = spawn("codex-json").out(2, "Hello").out(4, " there\n").out(9, "you\n").exit(10)
    assert seconds(call)["process_shutdown"] == 1.0
    assert seconds(call).keys() == {"process_startup", "generation", "process_shutdown"}


def test_a_json_line_of_more_than_16_mib_is_text(spawn):
    child = spawn("codex-json").out(1, b'{"a": "')
    for i in range(20):
        child.out(1 + i / 10, b"x" * 2**20)
    assert seconds(child.out(3, b'"}\n').exit(3)) == {
        "process_startup": 1, "generation": 2, "process_shutdown": 0,
    }  # fmt: skip


def test_a_failed_request_ends_when_the_next_is_to_be_sent(spawn):
    child = spawn("claude-stream-json").says(1, type="system", subtype="init")
    child.says(2, type="system", subtype="api_retry", error_status=529, retry_delay_ms=1000)
    token(child, 5), token(child, 6)
    call = child.exit(6)
    assert seconds(call) == {
        "process_startup": 1, "retry": 2, "time_to_first_token": 2, "generation": 1,
    }  # fmt: skip
    assert call.retries == 1


def test_the_reason_for_a_retry_is_told_and_counted(spawn, timed):
    child = spawn("claude-stream-json").says(1, type="system", subtype="init")
    child.says(2, type="system", subtype="api_retry", error_status=529, retry_delay_ms=1000)
    child.says(4, type="system", subtype="api_retry", error="connection")
    token(child, 5), token(child, 6)
    assert child.exit(6).retries == 2
    assert [s.attributes["error.type"] for s in timed.named("retry")] == ["529", "connection"]
    counted = timed.points()["llmphases.retries"]
    reasons = {point.attributes["llmphases.reason"]: point.value for point in counted}
    assert reasons == {"529": 1, "connection": 1}


def test_a_reason_that_is_a_sentence_is_not_passed_on(spawn, timed):
    child = spawn("claude-stream-json").says(1, type="system", subtype="init")
    child.says(2, type="system", subtype="api_retry", error="no answer to 'my secret'")
    child.says(3, type="result", subtype="error in 'my secret'", is_error=True)
    assert child.seen.error_type == "_OTHER"
    child.exit(4, code=1)
    assert [s.attributes["error.type"] for s in timed.named("retry")] == ["_OTHER"]


def test_a_request_that_its_child_took_along_failed_for_the_same_reason(spawn, timed):
    child = spawn("claude-stream-json").says(1, type="system", subtype="init")
    assert seconds(child.exit(3, code=-9)) == {"process_startup": 1, "retry": 2}
    assert timed.one("retry").attributes["error.type"] == "SIGKILL"


def test_the_next_is_not_sent_after_its_first_event(spawn):
    child = spawn("claude-stream-json").says(1, type="system", subtype="init")
    child.says(2, type="system", subtype="api_retry", retry_delay_ms=60_000)
    token(child, 5), token(child, 6)
    assert seconds(child.exit(6)) == {
        "process_startup": 1, "retry": 4, "time_to_first_token": 0, "generation": 1,
    }  # fmt: skip


def test_usage_that_is_said_again_counts_once(spawn):
    child = spawn("codex-json").says(1, type="thread.started")
    child.says(2, type="turn.completed", usage={"input_tokens": 3, "output_tokens": 2})
    child.says(3, type="turn.completed", usage={"input_tokens": 5, "output_tokens": 4})
    usage = child.exit(4).usage
    assert (usage.input_tokens, usage.output_tokens) == (5, 4)


def test_the_tools_own_word_is_the_reason_that_it_failed(spawn, timed):
    child = spawn("claude-stream-json").says(1, type="system", subtype="init")
    child.says(3, type="result", subtype="error_max_turns", is_error=True)
    assert child.seen.error_type == "error_max_turns"
    call = child.exit(4, code=1)
    assert seconds(call) == {"process_startup": 1, "retry": 2, "rest": 1}
    assert timed.one("process_startup").attributes["error.type"] == "error_max_turns"


# --- text ---------------------------------------------------------------------------------------


def test_times_that_a_server_tells_divide_start_up_and_reading_the_prompt(spawn):
    child = spawn("ollama").out(4, "Hello").out(6, ".\n")
    child.err(6, "load duration: 1s\nprompt eval duration: 500ms\neval duration: 2s\n")
    call = child.exit(6.5)
    assert seconds(call) == {
        "process_startup": 2.5,
        "time_to_first_token": 1.5,
        "generation": 2,
        "process_shutdown": 0.5,
    }
    assert (call.first_token_rule, call.reported_trusted) == ("reported", True)


def test_times_that_cannot_be_true_divide_nothing(spawn):
    child = spawn("ollama").out(4, "Hello").out(6, ".\n")
    child.err(6, "load duration: 10s\nprompt eval duration: 500ms\neval duration: 2s\n")
    call = child.exit(6.5)
    assert seconds(call) == {"process_startup": 4, "generation": 2, "process_shutdown": 0.5}
    assert call.reported_trusted is False
    assert call.reported["load_duration"] == 10_000_000_000


@pytest.mark.parametrize(
    ("says", "trusted"),
    [
        ("total duration: 3s", None),  # of which no phase is made
        ("eval duration: 2s", True),  # but nothing of what came before
        ("eval duration: 9s", False),
    ],
)
def test_times_that_divide_nothing_are_judged_as_far_as_they_go(spawn, says, trusted):
    child = spawn("ollama").out(4, "Hello").out(6, ".\n").err(6, f"{says}\n")
    call = child.exit(6.5)
    assert seconds(call) == {"process_startup": 4, "generation": 2, "process_shutdown": 0.5}
    assert len(call.reported) == 1
    assert call.reported_trusted is trusted


def test_times_that_there_is_nothing_to_compare_with_are_neither_true_nor_false(spawn):
    child = spawn("ollama").out(None, "Hello.\n")
    child.err(None, "load duration: 1s\nprompt eval duration: 500ms\neval duration: 2s\n")
    call = child.exit(6.5)
    assert seconds(call) == {"inference": 6.5}
    assert call.reported["load_duration"] == 1_000_000_000
    assert call.reported_trusted is None


def test_what_comes_on_stderr_is_no_answer(spawn):
    """RC-064"""
    call = spawn("text").err(1, "loading\n").out(3, "a").out(4, "b").exit(4)
    assert seconds(call)["process_startup"] == 3


def test_a_child_without_any_output_is_inference_until_its_exit(spawn):
    assert seconds(spawn("text").exit(3)) == {"inference": 3}


# --- what nobody saw ----------------------------------------------------------------------------


def test_text_that_nobody_saw_arrive_says_nothing_of_the_first_token(spawn):
    call = spawn("text").out(None, "a").out(None, "b\n").exit(10)
    assert seconds(call) == {"inference": 10}
    assert call.first_token_ns is None


def test_events_that_nobody_saw_arrive_still_say_what_they_say(spawn):
    child = spawn("claude-stream-json").says(None, type="system", subtype="init", model="m")
    token(child, None)
    child.says(None, type="result", subtype="success", usage={"output_tokens": 5})
    call = child.exit(10)
    assert seconds(call) == {"inference": 10}
    assert (call.request_model, call.usage.output_tokens) == ("m", 5)


def test_an_exit_that_nobody_saw_is_no_shutdown(spawn):
    child = spawn("text").out(2, "a").out(4, "b")
    call = child.exit(None, ends=9)
    assert seconds(call) == {"process_startup": 2, "generation": 2, "rest": 5}


# --- the end ------------------------------------------------------------------------------------


def test_the_span_of_the_start_tells_of_the_exit(spawn, timed):
    child = spawn("codex-json").says(1, type="thread.started").says(2, type="turn.completed")
    child.seen.exited(child.at(3), -9)
    child.seen.used(ProcessUse(executable="codex", pid=7, exit_code=-9, survivors=2))
    current.end_call(child.call, at_ns=child.at(3))
    attributes = timed.one("process_startup").attributes
    assert attributes["process.exit.code"] == -9
    assert attributes["llmphases.process.survivors"] == 2
    assert attributes["error.type"] == "SIGKILL"
    assert timed.one("process_startup").end_time < timed.one("inference").start_time
    assert child.call.record.process.pid == 7


def test_a_call_with_two_children_speaks_of_none(spawn):
    child = spawn("text")
    form = format_for([], "text")
    other = ChildObservation(child.call, form, child.at(0), child.call.context)
    other.exited(child.at(1), 0)
    other.used(ProcessUse(pid=1))
    assert child.exit(2).process is None


def test_a_child_that_outlives_its_call_leaves_no_span_open(spawn, timed):
    child = spawn("codex-json").says(1, type="thread.started")
    current.end_call(child.call, at_ns=child.at(2))
    child.says(3, type="turn.completed").seen.used(ProcessUse(pid=1))
    assert len(timed.named("process_startup")) == 1
    assert seconds(timed.calls[0]) == {"process_startup": 1, "inference": 1}


def test_a_child_that_never_was_is_a_failed_start(spawn, timed):
    child = spawn("text")
    child.seen.not_spawned()
    current.end_call(child.call, at_ns=child.at(2))
    assert timed.one("process_startup").attributes["error.type"] == "spawn failed"


# --- in the middle of something -----------------------------------------------------------------


class Interrupted:
    """A reader that a signal interrupts; its handler looks after the same child."""

    def __init__(self, handler):
        self._handler = handler

    def line(self, stream, line):
        if line == b"now":
            self._handler()

    def end(self):
        return ()


def test_what_a_signals_handler_tells_of_the_same_child_comes_after_what_it_interrupts(timed):
    def handler(*_):
        seen.output(STDOUT, b"and the rest\n", start + 4)
        seen.exited(start + 5, 3)
        seen.used(ProcessUse(exit_code=3))

    call = current.begin_call(Description(name="x"))
    start = call.start_ns
    form = CommandFormat(
        name="x", matches=bool, streams=True,
        reader=lambda: Interrupted(lambda: signal.raise_signal(signal.SIGUSR1)),
    )  # fmt: skip
    seen = ChildObservation(call, form, start, call.context)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        seen.output(STDOUT, b"one\nnow\ntwo\n", start + 2)
    finally:
        signal.signal(signal.SIGUSR1, before)
    current.end_call(call, at_ns=start + 6)
    found = [(s.phase.value, s.start_ns, s.end_ns) for s in call.record.stretches]
    assert found == [("process_startup", 0, 2), ("generation", 2, 4), ("process_shutdown", 4, 5)]
    assert call.record.process.exit_code == 3


def test_one_fault_in_the_middle_loses_no_more_than_itself(timed, caplog):
    def fault():
        raise ValueError("a fault of ours")

    call = current.begin_call(Description(name="x"))
    form = CommandFormat(name="x", matches=bool, reader=lambda: Interrupted(fault))
    seen = ChildObservation(call, form, call.start_ns, call.context)
    seen.output(STDOUT, b"now\n", call.start_ns + 2)
    seen.exited(call.start_ns + 5, 0)
    seen.used(ProcessUse(exit_code=0))
    current.end_call(call, at_ns=call.start_ns + 6)
    assert call.record.process.exit_code == 0
    assert len(caplog.records) == 1


def test_a_child_goes_on_in_the_span_of_its_start(spawn, timed):
    """RC-037"""
    child = spawn("text")
    headers = current.wired().carrier.inject(child.seen.context)
    child.exit(1)
    span = timed.one("inference")  # what its start turned out to be
    trace_id, span_id = headers["traceparent"].split("-")[1:3]
    assert (int(trace_id, 16), int(span_id, 16)) == (
        span.context.trace_id, span.context.span_id,
    )  # fmt: skip
