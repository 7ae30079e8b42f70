"""Hooks come when an SDK is imported, in whatever order, and go without a trace."""

from __future__ import annotations

import dataclasses
import importlib
import subprocess
import sys

import pytest

from capture.clients import small_sdk
from capture.clients.conftest import SMALL
from llmphases.capture.clients.contract import Hook, Method
from llmphases.capture.clients.patches import Patches
from llmphases.testing import recorded_calls


def having(**changes):
    return Patches(dataclasses.replace(SMALL, **changes))


def test_uninstalled_it_is_as_it_was():
    plain = vars(small_sdk.Client)["ask"]
    patches = Patches(SMALL)
    for _ in range(2):  # twice is once
        patches.install()
    assert vars(small_sdk.Client)["ask"].__wrapped__ is plain
    patches.uninstall()
    assert vars(small_sdk.Client)["ask"] is plain


def test_a_method_that_a_program_keeps_beyond_is_as_it_was():
    patches = Patches(SMALL)
    patches.install()
    kept = small_sdk.Client().ask
    patches.uninstall()
    with recorded_calls() as calls:
        assert kept("answer") == "answer"
    assert calls == []


def test_what_somebody_else_has_put_around_it_stays(monkeypatch):
    monkeypatch.setattr(small_sdk.Client, "ask", small_sdk.Client.ask)  # puts it back in the end
    patches = Patches(SMALL)
    patches.install()
    ours = vars(small_sdk.Client)["ask"]
    small_sdk.Client.ask = theirs = small_sdk.decorated(ours)
    patches.uninstall()
    assert vars(small_sdk.Client)["ask"] is theirs
    assert small_sdk.Client().ask("answer") == "answer"


def test_what_is_imported_later_is_hooked_into_then(monkeypatch):
    name = "capture.clients.small_sdk"
    monkeypatch.delitem(sys.modules, name)
    patches = Patches(SMALL)
    patches.install()
    later = importlib.import_module(name)
    assert hasattr(vars(later.Client)["ask"], "__wrapped__")
    assert vars(later.Client)["ask"].__wrapped__.__name__ == "ask"
    patches.uninstall()
    assert type(vars(later.Client)["ask"]) is type(test_uninstalled_it_is_as_it_was)


def test_what_is_imported_anew_before_the_first_call_is_hooked_into_once(tmp_path, monkeypatch):
    """Told of twice, the hook that waits for the first call waits twice."""
    (tmp_path / "made_anew.py").write_text("class Pool:\n    def send(self):\n        return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    times = []

    def counting(wrapped, pool, args, kwargs):
        times.append("sent")
        return wrapped(*args, **kwargs)

    hook = Hook(where="made_anew:Pool.send", wrapper=counting)
    patches = having(methods=(), hooks=(hook,))
    patches.install()
    module = importlib.reload(importlib.import_module("made_anew"))
    with recorded_calls():
        assert module.Pool().send() == 1
    patches.uninstall()
    assert module.Pool().send() == 1
    del sys.modules["made_anew"]
    assert times == ["sent"]


def test_nothing_is_imported():
    program = """if True:
        import sys, llmphases
        print("wrapt" in sys.modules)
        llmphases.instrument()
        print("openai" in sys.modules)
    """
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"package": "not_to_be_found"}, "not installed"),
        ({"distribution": "pytest", "before": (2,)}, "supported is 1 up to 2"),
        ({"distribution": "pytest", "since": (900,), "before": (901,)}, "supported is 900 up to"),
    ],
)
def test_what_cannot_be_hooked_into_says_why(changes, reason):
    plain = vars(small_sdk.Client)["ask"]
    assert reason in having(**changes).install()
    assert vars(small_sdk.Client)["ask"] is plain


def test_a_method_that_is_not_there_is_said_once(caplog):
    patches = having(methods=(Method(where=f"{SMALL.methods[0].where}_in_vain"), *SMALL.methods))
    patches.install()
    assert hasattr(vars(small_sdk.Client)["ask"], "__wrapped__")
    patches.uninstall()
    assert "small has no Client.ask_in_vain to hook into" in caplog.text


def test_what_only_some_versions_have_is_not_missed_in_others(caplog):
    where = f"{SMALL.methods[0].where}_in_vain"
    patches = having(hooks=(Hook(where=where, wrapper=lambda *_: None, only_in_some=True),))
    patches.install()
    patches.uninstall()
    assert caplog.text == ""
