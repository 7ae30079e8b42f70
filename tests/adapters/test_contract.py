"""Facts follow one another, and classes are known by their names."""

from __future__ import annotations

from llmphases.adapters.contract import Facts, fields_of, named, read
from llmphases.calls import Usage
from llmphases.recorder.reported import ReportedTimes


def test_later_usage_replaces_earlier_field_by_field():
    earlier = Facts(usage=Usage(input_tokens=12, output_tokens=1), response_model="m")
    later = Facts(usage=Usage(output_tokens=5))
    assert earlier.then(later) == Facts(
        usage=Usage(input_tokens=12, output_tokens=5), response_model="m"
    )


def test_no_facts_change_nothing():
    facts = Facts(usage=Usage(input_tokens=1), reported=ReportedTimes(queue_ns=5))
    assert facts.then(None) == facts.then(Facts()) == facts


def test_zero_replaces_too():
    earlier = Facts(usage=Usage(output_tokens=3))
    assert earlier.then(Facts(usage=Usage(output_tokens=0))).usage == Usage(output_tokens=0)


def test_an_input_repeated_without_its_cache_does_not_take_the_cache_back():
    start = Usage(
        input_tokens=12_012, cache_read_input_tokens=9_000, cache_write_input_tokens=3_000
    )
    heard = Facts(usage=start).then(Facts(usage=Usage(input_tokens=12, output_tokens=5)))
    assert heard.usage.input_tokens == 12_012


def test_an_input_that_was_only_guessed_at_first_is_corrected():
    heard = Facts(usage=Usage(input_tokens=0)).then(Facts(usage=Usage(input_tokens=12)))
    assert heard.usage.input_tokens == 12


def test_a_class_is_known_by_package_and_name_also_through_its_subclasses():
    base = type("Chunk", (), {"__module__": "vendor.types.chat"})
    matches = named("vendor.Ch*k", "other.Thing")
    assert matches(base())
    assert matches(type("Mine", (base,), {"__module__": "app"})())
    assert not matches(type("Chunk", (), {"__module__": "app"})())
    assert not matches(type("Chunk", (), {"__module__": 5})())


def test_rc_055_asking_for_the_type_runs_no_code_of_the_chunk():
    class Meta(type):
        def __getattribute__(cls, name):
            raise AssertionError(name)

        def __eq__(cls, other):
            raise AssertionError

        __hash__ = None

    class Sly(metaclass=Meta):
        def __getattribute__(self, name):
            raise AssertionError(name)

    assert not named("vendor.*")(object.__new__(Sly))


def test_reading_never_adds_to_what_is_read():
    assert (read({"a": 1}, "a"), read({}, "a"), read(None, "a"), read(5, "real")) == (
        1,
        None,
        None,
        5,
    )
    assert fields_of(object()) == fields_of(None) == fields_of("Hi") == {}
