"""Functions of every kind at the top of a module, as pools and `pickle` want them."""

from __future__ import annotations

import functools

from llmphases import retrieval, step, traced_llm_call


@traced_llm_call
def double(x: int, *, plus: int = 0) -> int:
    """Twice as much."""
    return 2 * x + plus


@retrieval
def phase(x: int) -> int:
    return x + 1


@traced_llm_call
@retrieval
def both(x: int) -> int:
    return x + 2


@step("rerank")
def detail(x: int) -> int:
    return x + 3


def original(x: int) -> int:
    return x + 4


other_name = traced_llm_call(original, name="other")
partly = traced_llm_call(functools.partial(original, 1))
built_in = traced_llm_call(len)


class Callee:
    def __init__(self, n: int = 1) -> None:
        self.n = n

    def __call__(self, x: int) -> int:
        return x + self.n

    @traced_llm_call
    def method(self, x: int) -> int:
        return x + self.n

    @traced_llm_call
    @classmethod
    def above_class(cls, x: int) -> tuple[str, int]:
        return cls.__name__, x

    @classmethod
    @traced_llm_call
    def below_class(cls, x: int) -> tuple[str, int]:
        return cls.__name__, x

    @traced_llm_call
    @staticmethod
    def above_static(x: int) -> int:
        return x

    @staticmethod
    @traced_llm_call
    def below_static(x: int) -> int:
        return x

    @property
    @traced_llm_call
    def size(self) -> int:
        return self.n


callee = traced_llm_call(Callee(5))
