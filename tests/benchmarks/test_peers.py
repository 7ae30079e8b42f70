"""What `make bench-peers` makes of what it has measured; nobody is installed or measured here."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "peers"
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


@pytest.fixture(scope="module")
def load():
    """The modules of the benchmark, by the names that they have for each other."""
    sys.path.insert(0, str(FOLDER))
    before = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    yield importlib.import_module
    sys.path.remove(str(FOLDER))
    for name in NAMES:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def rounds(*chunks):
    units = "call", "few", "chunk"
    return [{unit: {"thread": ns, "process": ns} for unit in units} for ns in chunks]


@pytest.fixture
def measured(load):
    def make(name, added, *, first_token=("it",), failed=None):
        peer = load("table").Peer(name, name)
        where = load("environments").Environment(peer, Path("python"), "1.0", "3.0")
        plain = (50_000, 90_000, 60_000)  # a machine that is now and then busy
        return load("measure").Measured(
            where, list(first_token), rounds(*plain), rounds(*(ns + added for ns in plain)), failed
        )

    return make


def test_what_is_added_is_told_round_by_round(measured):
    assert measured("one", 1500).added("chunk", "thread") == [1500, 1500, 1500]


def test_the_middle_is_where_half_of_them_lie(load):
    assert load("measure").middle([5.0, 1.0, 3.0, 2.0, 100.0]) == (3.0, 2.0, 5.0)
    assert load("measure").middle([7.0]) == (7.0, 7.0, 7.0)


def table_of(load, *found):
    return load("tables").as_markdown(list(found), (0.1, 0.2))


def test_who_adds_least_to_a_chunk_stands_first(load, measured):
    text = table_of(load, measured("much", 9000), measured("llmphases", 2000))
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert [row.split()[1] for row in rows] == ["llmphases", "much"]
    assert "| 9.0 | 9.0 to 9.0 | 9.0 | 4.5 x |" in rows[1]
    assert "All 1 others that record a first token add more to a chunk." in text


def test_who_adds_less_is_named(load, measured):
    text = table_of(load, measured("little", 1000), measured("llmphases", 2000))
    assert "these add less to a chunk: little." in text


def test_who_records_no_first_token_is_not_compared(load, measured):
    text = table_of(load, measured("blind", 1, first_token=()), measured("llmphases", 2000))
    assert "All 0 others" in text
    assert "| blind 1.0 (openai 3.0) | none |" in text


def test_who_could_not_be_measured_is_not_hidden(load, measured):
    broken = measured("broken", 1, failed="pip says no")
    text = table_of(load, broken, measured("llmphases", 2000))
    assert "Not measured: broken: pip says no" in text
    assert load("tables").as_json([broken], (0.1, 0.2))["rows"][0]["added"] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"gen_ai.response.time_to_first_chunk": 0.3', ["gen_ai.response.time_to_first_chunk"]),
        ("'name': 'new_token'", ["new_token"]),
        ("ttft=0.3", ["ttft"]),
        ("ttft=None, other=1", []),
        ('"completion_start_time": null', []),
        ("a_new_token_of_something", []),
    ],
)
def test_a_first_token_is_recorded_where_its_name_stands_with_a_value(load, text, expected):
    sink = load("sinks").Sink()
    sink.is_proving = True
    sink.take(lambda: text)
    assert sink.proof() == {"records": 1, "first_token": expected}


def test_texts_are_asked_for_only_to_prove(load):
    sink = load("sinks").Sink()
    sink.take(lambda: pytest.fail("it costs the peer nothing while it is measured"))
    assert sink.proof() == {"records": 1, "first_token": []}


def test_everybody_has_a_switch(load):
    switches = set(load("switches").SWITCHES)
    assert switches - {"plain"} == {peer.name for peer in load("table").PEERS}


@pytest.mark.parametrize("items", [1, 7])
def test_a_stream_has_so_many_chunks_with_text(load, items):
    body = load("server").stream(items).decode()
    assert body.count('"content": "word "') == items
    assert body.endswith("data: [DONE]\n\n")
    assert body.count("data: ") == items + 4
