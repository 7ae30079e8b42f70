"""The hooks on and off."""

from __future__ import annotations

import asyncio.base_subprocess
import os
import subprocess
import sys

import pytest

from llmphases.capture import current
from llmphases.capture.children import instrumentation
from llmphases.capture.children.hooks import hooks
from llmphases.testing import recorded_calls

_TRANSPORT = asyncio.base_subprocess.BaseSubprocessTransport


def hooked_places():
    """All that the hooks replace."""
    return (
        subprocess.Popen.__init__, subprocess._PopenSelector, os.waitpid,
        subprocess.Popen._internal_poll.__defaults__,
        getattr(getattr(subprocess, "_del_safe", None), "waitpid", None),
        subprocess.Popen.send_signal, _TRANSPORT.send_signal,
        _TRANSPORT.__init__, _TRANSPORT._pipe_data_received, _TRANSPORT._pipe_connection_lost,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _off_again():
    yield
    instrumentation.uninstall()


@pytest.fixture
def _calls_are_recorded():
    current.wired()


def test_before_the_first_call_nothing_is_hooked():
    before = hooked_places()
    instrumentation.install(propagate=False)
    assert hooked_places() == before
    with recorded_calls():
        assert subprocess.Popen.__init__ is not before[0]
        assert not hooks.propagate
    instrumentation.uninstall()
    assert hooked_places() == before


def test_off_before_the_first_call_it_never_comes():
    before = hooked_places()
    instrumentation.install()
    instrumentation.install()
    instrumentation.uninstall()
    current.wired()
    assert hooked_places() == before


def test_settings_that_change_before_the_first_call_count():
    instrumentation.install(propagate=False, inherit_otel=False)
    instrumentation.install(inherit_otel=False)
    current.wired()
    assert (hooks.propagate, hooks.inherit_otel) == (True, False)


@pytest.mark.usefixtures("_calls_are_recorded")
def test_off_leaves_nothing_behind():
    before = hooked_places()
    instrumentation.install()
    assert subprocess.Popen.__init__ is not before[0]
    instrumentation.uninstall()
    assert hooked_places() == before


@pytest.mark.usefixtures("_calls_are_recorded")
def test_on_twice_is_on_once():
    before = hooked_places()
    instrumentation.install()
    on = hooked_places()
    instrumentation.install()
    assert hooked_places() == on
    instrumentation.uninstall()
    instrumentation.uninstall()
    assert hooked_places() == before


@pytest.mark.usefixtures("_calls_are_recorded")
def test_what_somebody_else_put_around_a_hook_stays(monkeypatch):
    instrumentation.install()
    ours = subprocess.Popen.__init__
    seen = []

    def theirs(self, *args, **kwargs):
        seen.append(args)
        ours(self, *args, **kwargs)

    monkeypatch.setattr(subprocess.Popen, "__init__", theirs)
    instrumentation.uninstall()
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
    assert len(seen) == 1
    monkeypatch.undo()
    subprocess.Popen.__init__ = ours.__wrapped__
