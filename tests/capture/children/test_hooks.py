"""What a program starts by `subprocess` inside a traced call."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import io
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from capture.children.tools_of_ours import SPLIT, SPLIT_OR_NOT, is_gone, phases, tool
from lab.tries import tries
from llmphases import llm_call, post_processing, run_command, traced_llm_call
from llmphases.capture.children import instrumentation
from llmphases.capture.children.hooks import hooks
from llmphases.conventions import (
    ERROR_TYPE,
    PROCESS_EXECUTABLE_NAME,
    PROCESS_EXIT_CODE,
    PROCESS_PID,
)
from llmphases.phases import Phase

SHOW_TRACE = "out(os.environ.get('TRACEPARENT', 'none'))"
pytestmark = pytest.mark.usefixtures("hooked")


def read_by(program, **options):
    """The output of a tool, and its `Popen`."""
    popen = subprocess.Popen(tool(program), stdout=subprocess.PIPE, **options)
    return popen.communicate()[0], popen


# --- which children -----------------------------------------------------------------------------


def test_a_decorated_function_that_runs_a_command_has_its_phases(exported):
    @traced_llm_call
    def ask():
        return subprocess.run(
            tool("out('a'); time.sleep(0.1); out('b'); sys.exit(3)"), capture_output=True,
            check=False,
        )  # fmt: skip

    for attempt in tries():
        exported.forget()
        done = ask()
        assert (done.stdout, done.returncode) == (b"ab", 3)
        (call,) = exported.calls
        assert phases(call) in SPLIT_OR_NOT
        with attempt:
            assert phases(call) == SPLIT
    said = exported.one("process_startup").attributes
    assert said[PROCESS_EXECUTABLE_NAME] == Path(sys.executable).name
    assert said[PROCESS_EXIT_CODE] == 3
    assert said[ERROR_TYPE] == "3"
    assert said[PROCESS_PID] == exported.one("ask").attributes[PROCESS_PID] == call.process.pid


def test_a_burst_is_inference_as_with_the_runner(calls):
    program = tool("time.sleep(0.05); out('all at once')")
    for attempt in tries():
        with llm_call("ask"):
            subprocess.run(program, capture_output=True, check=True)
        with llm_call("ask"):
            run_command(program)
        with attempt:
            assert phases(calls[-2]) == phases(calls[-1]) == {"inference", "process_shutdown"}


def test_outside_a_call_a_child_is_not_touched(calls):
    with subprocess.Popen(tool("out('x')"), stdout=subprocess.PIPE) as popen:
        assert type(popen.stdout.raw) is io.FileIO
        assert popen.stdout.read() == b"x"
    assert not hooks._children


def test_a_block_owns_the_children_that_are_started_in_it(calls):
    with llm_call("ask"), post_processing():
        popen = subprocess.Popen(tool("out('x')"), stdout=subprocess.PIPE)
        assert type(popen.stdout.raw) is io.FileIO
        assert popen.communicate() == (b"x", None)
    assert phases(calls[0]) == {"post_processing"}
    assert calls[0].process is None


def test_a_thread_without_the_calls_context_starts_children_of_its_own(calls):
    with llm_call("ask"):
        thread = threading.Thread(target=lambda: subprocess.run(["true"], check=True))
        thread.start()
        thread.join()
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: context.run(subprocess.run, ["true"], check=True))
        thread.start()
        thread.join()
    assert calls[0].process.executable == "true"


def test_our_own_runner_is_not_seen_twice(calls):
    with llm_call("ask"):
        run_command(tool("out('x')"))
    assert calls[0].process.exit_code == 0  # of one child: with two there is none


def test_a_child_that_cannot_be_started_fails_as_ever(calls):
    with pytest.raises(FileNotFoundError) as caught, llm_call("ask"):
        subprocess.run(["/nowhere/to/be/found"], check=False)
    assert caught.value.filename == "/nowhere/to/be/found"
    assert calls[0].error_type == "FileNotFoundError"
    assert phases(calls[0]) == {"process_startup"}
    with pytest.raises(TypeError), llm_call("ask"):
        subprocess.Popen()
    with pytest.raises(NotADirectoryError), llm_call("ask"):
        subprocess.run(["true"], cwd=__file__, check=False)
    assert not hooks._children


def test_what_is_no_process_is_let_be(calls, caplog, monkeypatch):
    monkeypatch.setattr(subprocess.Popen, "_execute_child", lambda *args, **kwargs: None)
    with llm_call("ask"):
        popen = subprocess.Popen(["anything"])
    assert popen.pid is None
    assert caplog.messages == []
    assert not hooks._children
    popen.returncode = 0


def test_two_hundred_children_at_once(calls):
    with llm_call("ask"):
        started = [
            subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(200)
        ]
        results = [popen.communicate(b"%d" % i)[0] for i, popen in enumerate(started)]
    assert results == [b"%d" % i for i in range(200)]
    assert not hooks._children
    assert not hooks._reaping._tracked


def test_children_of_many_threads_at_once(calls):
    def ask(number):
        with llm_call("ask"):
            return read_by(f"out('{number}')")[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(24))) == [b"%d" % i for i in range(24)]
    assert [call.process.exit_code for call in calls] == [0] * 24


# --- how they end -------------------------------------------------------------------------------


def test_a_timeout_of_run_is_as_ever(calls):
    for attempt in tries():
        timeout = attempt.longer(0.3)
        with pytest.raises(subprocess.TimeoutExpired) as caught, llm_call("ask"):
            subprocess.run(
                tool("out('half'); time.sleep(60)"), capture_output=True, timeout=timeout,
                check=False,
            )  # fmt: skip
        assert calls[-1].process.exit_code == -signal.SIGKILL
        assert is_gone(calls[-1].process.pid)
        with attempt:
            assert caught.value.output == b"half"


def test_check_raises_as_ever(calls):
    with pytest.raises(subprocess.CalledProcessError) as caught, llm_call("ask"):
        subprocess.check_output(tool("out('x'); sys.exit(9)"))
    assert (caught.value.returncode, caught.value.output) == (9, b"x")
    assert calls[0].process.exit_code == 9


def test_a_child_that_outlives_its_call_is_left_alone(calls):
    with llm_call("ask"):
        popen = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert phases(calls[0]) == {"inference"}
    assert calls[0].process.exit_code is None
    assert popen.communicate(b"later") == (b"later", None)
    assert popen.returncode == 0
    assert not hooks._children


def test_a_child_that_nobody_waits_for_is_told_with_its_exit(calls):
    with llm_call("ask"):
        popen = subprocess.Popen(["true"])
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        assert popen.returncode is None
    assert popen.wait() == 0
    assert calls[0].process.exit_code == 0


@pytest.mark.filterwarnings("ignore:subprocess:ResourceWarning")
def test_a_dropped_child_is_collected_without_harm(calls):
    with llm_call("ask"):
        popen = subprocess.Popen(["true"], stdout=subprocess.PIPE)
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        popen.me = popen
        popen.stdout.close()
        del popen
        gc.collect()
    with llm_call("next"):
        pass
    assert calls[0].process.exit_code == 0


def test_what_a_grandchild_still_holds_does_not_delay_the_call(calls):
    program = "subprocess.Popen(['sleep', '60']); out(f'{os.getpid()}')"
    with llm_call("ask"):
        popen = subprocess.Popen(tool(program), stdout=subprocess.PIPE, start_new_session=True)
        pid = int(os.read(popen.stdout.fileno(), 100))
        assert popen.wait() == 0
        popen.stdout.close()
    os.killpg(pid, signal.SIGKILL)
    assert calls[0].process.exit_code == 0


def test_sigpipe_ends_a_child_whose_reader_goes(calls):
    with llm_call("ask"):
        popen = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
        assert popen.stdout.readline() == b"y\n"
        popen.stdout.close()
        assert popen.wait(timeout=30) == -signal.SIGPIPE


def test_a_forked_process_tells_nothing_of_its_parents_children(calls):
    with llm_call("ask"):
        popen = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        pid = os.fork()
        if pid == 0:
            popen.stdin.write(b"from the fork")
            popen.stdin.close()
            ok = not hooks._children and not hooks._watcher.is_running
            os._exit(0 if ok and subprocess.call(["true"]) == 0 else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert popen.communicate() == (b"from the fork", None)
    assert calls[0].process.exit_code == 0


# --- what they are told -------------------------------------------------------------------------


def test_a_child_is_told_the_phase_that_it_is_in(exported):
    with llm_call("ask"):
        trace, _ = read_by(SHOW_TRACE)
    start = exported.one("process_startup" if exported.named("process_startup") else "inference")
    context = start.get_span_context()
    assert trace.decode()[:53] == f"00-{context.trace_id:032x}-{context.span_id:016x}-"[:53]
    assert "TRACEPARENT" not in os.environ


def test_a_given_environment_is_copied_not_changed(exported):
    given = {**os.environ, "MINE": "1", "TRACEPARENT": "stale"}
    kept = dict(given)
    with llm_call("ask"):
        program = "out(os.environ['MINE'] + ' ' + os.environ['TRACEPARENT'])"
        told, _ = read_by(program, env=given)
    assert given == kept
    assert told.startswith(b"1 00-")


def test_an_environment_given_by_position_is_one_too(exported):
    with llm_call("ask"):
        positional = [-1, None, None, subprocess.PIPE, None, None, True, False, None]
        popen = subprocess.Popen(tool(SHOW_TRACE), *positional, {"PATH": os.environ["PATH"]})
        assert popen.communicate()[0].startswith(b"00-")


def test_telling_them_can_be_switched_off(exported):
    instrumentation.install(propagate=False)
    try:
        with llm_call("ask"):
            assert read_by(SHOW_TRACE)[0] == b"none"
    finally:
        instrumentation.install()


SHOW_SETTING = "out(os.environ.get('OTEL_SERVICE_NAME', 'none'))"


@pytest.mark.parametrize("propagate", [True, False])
def test_our_settings_of_opentelemetry_can_be_kept_from_them(exported, monkeypatch, propagate):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ours")
    own = {**os.environ, "OTEL_SERVICE_NAME": "given"}
    with llm_call("ask"):
        assert read_by(SHOW_SETTING)[0] == b"ours"
    instrumentation.install(propagate=propagate, inherit_otel=False)
    try:
        with llm_call("ask"):
            assert read_by(SHOW_SETTING)[0] == b"none"
            assert read_by(SHOW_SETTING, env=own)[0] == b"given"
            assert (read_by(SHOW_TRACE)[0] == b"none") is not propagate
        assert read_by(SHOW_SETTING)[0] == b"ours"  # outside of a call
    finally:
        instrumentation.install()
    assert os.environ["OTEL_SERVICE_NAME"] == "ours"


def test_a_child_of_asyncio_is_told_too(exported):
    async def ask():
        process = await asyncio.create_subprocess_exec(*tool(SHOW_TRACE), stdout=subprocess.PIPE)
        return (await process.communicate())[0]

    with llm_call("ask"):
        assert asyncio.run(ask()).startswith(b"00-")


# --- what they say ------------------------------------------------------------------------------


def test_a_known_format_is_read_from_what_the_program_reads_anyway(calls, tmp_path):
    said = (
        '{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"result":"hi",'
        '"usage":{"input_tokens":7,"output_tokens":3},"modelUsage":{"claude-x":{}}}'
    )
    program = tmp_path / "claude"
    program.write_text(f"#!{sys.executable} -S\nprint('''{said}''')\n")
    program.chmod(0o755)
    command = [program, "-p", "hello", "--output-format", "json"]
    with llm_call("ask"):
        assert subprocess.check_output(command, text=True) == said + "\n"
    assert calls[0].usage.input_tokens == 7
    assert calls[0].usage.output_tokens == 3
    assert calls[0].process.executable == "claude"


@pytest.mark.slow
def test_a_great_deal_of_output_needs_no_more_memory(calls):
    size = 1_000_000_000
    command = ["head", "-c", str(size), "/dev/zero"]
    with llm_call("ask"), subprocess.Popen(command, stdout=subprocess.PIPE) as popen:
        before = _resident()
        got = sum(map(len, iter(lambda: popen.stdout.read1(65536), b"")))
        grown = _resident() - before
    assert got == size
    assert grown < 20_000_000


def _resident():
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_exclusive_times_add_up(calls):
    for attempt in tries():
        with llm_call("ask"):
            read_by("out('a'); time.sleep(0.08); out('b')")
            read_by("out('c')")
        call = calls[-1]
        assert sum(call.exclusive_ns.values()) + call.unattributed_ns == call.duration_ns
        with attempt:
            assert Phase.GENERATION in call.exclusive_ns
