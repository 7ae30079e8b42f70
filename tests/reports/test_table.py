from __future__ import annotations

from llmphases.reports.contract import Paper
from llmphases.reports.layout import plain
from llmphases.reports.table import table
from reports.sample_groups import call, group


def rows(found, **paper):
    return plain(table(found, Paper(unicode=False, **paper))).splitlines()


def labels(found):
    return [row[:25].rstrip() for row in rows(found)[1:]]


def test_every_cost_has_a_row_and_every_part_one_below_it():
    found = group(call(retrieval=1, time_to_first_token=2, generation=3, tool=1, unattributed=1))
    assert labels(found) == [
        "  fixed", "    retrieval", "    time_to_first_token", "    unattributed",
        "  generation", "  delivery", "  tool", "  unsplit",
    ]  # fmt: skip


def test_a_part_that_is_all_of_its_cost_and_named_alike_is_not_repeated():
    assert labels(group(call(generation=1))).count("  generation") == 1
    assert "    generation" not in labels(group(call(generation=1)))


def test_parts_are_per_call_of_the_group_so_that_they_add_up():
    found = group(call(generation=1, retrieval=4), call(generation=1))
    assert rows(found)[:3] == [
        "                            calls       total    per call   share",
        "  fixed                                4.00 s      2.00 s    67 %  #########",
        "    retrieval                   1      4.00 s      2.00 s    67 %  #########",
    ]


def test_calls_are_counted_only_where_a_part_is_not_in_all_of_them():
    assert "calls" not in rows(group(call(generation=1)))[0]


def test_a_cost_that_was_not_paid_is_a_dash():
    (row,) = [row for row in rows(group(call(generation=1))) if "unsplit" in row]
    assert row.split() == ["unsplit", "-", "-", "-"]


def test_a_wide_paper_has_percentiles():
    found = group(call(generation=1), call(generation=3))
    wide = rows(found, width=120)
    assert wide[0].split() == ["total", "per", "call", "p50", "p95", "share"]
    (row,) = [row for row in wide if "generation" in row]
    assert row.split()[1:9] == ["4.00", "s", "2.00", "s", "2.00", "s", "2.90", "s"]


def test_percentiles_of_a_part_that_is_not_in_all_calls_say_over_which_they_are():
    found = group(call(generation=1, retrieval=4), call(generation=1))
    above, heading, *_ = rows(found, width=120)
    assert above.strip() == "where it occurred"
    assert len(above) == heading.index("p95") + len("p95")


def test_no_row_is_wider_than_the_paper():
    found = group(call(process_startup=68, generation=1.9, retrieval=1), call(generation=5000))
    for width in (40, 44, 45, 46, 65, 66, 80, 100, 107, 108, 120, 200):
        assert max(map(len, rows(found, width=width))) <= width


def test_a_narrow_paper_has_no_bars():
    for unicode in (True, False):
        found = table(group(call(generation=1)), Paper(width=40, unicode=unicode))
        assert all(line[-1][0] == "" for line in found[1:])


def test_calls_without_any_time_have_no_shares():
    assert all("%" not in row for row in rows(group(call())))
