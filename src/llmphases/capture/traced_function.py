"""A decorated function as an object: what it is to `inspect`, to `pickle` and to `copy`."""

from __future__ import annotations

import copy
import functools
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, cast

import wrapt

_SHARED_BY_COPIES = (types.FunctionType, types.BuiltinFunctionType, functools._lru_cache_wrapper)  # noqa: SLF001  # no other way to name it


class TracedBound(wrapt.BoundFunctionWrapper[Any, Any]):
    """A decorated method that has been looked up on an object or a class."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        method = self.__wrapped__
        owner = getattr(method, "__self__", None)
        if owner is None:
            return _found, (method.__module__, method.__qualname__)
        return getattr, (owner, method.__name__)

    def __copy__(self) -> TracedBound:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        owner = getattr(self.__wrapped__, "__self__", None)
        if owner is None or isinstance(owner, type):
            return self
        return getattr(copy.deepcopy(owner, memo), self.__wrapped__.__name__)


class TracedFunction(wrapt.FunctionWrapper[Any, Any]):
    """A decorated function: same signature, same `inspect` answers, picklable by name."""

    __bound_function_wrapper__ = TracedBound
    # wrapt keeps a proxy's own state under this prefix. By cast: with an annotation the class had
    # `__annotations__`, and they would stand before those of the function.
    _self_is_call = False
    """Whether it is a call (or a phase)."""
    _self_options = cast("Mapping[str, Any] | None", None)
    """Of a call: how it was decorated."""
    _self_again = cast("Any", None)
    """Decorates another function in the same way."""

    def __init__(
        self, wrapped: Any, wrapper: Any, again: Callable[[Any], Any],
        options: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(wrapped, wrapper)
        self._self_again = again
        self._self_options = options
        self._self_is_call = options is not None

    def __reduce_ex__(self, protocol: Any) -> Any:
        wrapped = self.__wrapped__
        module, name = getattr(wrapped, "__module__", None), getattr(wrapped, "__qualname__", None)
        if isinstance(name, str) and _found(module, name) is self:
            return name
        return self._self_again, (wrapped,)

    def __copy__(self) -> TracedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        if isinstance(self.__wrapped__, _SHARED_BY_COPIES):
            return self
        return self._self_again(copy.deepcopy(self.__wrapped__, memo))


def _found(module: str | None, qualname: str) -> Any:
    """What is found under a name: what `pickle` sends of a function."""
    found: Any = sys.modules.get(module or "")
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found
