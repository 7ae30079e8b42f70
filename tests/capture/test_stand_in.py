"""A stand-in answers as the object does, and has no method that the object lacks."""

from __future__ import annotations

import collections.abc
import contextlib
import copy
import pickle

import pytest

from capture.fake_streams import (
    AsyncFakeStreamManager,
    AsyncSelfIterating,
    BodyStream,
    FakeAsyncStream,
    FakeStream,
    FakeStreamManager,
    SelfIterating,
    Sized,
)
from llmphases.capture.stand_in import StandIn, class_for

KINDS = [
    FakeStream,
    FakeAsyncStream,
    SelfIterating,
    AsyncSelfIterating,
    FakeStreamManager,
    AsyncFakeStreamManager,
    BodyStream,
    Sized,
]
kinds = pytest.mark.parametrize("kind", KINDS)

SYNTAX = {
    "with": lambda o: o.__class__ and _with(o),
    "iter": lambda o: type(iter(o)).__name__ and None,
    "next": next,
    "aiter": lambda o: aiter(o) and None,
    "len": len,
    "bool": bool,
    "index": lambda o: o[0],
    "in": lambda o: "a" in o,
    "call": lambda o: o(),
    "add": lambda o: o + 1,
    "hash": lambda o: isinstance(hash(o), int),
    "int": int,
    "reversed": lambda o: list(reversed(o)),
    "format": lambda o: isinstance(format(o), str),
    "missing": lambda o: o.missing,
}


def _with(thing):
    with thing:
        return "entered"


def stand_in(thing):
    return class_for(type(thing), {})(thing, None)


def outcome_of(action, thing):
    try:
        return action(thing)
    except Exception as error:  # noqa: BLE001  # both must raise the same
        return type(error), str(error)


@kinds
@pytest.mark.parametrize("syntax", SYNTAX)
def test_every_protocol_answers_by_syntax_as_the_object_does(kind, syntax):
    """RC-002: special methods are looked up on the class; what the object lacks stays an error."""
    action = SYNTAX[syntax]
    assert outcome_of(action, stand_in(kind())) == outcome_of(action, kind())


@kinds
def test_it_has_the_methods_of_the_object_and_no_others(kind):
    thing = kind()
    other = stand_in(thing)
    names = {name for base in (*kind.__mro__, StandIn) for name in vars(base)}
    ours = {"__slots__", "__wrapped__", "_llmphases_watch", "__getattr__"}
    for name in names - ours - {"__annotations__", "__static_attributes__", "__firstlineno__"}:
        assert hasattr(other, name) == hasattr(thing, name), name


@kinds
@pytest.mark.parametrize(
    "contract",
    ["Iterable", "Iterator", "AsyncIterable", "AsyncIterator", "Sized", "Callable", "Hashable"],
)
def test_it_is_an_instance_of_what_the_object_is_one_of(kind, contract):
    thing = kind()
    wanted = getattr(collections.abc, contract)
    assert isinstance(stand_in(thing), wanted) == isinstance(thing, wanted)
    assert isinstance(stand_in(thing), kind)


def test_it_names_itself_as_the_object_does():
    thing = FakeStream()
    other = stand_in(thing)
    assert repr(other) == repr(thing)
    assert other.__doc__ == thing.__doc__
    assert type(other).__name__ == "FakeStream"
    assert type(other).__module__ == FakeStream.__module__
    assert vars(other) is vars(thing)
    assert dir(other) == dir(thing)


def test_attributes_are_read_set_and_deleted_on_the_object():
    thing = FakeStream()
    other = stand_in(thing)
    other.extra = 1
    assert thing.extra == 1
    del other.extra
    assert not hasattr(thing, "extra")
    with pytest.raises(AttributeError, match="'FakeStream' object has no attribute 'extra'"):
        _ = other.extra


def test_two_are_as_equal_as_what_is_behind_them():
    assert stand_in(Sized()) == stand_in(Sized()) == Sized()
    assert Sized() == stand_in(Sized())
    assert stand_in(FakeStream()) != stand_in(FakeStream())
    assert hash(stand_in(Sized())) == 7


def test_a_copy_is_one_of_the_object():
    copied = copy.copy(stand_in(SelfIterating()))
    assert type(copied) is SelfIterating
    assert type(copy.deepcopy(stand_in(SelfIterating()))) is SelfIterating
    assert type(pickle.loads(pickle.dumps(stand_in(SelfIterating())))) is SelfIterating


def test_an_object_without_a_context_manager_still_says_so():
    with pytest.raises(TypeError), stand_in(SelfIterating()):
        pass


def test_what_is_intercepted_is_only_what_the_object_has():
    made = class_for(SelfIterating, {"__next__": lambda self: "ours", "close": lambda self: None})
    other = made(SelfIterating(), None)
    assert next(other) == "ours"
    assert not hasattr(other, "close")
    assert not isinstance(other, contextlib.AbstractContextManager)
