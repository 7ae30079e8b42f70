"""What of a program's output a person would see, and when the first and last of it came."""

import pytest

from llmphases.capture.children.printable import PrintableText


def stamps(*pieces):
    """(first, last) of pieces that arrive at 1, 2, 3 ..."""
    text = PrintableText()
    for at, piece in enumerate(pieces, 1):
        text.feed(piece if isinstance(piece, bytes) else piece.encode(), at)
    text.end()
    return (text.first_ns, text.last_ns) if text.is_seen else None


def test_the_first_and_the_last_letter_count():
    assert stamps("\n ", "Hello", " there", ".", "\n") == (2, 4)


def test_a_sign_is_text_as_soon_as_its_line_is_over_or_goes_on():
    assert stamps("(", "-", "\n") == (1, 2)
    assert stamps("#", " ", "Title") == (1, 3)


def test_a_sign_is_text_at_the_end_of_all():
    assert stamps("?") == (1, 1)


@pytest.mark.parametrize("frames", ["|/-\\", "⠋⠙⠹", "◐◓◑"])
def test_the_frames_of_a_spinner_are_no_text(frames):
    """RC-071"""
    pieces = [f"\r{frame}" for frame in frames]
    assert stamps(*pieces, "\r", "Hello") == (len(pieces) + 2,) * 2


def test_a_progress_line_with_words_is_text():
    """RC-071: updates by carriage return do not count unless they carry text."""
    assert stamps("\rLoading 10 %", "\rLoading 20 %") == (1, 2)


def test_backspaces_and_erased_lines_overwrite_as_well():
    assert stamps("|", "\b/", "\b-", "\x1b[2K", "Hi") == (5, 5)


def test_a_line_feed_after_a_carriage_return_overwrites_nothing():
    assert stamps("!", "\r\n", " ") == (1, 1)
    assert stamps("!", "\r", "\n") == (1, 1)


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[0m", "\x1b[38;5;12m", "\x1b[?25l", "\x1b[?2026h", "\x1b[>4;2m", "\x1b]0;a title\x07",
        "\x1b]8;;http://x\x1b\\", "\x1b(B", "\x1b7", "\x1b=", "\x1bP1$tq\x1b\\", "\x07", "\x00",
        "\u200b", "\ufeff",
    ],
)  # fmt: skip
def test_what_a_terminal_takes_for_itself_is_no_text(sequence):
    assert stamps(sequence) is None
    assert stamps(sequence, "x", sequence) == (2, 2)


@pytest.mark.parametrize("at", range(1, 10))
def test_a_control_sequence_may_be_cut_anywhere(at):
    sequence = "\x1b]0;title\x07\x1b[31m"
    assert stamps(sequence[:at], sequence[at:], "x") == (3, 3)


def test_a_character_that_is_cut_in_three_is_one_character():
    """RC-070: it is there with its last byte."""
    assert stamps(*(bytes([byte]) for byte in "ä".encode()), " ") == (2, 2)
    assert stamps(*(bytes([byte]) for byte in "漢".encode())) == (3, 3)


def test_bytes_that_are_no_text_in_any_encoding_do_not_stop_it():
    assert stamps(b"\xff\xfe", b"ok", b"\xe2\x82") == (1, 2)


def test_nothing_is_nothing():
    assert stamps() is None
    assert stamps("", "\n\n", "\t") is None


def test_a_sequence_that_never_ends_takes_no_memory():
    text = PrintableText()
    for at in range(100):
        text.feed(b"\x1b]0;" + b"x" * 10_000, at)
    assert len(text._rest) < 5000


def test_text_that_nobody_saw_arrive_has_no_stamp():
    text = PrintableText()
    text.feed(b"Hello", None)
    text.feed(b"there", 7)
    assert (text.is_seen, text.first_ns, text.last_ns) == (True, None, 7)
