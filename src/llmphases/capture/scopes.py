"""What is entered and left, by `with` or `async with`, once or often or from several places."""

from __future__ import annotations

from collections.abc import Hashable
from types import TracebackType
from typing import Generic, Self, TypeVar

from llmphases.capture.current import context_key

G = TypeVar("G")


class Scope(Generic[G]):
    """Begins when it is entered and ends when it is left; `G` is what `as` names.

    One object may be entered again before it is left, in the same task, another one or another
    thread: each entry is a scope of its own.
    """

    __slots__ = ("_is_entered", "_others")

    def __init__(self) -> None:
        self._is_entered = False
        self._others: list[tuple[Hashable, Scope[G]]] | None = None

    def again(self) -> Self:
        """Another one of the same kind, for one more run."""
        raise NotImplementedError

    def _begin(self) -> G:
        """Begin, and give what `as` names; never raises."""
        raise NotImplementedError

    def _end(self, error: BaseException | None) -> None:
        """End; never raises."""
        raise NotImplementedError

    def _enter_another(self) -> G:
        other = self.again()
        if self._others is None:
            self._others = []
        self._others.append((context_key(), other))
        return other.__enter__()

    def _other_here(self) -> Scope[G] | None:
        """The innermost further entry of this task or thread, taken off the list."""
        here = context_key()
        for entry in reversed(self._others or ()):
            if entry[0] == here:
                assert self._others is not None
                self._others.remove(entry)
                return entry[1]
        return None

    def __enter__(self) -> G:
        """It begins."""
        if self._is_entered:
            return self._enter_another()
        self._is_entered = True
        return self._begin()

    async def __aenter__(self) -> G:
        """It begins."""
        return self.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        other = self._other_here() if self._others else None
        if other is not None:
            other.__exit__(kind, error, trace)
        else:
            self._is_entered = False
            self._end(error)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, trace)
