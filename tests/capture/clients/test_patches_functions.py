"""Functions of a module are hooked into wherever a program has imported them to."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from llmphases.capture.clients.contract import Method, Sdk
from llmphases.capture.clients.patches import Patches

SDK = Sdk(
    name="plain", package="plain", distribution="there is none", since=(1,), before=(2,),
    methods=(Method(where="plain.main:ask"),),
)  # fmt: skip


@pytest.fixture
def ask():
    def ask(model):
        return f"answer of {model}"

    return ask


@pytest.fixture
def module(monkeypatch, ask):
    made = ModuleType("plain.main")
    made.ask = ask
    monkeypatch.setitem(sys.modules, "plain", ModuleType("plain"))
    monkeypatch.setitem(sys.modules, "plain.main", made)
    return made


@pytest.fixture
def program(monkeypatch, module):
    """`from plain.main import ask as my_ask`, before anything is hooked into."""
    made = ModuleType("program")
    made.my_ask = module.ask
    monkeypatch.setitem(sys.modules, "program", made)
    return made


def test_imported_before_and_under_another_name(calls, program, module, ask):
    patches = Patches(SDK)
    assert patches.install() is None
    assert program.my_ask is module.ask is not ask
    assert program.my_ask(model="m") == "answer of m"
    assert [call.name for call in calls] == ["chat m"]
    patches.uninstall()
    assert program.my_ask is module.ask is ask


def test_imported_while_it_was_hooked_into(calls, module, program, ask):
    patches = Patches(SDK)
    patches.install()
    program.later, kept = module.ask, [module.ask]
    patches.uninstall()
    assert program.later is ask
    assert kept[0](model="m") == "answer of m"
    assert calls == []


def test_what_is_no_module_is_left_alone(monkeypatch, module, ask):
    class Odd:
        def __getattribute__(self, name):
            raise AssertionError(name)

    monkeypatch.setitem(sys.modules, "odd", Odd())
    patches = Patches(SDK)
    patches.install()
    assert module.ask is not ask
    patches.uninstall()
    assert module.ask is ask
