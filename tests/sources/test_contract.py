from __future__ import annotations

from llmphases.sources.contract import Reading, Skipped, SpanRecord


def record(parent_id):
    return SpanRecord(
        trace_id="t", span_id="s", parent_id=parent_id, name="n",
        start_unix_ns=0, end_unix_ns=1, attributes={},
    )  # fmt: skip


def test_a_span_is_known_by_its_trace_and_its_id():
    assert record("p").key == ("t", "s")
    assert record("p").parent_key == ("t", "p")


def test_a_root_has_no_parent():
    assert record(None).parent_key is None


def test_what_was_left_out_is_said_in_words():
    skipped = Skipped(damaged_lines=1, foreign_lines=2, foreign_spans=1234)
    assert str(skipped) == (
        "1 damaged line, 2 lines without traces, 1,234 spans of other libraries"
    )


def test_nothing_left_out_is_an_empty_text():
    assert str(Skipped()) == ""


def test_an_empty_source_is_not_foreign():
    assert not Reading(calls=(), lines=0).is_foreign


def test_a_source_without_one_sound_line_is_foreign():
    assert Reading(calls=(), lines=3, skipped=Skipped(damaged_lines=2, foreign_lines=1)).is_foreign


def test_a_source_with_a_line_of_traces_is_not_foreign():
    assert not Reading(calls=(), lines=3, skipped=Skipped(damaged_lines=2)).is_foreign
