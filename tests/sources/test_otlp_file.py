from __future__ import annotations

import gzip
import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.calls import Call
from llmphases.errors import UnreadableSourceError
from llmphases.phases import Cost, Phase
from llmphases.sources.otlp_file import OtlpFiles
from sources.trace_lines import box_call, line_of, raw_span

METRICS = '{"resourceMetrics": []}\n'
PLAIN = Call(
    name="plain",
    start_unix_ns=5,
    duration_ns=7,
    exclusive_ns={Phase.GENERATION: 4},
    unattributed_ns=3,
    unattributed_cost=Cost.FIXED,
)
PLAIN_WITH_ID = PLAIN.to_json()[:-1] + ',"trace_id":"t","span_id":"s"}\n'


def read(*texts, **more):
    files = [io.BytesIO(t if isinstance(t, bytes) else t.encode()) for t in texts]
    return OtlpFiles(files, **more).read()


def test_a_trace_may_be_spread_over_lines_and_files_in_any_order():
    call, *phases = box_call().spans()
    whole = read(line_of(call, *phases)).calls
    assert read(line_of(*phases[3:]), line_of(call) + line_of(*phases[:3])).calls == whole
    assert len(whole[0].stretches) == 6


def test_a_file_given_twice_counts_once():
    text = line_of(*box_call().spans()) + PLAIN_WITH_ID
    assert len(read(text, text).calls) == 2


def test_lines_that_a_call_wrote_itself_are_read_too():
    assert read(PLAIN.to_json() + "\n").calls == (PLAIN,)


def test_a_call_met_as_spans_and_as_a_line_of_its_own_counts_once():
    spans = line_of(*box_call().spans())
    (call,) = read(spans).calls
    assert read(spans + call.to_json()).calls == (call,)
    assert read(call.to_json() + "\n" + spans).calls == (call,)


def test_damaged_and_foreign_lines_are_counted_and_skipped():
    line = line_of(*box_call().spans())
    odd = ['{"resourceSp', "5", "[]", "null", "hello", '"x"', line[: len(line) // 2]]
    reading = read(line + METRICS + "\n" + "\n".join(odd))
    assert len(reading.calls) == 1
    assert (reading.skipped.damaged_lines, reading.skipped.foreign_lines) == (3, 5)
    assert reading.lines == 9


def test_a_line_that_is_no_text_is_damaged():
    reading = read(b"\xff\xfe\x00\n" + line_of(*box_call().spans()).encode())
    assert (len(reading.calls), reading.skipped.damaged_lines) == (1, 1)


def test_a_byte_order_mark_is_no_damage():
    assert len(read(b"\xef\xbb\xbf" + line_of(*box_call().spans()).encode()).calls) == 1


@pytest.mark.parametrize("spans", ["5", "[5]", '[{"scopeSpans": [{"spans": 7}]}]'])
def test_a_request_that_is_not_built_as_one_is_a_damaged_line(spans):
    assert read('{"resourceSpans": ' + spans + "}").skipped.damaged_lines == 1


@pytest.mark.parametrize(
    "odd", [5, None, {}, {"traceId": 1, "spanId": 2}, {"attributes": [5]}, {"attributes": 5}]
)
def test_a_damaged_span_costs_no_other_span(odd):
    reading = read(line_of(odd, *box_call().spans()))
    assert (len(reading.calls), reading.skipped.damaged_spans) == (1, 1)
    assert len(reading.calls[0].stretches) == 6


def test_spans_of_other_libraries_are_counted():
    other = raw_span("GET", 0, 1, {"http.request.method": "GET"})
    reading = read(line_of(other, *box_call().spans()))
    assert (len(reading.calls), reading.skipped.foreign_spans) == (1, 1)


@pytest.mark.parametrize(
    "damage",
    [
        {"duration_ns": 8},
        {"duration_ns": "7"},
        {"exclusive_ns": {"generation": "4"}},
        {"exclusive_ns": {"teleport": 4}},
        {"exclusive_ns": 5},
        {"name": 5},
        {"first_token_ns": "1"},
        {"usage": {"output_tokens": "many"}},
        {"requests": None},
    ],
)
def test_a_damaged_line_of_a_call_is_a_damaged_line(damage):
    reading = read(json.dumps(json.loads(PLAIN.to_json()) | damage))
    assert (reading.calls, reading.skipped.damaged_lines) == ((), 1)


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(UnreadableSourceError, match=r"cannot read .*nope.jsonl: No such file"):
        OtlpFiles([tmp_path / "nope.jsonl"]).read()


def test_a_folder_is_an_error_that_names_it(tmp_path):
    with pytest.raises(UnreadableSourceError, match="cannot read"):
        OtlpFiles([str(tmp_path)]).read()


def test_an_empty_file_holds_no_calls(tmp_path):
    file = tmp_path / "empty.jsonl"
    file.touch()
    assert OtlpFiles([file]).read().calls == ()


def test_what_gzip_has_compressed_is_read(tmp_path):
    file = tmp_path / "old.jsonl.gz"
    file.write_bytes(gzip.compress(line_of(*box_call().spans()).encode()))
    assert len(OtlpFiles([file]).read().calls) == 1


@pytest.mark.parametrize("kept", [3, 15, -9])
def test_what_is_left_of_a_compressed_file_is_an_error_that_names_it(kept, tmp_path):
    file = tmp_path / "cut.gz"
    file.write_bytes(gzip.compress(line_of(*box_call().spans()).encode())[:kept])
    with pytest.raises(UnreadableSourceError, match=r"cannot read .*cut.gz: Compressed file ended"):
        OtlpFiles([file]).read()


def test_progress_is_told_of_every_byte():
    text = line_of(*box_call().spans()) + "hello\n"
    told = []
    read(text, progress=told.append)
    assert sum(told) == len(text)


def test_without_msgspec_the_same_is_read(monkeypatch):
    text = line_of(*box_call().spans()) + "hello\n" + METRICS + PLAIN_WITH_ID
    fast = read(text)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    assert read(text) == fast


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_whatever_stands_in_a_span_nothing_raises(data):
    """Every part of a sound span may be replaced by any JSON, or be missing."""
    spans = box_call().spans()
    target = data.draw(st.sampled_from(spans))
    if data.draw(st.booleans(), "an attribute"):
        target = data.draw(st.sampled_from(target["attributes"]))
        if data.draw(st.booleans(), "inside its value"):
            target = target["value"]
    key = data.draw(st.sampled_from(sorted(target)))
    if data.draw(st.booleans(), "missing"):
        del target[key]
    else:
        target[key] = data.draw(json_values)
    for call in read(line_of(*spans)).calls:
        assert sum(call.cost_ns(cost) for cost in Cost) == call.duration_ns >= 0
