"""A stand-in for somebody else's object: whatever is asked of it, the object itself answers.

Its class has the special methods that the object's class has, and no others, so `len()`, `with`,
`for`, `hasattr` and `isinstance` answer as they would without us.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

_OURS: Final = frozenset(
    (
        "__annotate__", "__annotate_func__", "__annotations__", "__class__", "__class_getitem__",
        "__del__", "__delattr__", "__dict__", "__doc__", "__getattr__", "__getattribute__",
        "__init__", "__init_subclass__", "__module__", "__new__", "__setattr__", "__slots__",
        "__subclasshook__", "__weakref__",
    )
)  # fmt: skip
"""What a class has for itself, or what `StandIn` answers."""


_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__


def mro_of(kind: type) -> tuple[type, ...]:
    """The classes behind a class, asked without running code of a metaclass."""
    mro: tuple[type, ...] = _mro_of(kind)
    return mro


def has(kind: type, name: str) -> bool:
    """Whether a class has a method, asked in the same way."""
    for base in _mro_of(kind):  # noqa: SIM110  # any() takes twice as long, and this is asked four times a call
        if name in _dict_of(base):
            return True
    return False


class StandIn:
    """Passes on everything; subclasses made by `class_for` intercept what is to be watched."""

    __slots__ = ("__weakref__", "__wrapped__", "_llmphases_watch")
    __wrapped__: Any
    _llmphases_watch: Any
    """Who is told; read by those who intercept."""

    def __init__(self, wrapped: Any, watch: Any) -> None:
        object.__setattr__(self, "__wrapped__", wrapped)
        object.__setattr__(self, "_llmphases_watch", watch)

    @property
    def __class__(self) -> Any:
        return self.__wrapped__.__class__

    @__class__.setter
    def __class__(self, other: Any) -> None:
        self.__wrapped__.__class__ = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__wrapped__, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__wrapped__, name)


def class_for(
    kind: type, members: Mapping[str, Any], base: type[StandIn] = StandIn
) -> type[StandIn]:
    """A stand-in class for objects of one class.

    Of `members` only those count that the class has a method for.
    """
    special: dict[str, Any] = {
        name: None if getattr(kind, name) is None else _passed_on(name)
        for name in dir(kind)
        if name.startswith("__") and name.endswith("__") and name not in _OURS
        and (getattr(kind, name) is None or callable(getattr(kind, name)))
    }  # fmt: skip
    watched = {name: member for name, member in members.items() if hasattr(kind, name)}
    about: dict[str, Any] = {
        "__annotations__": getattr(kind, "__annotations__", {}),
        "__doc__": kind.__doc__,
        "__module__": kind.__module__,
        "__slots__": (),
    }
    made = type(kind.__name__, (base,), {**special, **watched, **about})
    made.__qualname__ = kind.__qualname__
    return made


def _passed_on(name: str) -> Callable[..., Any]:
    method = operator.attrgetter(name)

    def answer(self: StandIn, *args: Any, **kwargs: Any) -> Any:
        return method(self.__wrapped__)(*map(_itself, args), **kwargs)

    answer.__name__ = name
    return answer


def _itself(value: Any) -> Any:
    """What somebody stands in for: two stand-ins are as equal as what is behind them."""
    return value.__wrapped__ if issubclass(type(value), StandIn) else value
