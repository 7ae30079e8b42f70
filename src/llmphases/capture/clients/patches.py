"""Puts wrappers around the methods of an SDK when it is imported, and takes them off again."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import partial
from typing import Any

from llmphases.capture.clients.contract import Hook, Method, Sdk
from llmphases.capture.current import wired
from llmphases.observers import complain_once, never_raises


class Patches:
    """The wrappers of one SDK."""

    def __init__(self, sdk: Sdk) -> None:
        self.sdk = sdk
        self._is_on = False
        self._waits: set[str] = set()
        self._done: list[tuple[Any, str, Any, Any]] = []

    def install(self) -> str | None:
        """Hook in, now or when the SDK is imported; says why not, if it cannot be."""
        reason = self._unsupported()
        if reason is None and not self._is_on:
            wired()  # now, and not within the first call
            self._is_on = True
            for method in self.sdk.methods:
                self._once_imported(method)
            for hook in self.sdk.hooks:
                self._once_imported(hook)
        return reason

    def uninstall(self) -> None:
        """As it was. What is open is timed to its end."""
        self._is_on = False
        while self._done:
            owner, name, original, ours = self._done.pop()
            if vars(owner).get(name) is ours:  # else somebody has wrapped it since
                setattr(owner, name, original)

    def _unsupported(self) -> str | None:
        sdk = self.sdk
        if sdk.package not in sys.modules and not _is_there(sdk.package):
            return "not installed"
        version = _version(sdk.distribution)
        if version is not None and not sdk.since <= version < sdk.before:
            since, before, found = (".".join(map(str, v)) for v in (sdk.since, sdk.before, version))
            return f"version {found}; supported is {since} up to {before}"
        return None

    def _once_imported(self, what: Method | Hook) -> None:
        module = what.where.partition(":")[0]
        if module in sys.modules:
            self._patch(what, sys.modules[module])
        elif what.where not in self._waits:  # wrapt keeps a hook for ever
            import wrapt  # noqa: PLC0415  # not with `import llmphases`

            self._waits.add(what.where)
            wrapt.register_post_import_hook(partial(self._patch, what), module)

    @never_raises
    def _patch(self, what: Method | Hook, module: Any) -> None:
        if not self._is_on:
            return
        import wrapt  # noqa: PLC0415  # as above

        from llmphases.capture.clients.methods import around  # noqa: PLC0415  # loads wrapt

        path = what.where.partition(":")[2]
        *owners, name = path.split(".")
        try:
            owner = module
            for part in owners:
                owner = getattr(owner, part)
            original = vars(owner)[name]
        except (AttributeError, KeyError):  # a version without it, or with it in another place
            complain_once(f"{self.sdk.name} has no {path} to hook into")
            return
        # Asked at each use: a program may keep a method of an object beyond `uninstall`.
        wrapper = what.wrapper if isinstance(what, Hook) else around(what, original)
        ours = wrapt.FunctionWrapper(original, wrapper, lambda: self._is_on)
        setattr(owner, name, ours)
        self._done.append((owner, name, original, ours))


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
