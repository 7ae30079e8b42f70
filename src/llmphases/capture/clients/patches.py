"""Puts wrappers around the methods of an SDK when it is imported, and takes them off again."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from llmphases.capture.clients.contract import Hook, Hooked, Sdk
from llmphases.capture.current import wired
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
    """The wrappers of one SDK."""

    def __init__(self, sdk: Sdk) -> None:
        self.sdk = sdk
        self._is_on = False
        self._waits: set[str] = set()
        self._done: list[_Done] = []

    def install(self) -> str | None:
        """Hook in, now or when the SDK is imported; says why not, if it cannot be."""
        reason = self._unsupported()
        if reason is None and not self._is_on:
            wired()  # now, and not within the first call
            self._is_on = True
            for what in self.sdk.hooked:
                self._once_imported(what)
            _exchange({id(done.original): done.ours for done in self._done if done.is_function})
        return reason

    def uninstall(self) -> None:
        """As it was. What is open is timed to its end."""
        self._is_on = False
        _exchange({id(done.ours): done.original for done in self._done if done.is_function})
        while self._done:
            done = self._done.pop()
            if vars(done.owner).get(done.name) is done.ours:  # else somebody has wrapped it since
                setattr(done.owner, done.name, done.original)

    def _unsupported(self) -> str | None:
        sdk = self.sdk
        if sdk.package not in sys.modules and not _is_there(sdk.package):
            return "not installed"
        version = _version(sdk.distribution)
        if version is not None and not sdk.since <= version < sdk.before:
            since, before, found = (".".join(map(str, v)) for v in (sdk.since, sdk.before, version))
            return f"version {found}; supported is {since} up to {before}"
        return None

    def _once_imported(self, what: Hooked) -> None:
        module = what.where.partition(":")[0]
        if module in sys.modules:
            self._patch(what, sys.modules[module])
        elif what.where not in self._waits:  # wrapt keeps a hook for ever
            import wrapt  # noqa: PLC0415  # not with `import llmphases`

            self._waits.add(what.where)
            wrapt.register_post_import_hook(partial(self._patch, what), module)

    @never_raises
    def _patch(self, what: Hooked, module: Any) -> None:
        if not self._is_on:
            return
        import wrapt  # noqa: PLC0415  # as above

        from llmphases.capture.clients.methods import wrapper_for  # noqa: PLC0415  # loads wrapt

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
        # Asked at each use: a program may keep a method of an object beyond `uninstall`.
        ours = wrapt.FunctionWrapper(original, wrapper_for(what, original), lambda: self._is_on)
        setattr(owner, name, ours)
        self._done.append(_Done(owner, name, original, ours))


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


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _version(distribution: str) -> tuple[int, ...] | None:
    """The leading numbers of an installed version; None where nobody can tell."""
    from importlib import metadata  # noqa: PLC0415  # takes as long as all of ours

    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
