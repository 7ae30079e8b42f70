"""Puts wrappers around the methods of an SDK when it is imported, and takes them off again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from llmphases.capture.clients.contract import Hook, Hooked, Method, Sdk
from llmphases.capture.clients.installed import Versions, is_there
from llmphases.capture.clients.late_methods import LateMethod, settle
from llmphases.capture.current import is_wired
from llmphases.capture.importing import if_imported, when_imported
from llmphases.capture.late import before_the_first_call
from llmphases.observers import complain_once, never_raises


class _Done(NamedTuple):
    owner: Any
    name: str
    original: Any
    ours: Any

    @property
    def is_function(self) -> bool:
        return isinstance(self.owner, ModuleType)


class Patches:
    """The wrappers of one SDK.

    A method that asks a model, or makes a client, is hooked into when its SDK is imported, by a
    stand-in until it is first looked at; what only matters inside a call, before the first one. So
    the program's start pays for nothing but this bookkeeping.
    """

    def __init__(self, sdk: Sdk) -> None:
        self.sdk = sdk
        self._is_on = False
        self._cancel: list[Callable[[], None]] = []
        self._done: list[_Done] = []

    def install(self, versions: Versions | None = None) -> str | None:
        """Hook in, now or when the SDK is imported; says why not, if it cannot be.

        `versions`: of what is installed; default: they are looked up.
        """
        reason = self._unsupported(versions or Versions())
        if reason is None and not self._is_on:
            self._is_on = True
            for what in self.sdk.hooked:
                self._once_imported(what)
            _exchange({id(done.original): done.ours for done in self._done if done.is_function})
        return reason

    def uninstall(self) -> None:
        """As it was. What is open is timed to its end."""
        self._is_on = False
        while self._cancel:
            self._cancel.pop()()
        _exchange({id(done.ours): done.original for done in self._done if done.is_function})
        while self._done:
            done = self._done.pop()
            there = vars(done.owner).get(done.name)
            if there is not done.ours and type(there) is LateMethod:
                there = settle(there)  # somebody had wrapped that, and has put it back
            if there is done.ours:  # else somebody has wrapped it since
                setattr(done.owner, done.name, done.original)

    def _unsupported(self, versions: Versions) -> str | None:
        sdk = self.sdk
        if not is_there(sdk.package):
            return "not installed"
        version = versions.of(sdk.distribution)
        if version is not None and not sdk.since <= version < sdk.before:
            since, before, found = (".".join(map(str, v)) for v in (sdk.since, sdk.before, version))
            return f"version {found}; supported is {since} up to {before}"
        return None

    def _once_imported(self, what: Hooked) -> None:
        name = what.where.partition(":")[0]
        # First, so that no import by another thread is missed in between; told twice is told once.
        self._cancel.append(when_imported(name, partial(self._imported, what)))
        module = if_imported(name)
        if module is not None:
            self._imported(what, module)

    @never_raises
    def _imported(self, what: Hooked, module: Any) -> None:
        if not self._is_on:
            return
        if not (is_wired() or _matters_before(what)):
            later = before_the_first_call(lambda: self._imported(what, module))
            self._cancel.append(later)
            return
        path = what.where.partition(":")[2]
        *owners, name = path.split(".")
        try:
            owner = module
            for part in owners:
                owner = getattr(owner, part)
            original = vars(owner)[name]
        except (AttributeError, KeyError):  # a version without it, or with it in another place
            if not (isinstance(what, Hook) and what.only_in_some):
                complain_once(f"{self.sdk.name} has no {path} to hook into")
            return
        if any(done.ours is original for done in self._done):
            return
        if is_wired() or not (isinstance(owner, type) and type(original) is FunctionType):
            ours = self._wrapper(what, original)
        else:
            ours = LateMethod(original, lambda: self._no_longer_late(what, ours, original))
            self._cancel.append(before_the_first_call(lambda: settle(ours)))
        setattr(owner, name, ours)
        self._done.append(_Done(owner, name, original, ours))

    def _wrapper(self, what: Hooked, original: Any) -> Any:
        import wrapt  # noqa: PLC0415  # not with `import llmphases`

        from llmphases.capture.clients.methods import wrapper_for  # noqa: PLC0415  # loads wrapt

        # Asked at each use: a program may keep a method of an object beyond `uninstall`.
        return wrapt.FunctionWrapper(original, wrapper_for(what, original), lambda: self._is_on)

    @never_raises
    def _no_longer_late(self, what: Hooked, late: LateMethod, original: Any) -> Any:
        ours = self._wrapper(what, original)
        for number, done in enumerate(self._done):
            if done.ours is late:
                self._done[number] = done._replace(ours=ours)
                if vars(done.owner).get(done.name) is late:
                    setattr(done.owner, done.name, ours)
        return ours


def _matters_before(what: Hooked) -> bool:
    return isinstance(what, Method) or (isinstance(what, Hook) and what.matters_before)


@never_raises
def _exchange(others: dict[int, Any]) -> None:
    """Put others in the place of functions, by id, wherever `from module import function` did."""
    if not others:
        return
    for module in list(sys.modules.values()):
        if not issubclass(type(module), ModuleType):  # anything may stand there
            continue
        for name, value in list(vars(module).items()):
            other = others.get(id(value))
            if other is not None:
                vars(module)[name] = other
