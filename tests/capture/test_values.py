"""What becomes an attribute of a span, and what does not."""

from __future__ import annotations

import datetime
import decimal
import enum
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases import llm_call
from llmphases.capture.values import MAX_ITEMS, MAX_LENGTH, clean_text, clean_value


class Colour(enum.Enum):
    RED = "red"
    ODD = object()


class Shouting(str):
    __slots__ = ()

    def __str__(self):
        return "SECRET"


class Secretive:
    def __str__(self):
        return "SECRET"

    __repr__ = __str__


KEPT = [
    ("text", "text"),
    (True, True),
    (5, 5),
    (1.5, 1.5),
    (Colour.RED, "red"),
    (decimal.Decimal("1.5"), 1.5),
    (datetime.datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
    (datetime.date(2026, 1, 2), "2026-01-02"),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    ([1, 2], (1, 2)),
    (("a", "b"), ("a", "b")),
    (Shouting("quiet"), "quiet"),
]
DROPPED = [
    None, object(), {"a": 1}, {1}, [], [1, "a"], [None], [[1]], b"bytes", 1 << 63, 1j,
    Colour.ODD, Secretive(), lambda: 1, Exception("SECRET"), range(3),
]  # fmt: skip


@pytest.mark.parametrize(("given_value", "kept"), KEPT, ids=lambda value: type(value).__name__)
def test_scalars_and_lists_of_one_kind_are_kept(given_value, kept):
    """RC-052"""
    cleaned = clean_value(given_value)
    assert cleaned == kept
    assert type(cleaned) is type(kept)


@pytest.mark.parametrize("value", DROPPED, ids=lambda value: type(value).__name__)
def test_anything_else_is_absent(exported, caplog, value):
    """RC-052: absent, and not the text None; nobody is asked for a text of itself."""
    assert clean_value(value) is None
    with llm_call("call") as call:
        call.set_attribute("key", value)
    assert "key" not in exported.one("call").attributes
    assert [r for r in caplog.records if r.name.startswith("opentelemetry")] == []


def test_numpy_scalars_are_plain_numbers():
    """RC-052"""
    numpy = pytest.importorskip("numpy")
    for value, plain in ((numpy.float64(1.5), 1.5), (numpy.int32(3), 3), (numpy.bool_(True), True)):
        assert type(clean_value(value)) is type(plain)
        assert clean_value(value) == plain
    assert clean_value(numpy.float32(0.5)) == 0.5
    assert clean_value(numpy.array([1, 2])) is None


ADDRESSES = [
    ("https://u:p@h/x?key=AIzaSECRET&alt=sse#f", "https://h/x"),
    ("https://h/x?key=SECRET", "https://h/x"),
    ("https://SECRET@h", "https://h"),
    ("https://h/x#SECRET", "https://h/x"),
    ("postgresql+psycopg://u:SECRET@db:5432/x", "postgresql+psycopg://db:5432/x"),
    ("GET https://u:SECRET@h/x?key=SECRET failed", "GET https://h/x failed"),
    ("https://h/x", "https://h/x"),
    ("no address?", "no address?"),
]


@pytest.mark.parametrize(("address", "kept"), ADDRESSES)
def test_addresses_lose_user_query_and_fragment(address, kept):
    """RC-059"""
    assert clean_value(address) == kept
    assert clean_value([address]) == (kept,)


@pytest.mark.parametrize(
    "secret",
    ["sk-live-SECRET", "sk-proj-SECRETSECRET", "gsk_SECRETSECRET", "AIzaSECRETSECRET",
     "Bearer SECRET", "bearer SECRET", "hf_SECRETSECRET", "ghp_SECRETSECRET",
     "xoxb-SECRET-SECRET"],
)  # fmt: skip
def test_what_looks_like_a_key_is_masked(secret):
    """RC-061"""
    for text in (secret, f"key: {secret}", f"({secret})"):
        assert "SECRET" not in clean_text(text)
        assert "***" in clean_text(text)


def test_long_texts_and_lists_are_cut():
    """RC-053"""
    assert len(clean_value("x" * 10**6)) == MAX_LENGTH
    assert len(clean_value(["x"] * 10**4)) == MAX_ITEMS
    assert "SECRET" not in clean_text("x" * (MAX_LENGTH - 8) + " sk-SECRETSECRET")


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_can_be_encoded(text):
    clean_text(text).encode("utf-8")
