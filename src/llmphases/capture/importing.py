"""Tells of modules when the program imports them; the standard library's means alone.

`wrapt` has the same, but takes longer to load than a program should notice of hooks that it may
never need.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from llmphases.observers import never_raises

Told = Callable[[ModuleType], object]

_wanted: dict[str, list[Told]] = {}


class _Finder:
    """Stands before the other finders and lets them find; only the end of a load is its own."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _wanted:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is _Finder or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                _tell_after(spec)
                return spec
        return None


def when_imported(name: str, tell: Told) -> Callable[[], None]:
    """Have `tell` called with a module after each import of it that is still to come.

    Returns:
        What ends it. A fault of `tell` is logged and does not reach who imports.
    """
    _wanted.setdefault(name, []).append(tell)
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    return partial(_no_more, name, tell)


def _no_more(name: str, tell: Told) -> None:
    told = _wanted.get(name, [])
    if tell in told:
        told.remove(tell)
    if not told:
        _wanted.pop(name, None)


def if_imported(name: str) -> ModuleType | None:
    """A module that the program has imported; where another thread is at that, once it is done."""
    module = sys.modules.get(name)
    if getattr(getattr(module, "__spec__", None), "_initializing", False):
        _wait_for(name)
        module = sys.modules.get(name)
    return module


@never_raises
def _wait_for(name: str) -> None:
    importlib.import_module(name)  # of a module that is there: it waits, as any import of it does


@never_raises
def _tell_after(spec: ModuleSpec) -> None:
    # The loader stays what it is, for whoever looks at it.
    loader: Any = spec.loader
    if isinstance(loader, type) or not hasattr(loader, "exec_module"):
        return
    load = loader.exec_module
    if not (isinstance(load, partial) and load.func is _load):
        loader.exec_module = partial(_load, loader, load)


def _load(loader: Any, load: Callable[[ModuleType], None], module: ModuleType) -> None:
    # Most loaders are made for one load; that of an archive loads all that is in it.
    name = getattr(getattr(module, "__spec__", None), "name", module.__name__)
    if getattr(loader, "name", None) == name:
        vars(loader).pop("exec_module", None)
    load(module)
    for tell in tuple(_wanted.get(name, ())):
        _tell(tell, module)


@never_raises
def _tell(tell: Told, module: ModuleType) -> None:
    tell(module)
