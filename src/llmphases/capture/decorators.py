"""Functions put inside a call or a phase: their kinds are told apart here, and only here."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Final, TypeVar

from llmphases.capture.blocks import PhaseBlock, describe
from llmphases.capture.contract import ChunkShape
from llmphases.capture.current import begin_call, end_call, is_disabled, wired
from llmphases.capture.drivers import driven, driven_async
from llmphases.capture.flows import Flow
from llmphases.capture.marks import leave
from llmphases.capture.returned import Unstarted, awaited_later, handed_out, named_as
from llmphases.capture.streams import shape_for
from llmphases.capture.traced_function import TracedFunction
from llmphases.errors import ArgumentError
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description

F = TypeVar("F", bound=Callable[..., Any])


def decorated_call(
    function: Any,
    *,
    name: str | None,
    model: str | None,
    provider: str | None,
    operation: str,
    is_token: Callable[[Any], bool] | None,
) -> Any:
    """`function`, traced; all options of `traced_llm_call` given."""
    if not callable(function) and not isinstance(function, (classmethod, staticmethod)):
        raise ArgumentError(
            f"@traced_llm_call({function!r}): expected a function; options are given by name, "
            f"as in @traced_llm_call(name='boxes')"
        )
    what = describe(
        "@traced_llm_call", name_of(function) if name is None else name, model, provider, operation
    )
    shape = None if is_disabled() else shape_for(is_token)
    if is_disabled():
        return function
    function = _untraced(function)
    options = {"name": what.name, "model": model, "provider": provider, "operation": operation}
    again: Any = functools.partial(decorated_call, **options, is_token=is_token)  # type: ignore[arg-type]  # of several types
    traced = TracedFunction(
        function, _call_wrapper(_kind_of(function), what, shape), again, options
    )
    wired()
    return traced


def _untraced(function: Any) -> Any:
    """The function inside one that is a call already: decorated twice it is one call."""
    if type(function) is TracedFunction and function._self_is_call:  # noqa: SLF001  # wrapt's prefix
        return function.__wrapped__
    if type(function) in {classmethod, staticmethod}:
        inner = _untraced(function.__func__)
        return function if inner is function.__func__ else type(function)(inner)
    return function


def name_of(function: Any) -> str:
    """A stable name for anything callable."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__func__
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def _kind_of(function: Any) -> str:
    """function, coroutine, generator or async_generator."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__func__
    if not inspect.isroutine(function) and not inspect.isclass(function):
        function = getattr(type(function), "__call__", function)  # noqa: B004  # the method itself is wanted
    if inspect.isasyncgenfunction(function):
        return "async_generator"
    if inspect.iscoroutinefunction(function):
        return "coroutine"
    if not inspect.isgeneratorfunction(function):
        return "function"
    code = getattr(inspect.unwrap(function), "__code__", None)
    is_coroutine = code is not None and code.co_flags & inspect.CO_ITERABLE_COROUTINE
    return "coroutine" if is_coroutine else "generator"


_MADE_BY: Final = {
    "coroutine": (types.CoroutineType, types.GeneratorType),
    "generator": (types.GeneratorType,),
    "async_generator": (types.AsyncGeneratorType,),
}
"""What a function of each kind returns, unless another decorator below ours changed that."""


def _call_wrapper(kind: str, what: Description, shape: ChunkShape | None) -> Any:
    """What runs in place of the function; `wrapped` is bound already."""

    def function(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        call = begin_call(what)
        if call is None:
            return wrapped(*args, **kwargs)
        return _run(call, shape, wrapped, args, kwargs)

    if kind == "function":
        return function

    def later(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        """Arguments are checked at the call; the body runs when it is stepped."""
        body = wrapped(*args, **kwargs)
        if type(body) not in _MADE_BY[kind]:
            call = begin_call(what)
            return body if call is None else handed_out(call, shape, body)
        if kind == "coroutine":
            return awaited_later(what, shape, body)
        drive: Any = driven if kind == "generator" else driven_async
        return drive(body, Flow(what=what, shape=shape))

    return later


def _run(call: CallRecorder, shape: ChunkShape | None, wrapped: Any, args: Any, kwargs: Any) -> Any:
    variable = wired().carrier.variable
    token = variable.set(call.context)
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        end_call(call, error)
        raise
    finally:
        leave(token)
    return handed_out(call, shape, result)


def phase_around(function: F, again: Callable[[], PhaseBlock]) -> F:
    """A function whose every run is one phase; for generators, from first step to end."""
    kind = _kind_of(function)

    def plain(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        with again():
            return wrapped(*args, **kwargs)

    def later(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        body = wrapped(*args, **kwargs)
        if type(body) not in _MADE_BY[kind]:
            return body
        if kind == "coroutine":
            return named_as(_in_phase(again(), Unstarted(body)), body)
        from llmphases.capture.phase_streams import (  # noqa: PLC0415  # rare
            phase_async_generator,
            phase_generator,
        )

        drive: Any = phase_generator if kind == "generator" else phase_async_generator
        return drive(body, again())

    repeated = functools.partial(phase_around, again=again)
    traced: Any = TracedFunction(function, plain if kind == "function" else later, repeated)
    return traced  # type: ignore[no-any-return]  # a proxy of the function, of its very type


async def _in_phase(block: PhaseBlock, held: Unstarted) -> Any:
    body = held.taken()
    with block:
        return await body
