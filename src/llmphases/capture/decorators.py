"""Functions put inside a call or a phase: their kinds are told apart here, and only here."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import wrapt

from llmphases.capture.blocks import PhaseBlock, describe
from llmphases.capture.current import ChunkShape, begin_call, end_call, is_disabled, wired
from llmphases.capture.drivers import driven, driven_async
from llmphases.capture.flows import Flow
from llmphases.capture.marks import leave
from llmphases.capture.streams import is_stream, shape_for, watched
from llmphases.errors import ArgumentError
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description

F = TypeVar("F", bound=Callable[..., Any])


class _TracedBound(wrapt.BoundFunctionWrapper[Any, Any]):
    def __reduce_ex__(self, protocol: Any) -> Any:
        return getattr, (self._self_instance, self.__wrapped__.__name__)


class TracedFunction(wrapt.FunctionWrapper[Any, Any]):
    """A decorated function: same signature, same `inspect` answers, picklable by name."""

    __bound_function_wrapper__ = _TracedBound
    _self_is_call = False
    """Whether it is a call (or a phase); wrapt keeps a proxy's own state under this prefix."""
    _self_options: Mapping[str, Any] | None = None
    """Of a call: how it was decorated."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__qualname__

    def __copy__(self) -> TracedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> TracedFunction:
        return self


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
    if isinstance(function, TracedFunction) and function._self_is_call:  # noqa: SLF001  # wrapt's prefix
        function = function.__wrapped__
    traced = TracedFunction(function, _call_wrapper(_kind_of(function), what, shape))
    traced._self_is_call = True  # noqa: SLF001  # wrapt's prefix for a proxy's own state
    options = {"name": what.name, "model": model, "provider": provider, "operation": operation}
    traced._self_options = options  # noqa: SLF001  # as above
    wired()
    return traced


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
    return "generator" if inspect.isgeneratorfunction(function) else "function"


def _call_wrapper(kind: str, what: Description, shape: ChunkShape | None) -> Any:
    """What runs in place of the function; `wrapped` is bound already."""

    def function(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        call = begin_call(what)
        if call is None:
            return wrapped(*args, **kwargs)
        return _run(call, shape, wrapped, args, kwargs)

    def coroutine(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return _coroutine(what, shape, wrapped, args, kwargs)

    def generator(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return driven(wrapped(*args, **kwargs), Flow(what=what, shape=shape))

    def async_generator(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return driven_async(wrapped(*args, **kwargs), Flow(what=what, shape=shape))

    wrappers = {"function": function, "coroutine": coroutine, "generator": generator}
    return wrappers.get(kind, async_generator)


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
    return _handed_out(call, shape, result)


def _handed_out(call: CallRecorder, shape: ChunkShape | None, result: Any) -> Any:
    """End the call, or let it go on while what the function returned is read or awaited."""
    if is_stream(result):
        return watched(result, Flow(call=call, shape=shape))
    if isinstance(result, types.CoroutineType):
        return _named(_await_returned(call, shape, _Unstarted(result)), result)
    if hasattr(type(result), "add_done_callback"):
        result.add_done_callback(functools.partial(_future_done, call))
        return result
    end_call(call)
    return result


async def _await_rest(call: CallRecorder, shape: ChunkShape | None, awaitable: Any) -> Any:
    variable = wired().carrier.variable
    token = variable.set(call.context)
    try:
        result = await awaitable
    except BaseException as error:
        end_call(call, error)
        raise
    finally:
        leave(token)
    return _handed_out(call, shape, result)


async def _await_returned(call: CallRecorder, shape: ChunkShape | None, held: _Unstarted) -> Any:
    return await _await_rest(call, shape, held.taken())


def _future_done(call: CallRecorder, future: Any) -> None:
    if future.cancelled():
        end_call(call, _cancelled())
    else:
        end_call(call, future.exception())


def _cancelled() -> BaseException:
    import asyncio  # noqa: PLC0415  # loaded already where a future was cancelled

    return asyncio.CancelledError()


def _coroutine(
    what: Description, shape: ChunkShape | None, wrapped: Any, args: Any, kwargs: Any
) -> Coroutine[Any, Any, Any]:
    """Arguments are checked at the call, as a coroutine function does, the body runs later."""
    body = wrapped(*args, **kwargs)
    traced: Coroutine[Any, Any, Any] = _trace_coroutine(what, shape, _Unstarted(body))
    _named(traced, body)
    return traced


async def _trace_coroutine(what: Description, shape: ChunkShape | None, held: _Unstarted) -> Any:
    body = held.taken()
    call = begin_call(what)
    if call is None:
        return await body
    return await _await_rest(call, shape, body)


class _Unstarted:
    """Holds a coroutine that has not run: if ours is never awaited, Python warns once, not twice."""

    __slots__ = ("_coroutine",)

    def __init__(self, coroutine: Any) -> None:
        self._coroutine = coroutine

    def taken(self) -> Any:
        """The coroutine, to be awaited now."""
        coroutine, self._coroutine = self._coroutine, None
        return coroutine

    def __del__(self) -> None:
        if self._coroutine is not None:
            self._coroutine.close()


def _named(ours: Any, theirs: Any) -> Any:
    ours.__name__ = theirs.__name__
    ours.__qualname__ = theirs.__qualname__
    return ours


def phase_around(function: F, again: Callable[[], PhaseBlock]) -> F:
    """A function whose every run is one phase; for generators, from first step to end."""
    kind = _kind_of(function)

    def plain(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        with again():
            return wrapped(*args, **kwargs)

    def coroutine(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        body = wrapped(*args, **kwargs)

        async def in_phase() -> Any:
            with again():
                return await body

        return _named(in_phase(), body)

    def generator(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        from llmphases.capture.phase_streams import phase_generator  # noqa: PLC0415  # rare

        return phase_generator(wrapped(*args, **kwargs), again())

    def async_generator(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        from llmphases.capture.phase_streams import phase_async_generator  # noqa: PLC0415  # rare

        return phase_async_generator(wrapped(*args, **kwargs), again())

    wrappers = {"function": plain, "coroutine": coroutine, "generator": generator}
    traced: Any = TracedFunction(function, wrappers.get(kind, async_generator))
    return traced  # type: ignore[no-any-return]  # a proxy of the function, of its very type
