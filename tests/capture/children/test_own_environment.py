"""What a child inherits."""

from __future__ import annotations

import os
import subprocess
import sys

from llmphases.capture.children.own_environment import inherited

SHOW = [sys.executable, "-c", "import os; print(ascii(sorted(os.environb.items())))"]


def shown(env):
    return subprocess.run(SHOW, env=env, capture_output=True, check=True).stdout


def test_it_is_what_a_child_gets_that_is_given_none(monkeypatch):
    monkeypatch.setenv("ÜMLAUT", "ä")
    monkeypatch.setitem(os.environb, b"ODD", b"\xff\xfe")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("EQUALS", "a=b=c")
    assert shown(inherited()) == shown(None)


def test_it_has_what_python_does_not_know_of(monkeypatch):
    os.putenv("SET_BEHIND_PYTHONS_BACK", "yes")
    try:
        assert "SET_BEHIND_PYTHONS_BACK" not in os.environ
        assert inherited()["SET_BEHIND_PYTHONS_BACK"] == "yes"
        assert shown(inherited()) == shown(None)
    finally:
        os.unsetenv("SET_BEHIND_PYTHONS_BACK")


def test_another_mapping_in_the_place_of_os_environ_changes_nothing(monkeypatch):
    before = shown(None)
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"], "ONLY": "here"})
    assert shown(inherited()) == before == shown(None)
