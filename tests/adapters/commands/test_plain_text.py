from __future__ import annotations

from llmphases.adapters.commands.plain_text import PLAIN_TEXT, STREAMED_TEXT
from llmphases.adapters.commands.registry import format_for


def test_any_program_prints_text():
    assert format_for(["aichat", "hi"]) is PLAIN_TEXT
    assert PLAIN_TEXT.is_text
    assert not PLAIN_TEXT.streams


def test_a_program_of_ones_own_can_be_said_to_stream():
    assert format_for(["mine"], "streamed-text") is STREAMED_TEXT
    assert STREAMED_TEXT.streams
    assert not STREAMED_TEXT.matches(["mine"])
