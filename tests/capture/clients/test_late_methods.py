"""What stands in the place of a method gives itself out as what it becomes."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import subprocess
import sys
import threading
from types import FunctionType

import pytest
import wrapt

from capture.clients import small_sdk
from capture.clients.conftest import SMALL
from llmphases.capture import current
from llmphases.capture.clients.late_methods import LateMethod, settle
from llmphases.capture.clients.patches import Patches
from llmphases.testing import recorded_calls


def plain(self, question, *, stream=False):
    """Asks."""
    return self, question


async def plain_async(self, question):
    return question


def wrapped(function):
    return wrapt.FunctionWrapper(function, lambda f, _instance, args, kwargs: f(*args, **kwargs))


class Counted:
    """Makes it, and counts how often."""

    def __init__(self, function):
        self.function = function
        self.times = 0

    def __call__(self):
        self.times += 1
        return wrapped(self.function)


@pytest.fixture
def made():
    return Counted(plain)


LOOKS = {
    "signature": lambda late: str(inspect.signature(late)) == "(self, question, *, stream=False)",
    "name": lambda late: late.__name__ == "plain",
    "module": lambda late: late.__module__ == __name__,
    "doc": lambda late: late.__doc__ == "Asks.",
    "kind": lambda late: isinstance(late, FunctionType) and inspect.isfunction(late),
    "wraps": lambda late: functools.wraps(late)(lambda: None).__wrapped__.__name__ == "plain",
    "bound": lambda late: late.__get__("me", str)("what") == ("me", "what"),
    "called": lambda late: late("me", "what") == ("me", "what"),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_whatever_is_looked_at_is_that_of_the_method(made, look):
    late = LateMethod(plain, made)
    assert made.times == 0
    for _ in range(2):
        assert look(late)
    assert made.times == 1


def test_a_coroutine_function_is_one():
    assert inspect.iscoroutinefunction(LateMethod(plain_async, lambda: wrapped(plain_async)))


def test_in_a_class_it_is_a_method(made):
    class Client:
        ask = LateMethod(plain, made)

    class Other(Client):
        pass

    assert made.times == 0
    one = Other()
    assert one.ask("what") == (one, "what")
    assert Client.ask(one, question="what") == (one, "what")


def test_what_cannot_be_made_is_the_method_itself():
    late = LateMethod(plain, lambda: None)
    assert settle(late) is plain


def test_two_threads_are_given_the_same(made):
    late, found = LateMethod(plain, made), []
    threads = [threading.Thread(target=lambda: found.append(settle(late))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.times == 1
    assert len(set(map(id, found))) == 1


@pytest.fixture
def patches():
    patches = Patches(SMALL)
    assert patches.install() is None
    yield patches
    patches.uninstall()


def in_place(name="ask"):
    return vars(small_sdk.Client)[name]


def test_once_looked_at_it_has_made_room(patches):
    assert type(in_place()) is LateMethod
    assert callable(small_sdk.Client().ask)
    assert type(in_place()) is wrapt.FunctionWrapper


def test_before_the_first_call_all_have(patches):
    assert type(in_place("call")) is LateMethod
    current.wired()
    assert type(in_place("call")) is wrapt.FunctionWrapper


def test_a_call_by_it_is_recorded_as_any(patches):
    late = in_place()
    with recorded_calls() as calls:
        assert late(small_sdk.Client(), "answer") == "answer"
        assert small_sdk.Client().ask("answer") == "answer"
    assert len(calls) == 2


def test_what_somebody_puts_around_it_goes_on_working(patches, monkeypatch):
    monkeypatch.setattr(small_sdk.Client, "ask", wrapped(in_place()))  # puts back what was there
    with recorded_calls() as calls:
        assert small_sdk.Client().ask("answer") == "answer"
    assert len(calls) == 1
    monkeypatch.undo()


def test_never_looked_at_it_goes_as_it_came():
    before = in_place()
    assert type(before) is FunctionType
    patches = Patches(SMALL)
    patches.install()
    late = in_place()
    patches.uninstall()
    assert in_place() is before
    with recorded_calls() as calls:
        assert late(small_sdk.Client(), "answer") == "answer"
    assert calls == []


def test_what_somebody_put_around_it_and_took_off_again_goes_as_it_came(monkeypatch):
    before = in_place()
    patches = Patches(SMALL)
    patches.install()
    late = in_place()
    monkeypatch.setattr(small_sdk.Client, "ask", wrapped(late))
    monkeypatch.setattr(small_sdk.Client, "ask", late)
    patches.uninstall()
    after = in_place()
    monkeypatch.undo()
    small_sdk.Client.ask = before
    assert after is before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_thread_that_makes_one_at_a_fork_does_not_stop_the_child(made):
    is_making, may_go_on = threading.Event(), threading.Event()

    def slowly():
        is_making.set()
        may_go_on.wait(10)

    thread = threading.Thread(target=lambda: settle(LateMethod(plain, slowly)))
    thread.start()
    assert is_making.wait(10)
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends it, should it wait
        os._exit(settle(LateMethod(plain, made)).__name__ != "plain")
    may_go_on.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_off_and_on_again_it_is_hooked_into_once(patches):
    patches.uninstall()
    patches.install()
    with recorded_calls() as calls:
        assert small_sdk.Client().ask("answer") == "answer"
    assert len(calls) == 1
    assert type(in_place().__wrapped__) is FunctionType


def test_hooking_in_loads_nothing_that_the_program_does_not():
    heavy = "wrapt", "asyncio", "subprocess", "opentelemetry", "importlib.metadata", "psutil"
    program = f"""if True:
        import sys, llmphases
        before = set(sys.modules)
        done = llmphases.instrument()
        print(*[name for name in {heavy} if name in sys.modules and name not in before], "none")
        print(*done.hooked)
    """
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded, hooked = done.stdout.splitlines()
    assert loaded == "none"
    assert "subprocess" in hooked.split()
