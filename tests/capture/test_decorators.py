"""What can be decorated, and what a call of it is then."""

from __future__ import annotations

import abc
import contextlib
import enum
import functools
import types

import pytest

from capture.decorated_functions import Callee
from llmphases import (
    ArgumentError,
    Phase,
    llm_call,
    post_processing,
    prompt_build,
    retrieval,
    step,
    traced_llm_call,
)

# --- what can be decorated ------------------------------------------------------------------


def plain(x=1):
    return x


CALLABLES = {
    "function": (plain, (3,), 3, "plain"),
    "lambda": (lambda: 2, (), 2, "<lambda>"),
    "builtin": (len, ("abc",), 3, "len"),
    "method of a builtin": ([1, 2].index, (2,), 1, "index"),
    "partial": (functools.partial(plain, 4), (), 4, "plain"),
    "partial of partial": (functools.partial(functools.partial(plain), 4), (), 4, "plain"),
    "callable object": (Callee(2), (1,), 3, "Callee"),
    "partial of a callable object": (functools.partial(Callee(2), 1), (), 3, "Callee"),
    "bound method": (types.MethodType(lambda self, x: self + x, 2), (1,), 3, "<lambda>"),
    "cached": (functools.cache(plain), (5,), 5, "plain"),
    "type": (dict, (), {}, "dict"),
    "C function": (max, (1, 2), 2, "max"),
}


@pytest.mark.parametrize("case", CALLABLES)
def test_anything_callable_can_be_decorated(calls, case):
    """RC-041"""
    function, args, result, name = CALLABLES[case]
    assert traced_llm_call(function)(*args) == result
    assert [call.name for call in calls] == [name]
    assert prompt_build(function)(*args) == result


@pytest.mark.parametrize(
    "method", ["method", "above_class", "below_class", "above_static", "below_static"]
)
def test_methods_are_bound_right_whichever_decorator_is_above(calls, method):
    """RC-041"""

    class Child(Callee):
        pass

    expected = {"method": 3, "above_static": 2, "below_static": 2}.get(method, ("Child", 2))
    assert getattr(Child(), method)(2) == expected
    if method != "method":
        assert getattr(Child, method)(2) == expected
    assert {call.name for call in calls} == {method}


def test_properties_and_abstract_methods_work(calls):
    """RC-047"""

    class Base(abc.ABC):
        @traced_llm_call
        @abc.abstractmethod
        def ask(self):
            return 1

    class Child(Base):
        def ask(self):
            return super().ask() + 1

    assert Callee(7).size == 7
    assert Child().ask() == 2
    with pytest.raises(TypeError, match="abstract"):
        Base()
    assert [call.name for call in calls] == ["size", "ask"]


def test_a_cache_above_makes_hits_no_calls_and_below_makes_them_calls(calls):
    """RC-047"""
    above = functools.cache(traced_llm_call(plain))
    below = traced_llm_call(functools.cache(plain))
    for _ in range(3):
        above(1)
    assert len(calls) == 1
    for _ in range(3):
        below(1)
    assert len(calls) == 4
    assert below.cache_info().hits == 2


def test_arguments_arrive_as_they_are(calls):
    """RC-055, RC-056: nothing is copied, read, compared or added."""

    class Hostile:
        def __repr__(self):
            raise RuntimeError

        __str__ = __eq__ = __bool__ = __hash__ = __len__ = __iter__ = __deepcopy__ = __repr__

    def source():
        yield 1

    loop = {}
    loop["self"] = loop
    messages, generator, hostile = [{"role": "user"}], source(), Hostile()

    @traced_llm_call
    def ask(*args, **kwargs):
        messages.append("changed")
        return args, kwargs

    given = (hostile, generator, loop, messages, contextlib.nullcontext())
    args, kwargs = ask(*given, api_key="k", stream=True, hostile=hostile)
    assert all(ours is theirs for ours, theirs in zip(args, given, strict=True))
    assert list(kwargs) == ["api_key", "stream", "hostile"]
    assert kwargs["hostile"] is hostile
    assert messages == [{"role": "user"}, "changed"]
    assert next(generator) == 1
    assert len(calls) == 1


def test_attributes_of_odd_kinds_in_arguments_are_never_read(exported, caplog):
    """RC-052: what a program passes to its function becomes no attribute."""

    class Omit(enum.Enum):
        GIVEN = 1

    @traced_llm_call
    def ask(**kwargs):
        return kwargs

    ask(none=None, sentinel=object(), enum=Omit.GIVEN, nested={"a": [1]}, mixed=[1, "a"], empty=[])
    assert "None" not in str(dict(exported.one("ask").attributes))
    assert [r for r in caplog.records if r.name.startswith("opentelemetry")] == []


# --- wrong use ------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["boxes", 5, ["f"], property(plain)])
def test_what_is_no_function_is_refused_with_what_to_do(wrong):
    with pytest.raises(ArgumentError, match=r"expected a function; options are given by name"):
        traced_llm_call(wrong)
    with pytest.raises(ArgumentError, match="expected nothing"):
        retrieval(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": 5}, "name=5; expected a text"),
        ({"name": ""}, "name=''; expected a text that is not empty"),
        ({"model": 5}, "model=5; expected a text, or leave it out"),
        ({"provider": b"x"}, "provider=b'x'; expected a text"),
        ({"operation": 1}, "operation=1; expected a text"),
        ({"is_token": "yes"}, r"is_token='yes'; expected a function: chunk -> bool"),
    ],
)
def test_wrong_options_are_refused_with_what_was_expected(options, message):
    with pytest.raises(ArgumentError, match=message):
        traced_llm_call(**options)(plain)


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="nmae"):
        traced_llm_call(nmae="x")
    with pytest.raises(TypeError):
        traced_llm_call(plain, "x")


def test_empty_parentheses_are_fine(calls):
    assert traced_llm_call()(plain)(2) == 2
    assert prompt_build()(plain)(2) == 2
    assert [call.name for call in calls] == ["plain"]


# --- switched off ---------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["1", "true", "YES", " on "])
def test_switched_off_the_function_itself_comes_back(monkeypatch, calls, word):
    """RC-085"""
    monkeypatch.setenv("LLMPHASES_DISABLED", word)
    assert traced_llm_call(plain) is plain
    assert traced_llm_call(name="x", is_token=bool)(plain) is plain
    assert retrieval(plain) is plain
    assert retrieval()(plain) is plain
    assert step("x")(plain) is plain
    with llm_call("x") as call, retrieval(), step("y"), call.request():
        call.first_token()
        call.usage(input_tokens=1)
        assert not call
    assert calls == []


@pytest.mark.parametrize("word", ["", "0", "false", "off", "no"])
def test_other_words_switch_nothing_off(monkeypatch, calls, word):
    monkeypatch.setenv("LLMPHASES_DISABLED", word)
    traced_llm_call(plain)()
    assert len(calls) == 1


def test_a_function_decorated_before_the_switch_still_works(monkeypatch, calls):
    @retrieval
    def items():
        got = yield 1
        yield got

    monkeypatch.setenv("LLMPHASES_DISABLED", "1")
    stream = items()
    assert next(stream) == 1
    assert stream.send("sent") == "sent"


# --- twice, and inside one another ----------------------------------------------------------


def test_decorated_twice_is_one_call(exported):
    """RC-088"""
    twice = traced_llm_call(name="outer")(traced_llm_call(plain, name="inner"))
    assert twice(2) == 2
    assert [span.name for span in exported.spans] == ["outer"]
    (point,) = exported.points()["llmphases.call.duration"]
    assert point.count == 1


def test_a_method_decorated_above_and_below_is_one_call(calls):
    class C:
        @traced_llm_call(name="above")
        @classmethod
        @traced_llm_call(name="below")
        def c(cls):
            return cls

        @traced_llm_call
        @staticmethod
        @traced_llm_call
        def s():
            return 1

    assert C.c() is C
    assert C().s() == 1
    assert [call.name for call in calls] == ["above", "s"]


def test_a_decorated_function_that_calls_another_gives_two_and_counts_phases_once(exported):
    """RC-088"""

    @traced_llm_call
    def inner():
        with retrieval():
            return 1

    @traced_llm_call
    def outer():
        return inner()

    outer()
    durations = exported.points()["llmphases.call.duration"]
    assert sorted(point.attributes["llmphases.call.nested"] for point in durations) == [0, 1]
    assert sum(point.count for point in exported.points()["llmphases.phase.duration"]) == 1
    assert exported.one("inner").parent.span_id == exported.one("outer").context.span_id


def test_retries_outside_are_calls_and_inside_are_one(exported):
    """RC-049"""
    tenacity = pytest.importorskip("tenacity")
    again = tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_none())

    def flaky():
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("bad key sk-live-SECRET")
        return "answer"

    tries = []
    assert again(traced_llm_call(flaky, name="above"))() == "answer"
    assert [span.status.is_ok for span in exported.named("above")] == [False, False, True]
    tries = []
    assert traced_llm_call(again(flaky), name="below")() == "answer"
    assert exported.one("below").status.is_ok


# --- phases ---------------------------------------------------------------------------------


async def test_a_phase_decorates_every_kind_of_function(timed_calls, clock):
    def work():
        clock.tick(1)

    @post_processing
    def function():
        work()

    @post_processing
    async def coroutine():
        work()

    @post_processing
    def generator():
        work()
        yield 1
        work()

    @post_processing
    async def async_generator():
        work()
        yield 1
        work()

    with llm_call("call"):
        function()
        await coroutine()
        for _ in generator():
            clock.tick(10)
        async for _ in async_generator():
            clock.tick(10)
    (call,) = timed_calls
    spans = [s.end_ns - s.start_ns for s in call.stretches]
    assert spans == [1_000_000_000, 1_000_000_000, 12_000_000_000, 12_000_000_000]
    assert {s.phase for s in call.stretches} == {Phase.POST_PROCESSING}
