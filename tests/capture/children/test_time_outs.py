"""Children that a program ends because they take too long, told from others that it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from asyncio import base_subprocess
from asyncio.subprocess import PIPE

import pytest

from capture.children.tools_of_ours import phases, tool
from llmphases import llm_call, run_command
from llmphases.capture.children import instrumentation
from llmphases.capture.children.time_outs import is_handling_time_out, is_meant_to_end

pytestmark = pytest.mark.usefixtures("hooked")
ENDLESS = tool("time.sleep(60)")


def told(exported):
    """`error.type` of the child's span, and how many time-outs were counted for what reasons."""
    kinds = ("process_startup", "inference")
    (span,) = [span for span in exported.spans if span.name in kinds]
    points = exported.points().get("llmphases.timeouts", [])
    counted = {point.attributes["llmphases.reason"]: point.value for point in points}
    return span.attributes.get("error.type"), counted


def test_a_time_out_is_known_where_it_is_handled():
    assert not is_handling_time_out()
    for error in (subprocess.TimeoutExpired("x", 1), TimeoutError()):
        try:
            raise error
        except (subprocess.TimeoutExpired, TimeoutError):
            assert is_handling_time_out()
        assert not is_handling_time_out()
    try:
        raise ValueError("x")
    except ValueError:
        assert not is_handling_time_out()


def test_signals_that_end_nothing_are_no_end():
    assert is_meant_to_end(signal.SIGTERM)
    assert is_meant_to_end(9)
    assert not is_meant_to_end(0)
    assert not is_meant_to_end(signal.SIGSTOP)


# --- because they take too long -----------------------------------------------------------------


def test_run_with_a_time_out_that_the_program_gets_over(exported):
    with llm_call("ask"), contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(ENDLESS, timeout=0.2, check=False)
    assert told(exported) == ("timeout", {"timeout": 1})
    assert exported.calls[0].error_type is None
    assert exported.calls[0].process.exit_code == -signal.SIGKILL


def test_run_with_a_time_out_that_ends_the_call_counts_once(exported):
    with pytest.raises(subprocess.TimeoutExpired), llm_call("ask"):
        subprocess.run(ENDLESS, capture_output=True, timeout=0.2, check=False)
    assert told(exported) == ("timeout", {"TimeoutExpired": 1})


def test_communicate_as_its_documents_show_it(exported):
    with llm_call("ask"), subprocess.Popen(ENDLESS, stdout=subprocess.PIPE) as popen:
        try:
            popen.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            popen.kill()
            assert popen.communicate() == (b"", None)
    assert told(exported) == ("timeout", {"timeout": 1})


def test_a_child_that_is_asked_to_end_and_has_an_exit_code_for_that(exported):
    program = "signal.signal(signal.SIGTERM, lambda *_: os._exit(143)); out('x'); time.sleep(60)"
    with llm_call("ask"), subprocess.Popen(tool(program), stdout=subprocess.PIPE) as popen:
        assert popen.stdout.read(1) == b"x"
        try:
            popen.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            popen.terminate()
        popen.wait()
    assert told(exported) == ("timeout", {"timeout": 1})
    assert exported.calls[0].process.exit_code == 143


def test_a_whole_group_that_is_ended(exported):
    with llm_call("ask"), subprocess.Popen(ENDLESS, start_new_session=True) as popen:
        try:
            popen.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            os.killpg(popen.pid, signal.SIGKILL)
            popen.wait()
    assert told(exported) == ("timeout", {"timeout": 1})


async def test_wait_for_with_asyncio(exported):
    with llm_call("ask"):
        process = await asyncio.create_subprocess_exec(*ENDLESS, stdout=PIPE)
        try:
            await asyncio.wait_for(process.communicate(), 0.2)
        except TimeoutError:
            process.kill()
            await process.wait()
    assert told(exported) == ("timeout", {"timeout": 1})


async def test_wait_for_with_asyncio_where_only_a_finally_ends_it(exported):
    with pytest.raises(TimeoutError), llm_call("ask"):
        process = await asyncio.create_subprocess_exec(*ENDLESS, stdout=PIPE)
        try:
            await asyncio.wait_for(process.communicate(), 0.2)
        finally:
            process.terminate()
            await process.wait()
    assert told(exported) == ("timeout", {"TimeoutError": 1})


async def test_signals_that_asyncio_sends_itself(exported, monkeypatch):
    """As from Python 3.13.1 on."""
    transport = base_subprocess.BaseSubprocessTransport
    instrumentation.uninstall()
    send = lambda self, number: os.kill(self._proc.pid, number)
    monkeypatch.setattr(transport, "send_signal", send)
    monkeypatch.setattr(transport, "kill", lambda self: self.send_signal(signal.SIGKILL))
    instrumentation.install()
    with llm_call("ask"):
        process = await asyncio.create_subprocess_exec(*ENDLESS, stdout=PIPE)
        try:
            await asyncio.wait_for(process.communicate(), 0.2)
        except TimeoutError:
            process.kill()
            await process.wait()
    assert told(exported) == ("timeout", {"timeout": 1})


def test_a_time_out_of_our_own_that_the_program_gets_over(exported):
    with llm_call("ask"), contextlib.suppress(subprocess.TimeoutExpired):
        run_command(ENDLESS, timeout=0.2)
    assert told(exported) == ("timeout", {"timeout": 1})


# --- for other reasons --------------------------------------------------------------------------


def test_a_child_that_is_ended_without_a_time_out(exported):
    with llm_call("ask"), subprocess.Popen(ENDLESS) as popen:
        popen.kill()
    assert told(exported) == ("SIGKILL", {})


def test_a_child_that_was_asked_for_now_and_then_and_ends_by_itself(exported):
    with llm_call("ask"), subprocess.Popen(tool("time.sleep(0.3); sys.exit(3)")) as popen:
        while True:
            try:
                popen.wait(timeout=0.02)
            except subprocess.TimeoutExpired:
                continue
            break
    assert told(exported) == ("3", {})


def test_a_child_that_ends_well_although_it_was_asked_to_end(exported):
    program = "signal.signal(signal.SIGTERM, lambda *_: os._exit(0)); out('x'); time.sleep(60)"
    with llm_call("ask"), subprocess.Popen(tool(program), stdout=subprocess.PIPE) as popen:
        assert popen.stdout.read(1) == b"x"
        try:
            popen.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            popen.terminate()
        popen.wait()
    assert told(exported) == (None, {})


def test_a_child_that_was_gone_already(exported):
    with llm_call("ask"), subprocess.Popen(tool("sys.exit(3)")) as popen:
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        try:
            raise TimeoutError
        except TimeoutError:
            popen.kill()
    assert told(exported) == ("3", {})


def test_a_child_that_is_the_way_out_of_a_time_out(exported):
    with llm_call("ask"):
        try:
            raise TimeoutError
        except TimeoutError:
            subprocess.run([sys.executable, "-c", "import os; os.abort()"], check=False)
    assert told(exported) == ("SIGABRT", {})


def test_a_signal_that_is_no_end(exported):
    with llm_call("ask"), subprocess.Popen(tool("out('x'); time.sleep(0.3); sys.exit(3)"),
                                           stdout=subprocess.PIPE) as popen:  # fmt: skip
        assert popen.stdout.read(1) == b"x"
        try:
            popen.wait(timeout=0.01)
        except subprocess.TimeoutExpired:
            popen.send_signal(signal.SIGCONT)
        popen.wait()
    assert told(exported) == ("3", {})


def test_a_timer_that_kills_tells_no_reason(exported):
    with llm_call("ask"), subprocess.Popen(ENDLESS, stdout=subprocess.PIPE) as popen:
        timer = threading.Timer(0.1, popen.kill)
        timer.start()
        assert popen.communicate() == (b"", None)
        timer.join()
    assert told(exported) == ("SIGKILL", {})
    assert phases(exported.calls[0]) <= {"inference", "process_shutdown"}
