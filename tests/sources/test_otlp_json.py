from __future__ import annotations

import pytest

from llmphases.sources.otlp_json import has_attribute_of, ids_of, raw_spans, span_record

TRACE, SPAN = "5B8EFFF798038103D269B633813FC60C", "EEE19B7EC3C1B174"


def raw(*attributes, **more):
    return {
        "traceId": TRACE,
        "spanId": SPAN,
        "parentSpanId": "",
        "name": "ask",
        "startTimeUnixNano": "1544712660000000000",
        "endTimeUnixNano": 1544712661000000001,
        "attributes": [{"key": f"a{n}", "value": value} for n, value in enumerate(attributes)],
        **more,
    }


def test_times_are_exact_whether_they_are_texts_or_numbers():
    span = span_record(raw(), "me")
    assert (span.start_unix_ns, span.end_unix_ns) == (1544712660000000000, 1544712661000000001)


def test_ids_are_compared_in_small_letters():
    assert ids_of(raw(parentSpanId="EEE19B7EC3C1B173")) == (
        "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174", "eee19b7ec3c1b173",
    )  # fmt: skip


def test_an_empty_parent_id_is_no_parent():
    assert ids_of(raw())[2] is None
    assert ids_of({"traceId": TRACE, "spanId": SPAN})[2] is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "x"}, "x"),
        ({"boolValue": False}, False),
        ({"intValue": "9007199254740993"}, 9007199254740993),
        ({"intValue": 5}, 5),
        ({"doubleValue": 2}, 2.0),
        ({"doubleValue": "Infinity"}, float("inf")),
        ({"bytesValue": "AAEC"}, "AAEC"),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"intValue": "2"}]}}, (1, 2)),
        ({"arrayValue": {}}, ()),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "a"}]}}, '[1, "a"]'),
        ({"arrayValue": {"values": [{"arrayValue": {}}]}}, "[[]]"),
        (
            {"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}},
            '{"k": true}',
        ),
        ({}, ""),
        ({"someFutureValue": 1}, ""),
    ],
)
def test_every_kind_of_attribute_is_read(value, expected):
    found = span_record(raw(value), "me").attributes["a0"]
    assert found == expected
    assert type(found) is type(expected)


def test_an_error_is_told_by_its_status():
    assert span_record(raw(status={"code": 2}), "me").status_error
    assert span_record(raw(status={"code": "STATUS_CODE_ERROR"}), "me").status_error
    assert not span_record(raw(status={"code": 1}), "me").status_error
    assert not span_record(raw(), "me").status_error


def test_defaults_that_a_writer_may_leave_out_are_filled_in():
    span = span_record({"traceId": TRACE, "spanId": SPAN, "startTimeUnixNano": "1",
                        "endTimeUnixNano": "2"}, "")  # fmt: skip
    assert (span.name, span.attributes, span.parent_id) == ("", {}, None)


@pytest.mark.parametrize("key", ["traceId", "spanId", "startTimeUnixNano", "endTimeUnixNano"])
def test_a_span_without_ids_or_times_is_damaged(key):
    damaged = raw()
    del damaged[key]
    with pytest.raises(KeyError):
        span_record(damaged, "me")


def test_spans_are_found_in_all_resources_and_scopes():
    def scope(name, *spans):
        return {"scope": {"name": name}, "spans": list(spans)}

    instance = {"key": "service.instance.id", "value": {"stringValue": "p"}}
    request = {
        "resourceSpans": [
            {"scopeSpans": [scope("a", 1, 2), scope("b", 3)]},
            {"resource": {"attributes": [instance]}, "scopeSpans": [{"spans": [4]}, {"scope": {}}]},
            {},
        ]
    }
    found = [(1, "a", ""), (2, "a", ""), (3, "b", ""), (4, "", "p")]
    assert list(raw_spans(request)) == found


@pytest.mark.parametrize("odd", [5, [5], [{"scopeSpans": 5}], [{"scopeSpans": [{"spans": 5}]}]])
def test_a_request_that_is_not_built_as_one_is_a_type_or_attribute_error(odd):
    with pytest.raises((TypeError, AttributeError)):
        list(raw_spans({"resourceSpans": odd}))


def test_a_span_of_ours_is_told_by_the_names_of_its_attributes():
    assert has_attribute_of(raw({"intValue": 1}), "a")
    assert not has_attribute_of(raw({"intValue": 1}), "b")
    assert not has_attribute_of({}, "a")
