"""A decorated function is the function: to `inspect`, `pickle`, `copy` and whoever looks at it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import dataclasses
import functools
import inspect
import multiprocessing
import pickle
import typing

import pytest

from capture import decorated_functions as module
from capture.decorated_functions import Callee
from llmphases import post_processing, traced_llm_call

DECORATORS = {
    "bare": traced_llm_call,
    "options": traced_llm_call(name="x", model="m", provider="p"),
    "phase": post_processing,
    "phase block": post_processing(),
}
decorators = pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)


def function(a: int, /, b: str = "b", *rest: float, c: bool, **more: typing.Any) -> dict[str, int]:
    """What it does."""
    return {"a": a}


async def coroutine(a: int) -> int:
    """Awaited."""
    return a


def generator(a: int) -> typing.Iterator[int]:
    yield a


async def async_generator(a: int) -> typing.AsyncIterator[int]:
    yield a


FUNCTIONS = [function, coroutine, generator, async_generator, lambda x: x]
QUESTIONS = [
    inspect.signature,
    inspect.iscoroutinefunction,
    asyncio.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
    inspect.isfunction,
    inspect.ismethod,
    inspect.isbuiltin,
    inspect.isroutine,
    inspect.getdoc,
    inspect.getsource,
    inspect.getfile,
    inspect.getmodule,
    inspect.getfullargspec,
    typing.get_type_hints,
    callable,
    lambda f: f.__module__,
    lambda f: f.__name__,
    lambda f: f.__qualname__,
    lambda f: f.__doc__,
    lambda f: f.__code__,
    lambda f: f.__defaults__,
    lambda f: f.__kwdefaults__,
    lambda f: f.__annotations__,
    lambda f: f.__globals__ is globals(),
    lambda f: f.__class__,
    lambda f: isinstance(f, typing.Callable),
    hash,
]


@decorators
@pytest.mark.parametrize("undecorated", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*iscoroutinefunction:DeprecationWarning")
def test_inspect_answers_as_for_the_function(decorator, undecorated):
    decorated = decorator(undecorated)
    for question in QUESTIONS:
        assert question(decorated) == question(undecorated), question
    assert decorated.__wrapped__ is undecorated
    assert inspect.unwrap(decorated) is undecorated
    assert decorated == undecorated


def test_attributes_are_those_of_the_function():
    def f():
        pass

    decorated = traced_llm_call(f)
    decorated.note = 1
    assert f.note == 1
    assert functools.wraps(decorated)(lambda: None).note == 1


@decorators
def test_wrong_arguments_raise_at_the_call_what_they_raise_without_us(decorator):
    for undecorated in (function, coroutine, generator, async_generator):
        with pytest.raises(TypeError) as theirs:
            undecorated()
        with pytest.raises(TypeError) as ours:
            decorator(undecorated)()
        assert str(ours.value) == str(theirs.value)


NAMED = ["double", "phase", "both", "detail"]


@pytest.mark.parametrize("name", NAMED)
def test_a_function_is_pickled_by_its_name(name):
    decorated = getattr(module, name)
    assert pickle.loads(pickle.dumps(decorated)) is decorated


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_has_no_name_of_its_own_is_pickled_with_its_decoration(protocol, calls):
    for decorated, args, result in (
        (module.other_name, (1,), 5),
        (module.partly, (), 5),
        (module.built_in, ("abc",), 3),
        (module.callee, (1,), 6),
    ):
        arrived = pickle.loads(pickle.dumps(decorated, protocol))
        assert arrived(*args) == result
    assert [call.name for call in calls] == ["other", "original", "len", "Callee"]


def test_methods_are_pickled_as_they_are_without_us(calls):
    for method, args, result in (
        (Callee(3).method, (1,), 4),
        (Callee.method, (Callee(3), 1), 4),
        (Callee.above_class, (1,), ("Callee", 1)),
        (Callee.below_class, (1,), ("Callee", 1)),
        (Callee().above_class, (1,), ("Callee", 1)),
        (Callee.above_static, (1,), 1),
        (Callee.below_static, (1,), 1),
        (Callee().above_static, (1,), 1),
    ):
        assert pickle.loads(pickle.dumps(method))(*args) == result
    assert len(calls) == 8


def test_a_copy_of_a_function_is_that_function():
    for copied in (copy.copy, copy.deepcopy):
        assert copied(module.double) is module.double
        assert copied(module.built_in) is module.built_in


def test_a_deep_copy_of_a_method_belongs_to_a_copy_of_its_object(calls):
    owner = Callee(3)
    method = copy.deepcopy(owner.method)
    owner.n = 100
    assert method(1) == 4
    assert copy.copy(owner.method)(1) == 101
    assert copy.deepcopy(Callee.above_class)(1) == ("Callee", 1)
    assert len(calls) == 3


def test_a_deep_copy_of_a_callable_object_is_a_copy_and_traced(calls):
    inner = Callee(1)
    decorated = traced_llm_call(inner, name="callee")
    copied = copy.deepcopy(decorated)
    inner.n = 100
    assert copied(1) == 2
    assert [call.name for call in calls] == ["callee"]


def test_fields_that_hold_a_function_are_copied(calls):
    """RC-040"""

    @dataclasses.dataclass
    class Kernel:
        call: typing.Callable[..., int]

    kernel = Kernel(module.double)
    for copied in (copy.deepcopy(kernel), dataclasses.replace(kernel)):
        assert copied.call(2) == 4
    assert dataclasses.asdict(kernel)["call"](2) == 4
    assert len(calls) == 3


def test_pydantic_fields_that_hold_a_function_are_copied(calls):
    """RC-040"""
    pydantic = pytest.importorskip("pydantic")

    class Kernel(pydantic.BaseModel):
        call: typing.Callable[..., int]

    for copied in (Kernel(call=module.double), Kernel(call=module.double).model_copy(deep=True)):
        assert copied.call(2) == 4
    assert len(calls) == 2


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_pool_runs_a_decorated_function(method):
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(module.double, [1, 2])) == [2, 4]
        assert pool.submit(Callee(2).method, 1).result() == 3
        assert pool.submit(module.other_name, 1).result() == 5


def test_overloads_are_found():
    """RC-047"""

    @typing.overload
    def f(x: int) -> int: ...
    @typing.overload
    def f(x: str) -> str: ...
    @traced_llm_call
    def f(x):
        return x

    assert len(typing.get_overloads(f)) == 2
    assert f(1) == 1
