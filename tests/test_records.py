"""Records to plain values and back; whole calls are in test_calls.py."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field

import pytest

from llmphases.records import assembler, plain, record


@dataclass(frozen=True, kw_only=True)
class Part:
    name: str
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class Whole:
    parts: tuple[Part, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    is_done: bool = False


def test_a_record_is_a_mapping_of_what_it_says():
    whole = Whole(parts=(Part(name="a"), Part(name="b", size=2)), notes={"k": "v"})
    parts = [{"name": "a"}, {"name": "b", "size": 2}]
    assert plain(whole) == {"parts": parts, "notes": {"k": "v"}, "is_done": False}


def test_what_was_written_is_read_as_an_equal_record():
    whole = Whole(parts=(Part(name="a", size=1),), is_done=True)
    parts = lambda many: tuple(record(Part, one) for one in many)
    assert record(Whole, plain(whole), parts=parts) == whole


def test_unknown_keys_are_ignored():
    assert record(Part, {"name": "a", "colour": "red"}) == Part(name="a")


@pytest.mark.parametrize("raw", [{"name": 1}, {"name": "a", "size": True}, {"size": 1}])
def test_a_field_of_another_type_or_a_missing_one_is_refused(raw):
    with pytest.raises(TypeError):
        record(Part, raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    name: str
    notes: dict[str, str] = field(default_factory=dict)
    size: int | None = None


def test_an_assembled_record_is_one_like_any_other():
    made = assembler(Frozen)(name="a", size=2)
    assert type(made) is Frozen
    assert made == Frozen(name="a", size=2)
    assert repr(made) == repr(Frozen(name="a", size=2))
    with pytest.raises(FrozenInstanceError):
        made.size = 3


def test_assembled_records_share_no_defaults():
    assemble = assembler(Frozen)
    assert assemble(name="a").notes is not assemble(name="b").notes


def test_what_is_missing_is_missed_when_assembled_as_well():
    with pytest.raises(TypeError, match="name"):
        assembler(Frozen)(size=2)
