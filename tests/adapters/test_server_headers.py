"""Numbers in headers are kept as they are, whatever stands beside them."""

from __future__ import annotations

import pytest

from llmphases.adapters.server_headers import server_timing, times_in


@pytest.mark.parametrize(
    ("value", "metrics"),
    [
        ("cache;desc=hit;dur=2.5", [("cache", 2.5)]),
        ("a;dur=1, b;dur=2,c;dur=3;desc=x", [("a", 1.0), ("b", 2.0), ("c", 3.0)]),
        ('db;desc="one, two; three";dur=53', [("db", 53.0)]),
        (r'db;desc="a \" b, c;dur=9";dur=53', [("db", 53.0)]),
        ('a;DUR = "4"', [("a", 4.0)]),
        ("missed, total;dur=", []),
        ("a;dur=-1, b;dur=nan, c;dur=1e400, d;dur=1", [("d", 1.0)]),
        ('a;desc="never closed, b;dur=1', []),
        ("two words;dur=1, ;dur=2, =;dur=3", []),
        (",,;;", []),
        ("", []),
    ],
)
def test_the_durations_of_server_timing(value, metrics):
    assert list(server_timing(value)) == metrics


def test_known_headers_are_kept_under_their_names():
    times = times_in(
        [
            ("Content-Type", "text/event-stream"),
            ("OpenAI-Processing-MS", "143"),
            ("x-litellm-overhead-duration-ms", "1.25"),
            ("x-litellm-callback-duration-ms", "None"),
            ("fireworks-server-time-to-first-token", "0.25"),
            ("server-timing", "edge;dur=3, origin;dur=40"),
            ("Server-Timing", "late;dur=1"),
        ]
    )
    assert times.raw == {
        "openai-processing-ms": 143.0,
        "x-litellm-overhead-duration-ms": 1.25,
        "fireworks-server-time-to-first-token": 0.25,
        "server-timing.edge": 3.0,
        "server-timing.origin": 40.0,
        "server-timing.late": 1.0,
    }
    assert not times.has_durations


def test_the_queue_of_a_server_that_is_known_to_tell_it():
    tgi = [("x-queue-time", "12"), ("x-inference-time", "200"), ("x-time-per-token", "10")]
    assert times_in(tgi).queue_ns == 12_000_000
    assert times_in(tgi[:1]).queue_ns is None  # somebody else's
    assert times_in([("x-queue-time", "0"), *tgi[1:]]).queue_ns is None


@pytest.mark.parametrize("headers", [[], [("openai-processing-ms", "soon")], [("x", "1")]])
def test_headers_without_times_say_nothing(headers):
    assert times_in(headers) is None


def test_a_header_of_many_metrics_is_not_kept_as_a_whole():
    value = ", ".join(f"m{n};dur={n}" for n in range(1000))
    assert len(times_in([("server-timing", value)]).raw) == 16


@pytest.mark.parametrize("value", ['"' * 20_000, '";' * 20_000, "a;" * 20_000, "\\" * 20_000])
def test_odd_headers_take_no_time(value):
    assert times_in([("server-timing", value)]) is None
