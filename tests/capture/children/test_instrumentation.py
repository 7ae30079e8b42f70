"""The hooks on and off."""

from __future__ import annotations

import asyncio.base_subprocess
import os
import subprocess
import sys

from llmphases.capture.children import instrumentation

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


def test_off_leaves_nothing_behind():
    before = hooked_places()
    instrumentation.install()
    assert subprocess.Popen.__init__ is not before[0]
    instrumentation.uninstall()
    assert hooked_places() == before


def test_on_twice_is_on_once():
    before = hooked_places()
    instrumentation.install()
    on = hooked_places()
    instrumentation.install()
    assert hooked_places() == on
    instrumentation.uninstall()
    instrumentation.uninstall()
    assert hooked_places() == before


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
