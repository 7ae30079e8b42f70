"""When the first and the last text came that a person would see, from bytes as they arrive.

Colours, titles, cursor movements, control characters and the frames of a spinner are no text. What
is overwritten before the line ends (by a carriage return, a backspace, an erased line) is only if
it had a letter or a digit in it.
"""

from __future__ import annotations

import codecs
import re

_MUCH = 4096
"""More bytes at once than any spinner or progress bar writes."""
_NO_SIGNS = bytes([*range(0x21), 0x7F])
_ESCAPE = b"\x1b"
_LONGEST_SEQUENCE = 4096
"""What is longer than this is no control sequence that was cut in two."""

_SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*([@-~])"  # of which the last letter says what it does
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|[PX^_][^\x1b]*\x1b\\"
    r"|[ -/]*[0-OQ-WYZ`-~]"
    r")"
)
_CUT_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)\Z"
)
_UNSEEN = re.compile(
    rb"(?:[\x00-\x1a\x1c-\x20\x7f]++"
    rb"|\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)|[PX^_][^\x1b]*+\x1b\\"
    rb"|[ -/]*+[0-OQ-WYZ`-~])"
    rb")*+"
)
"""Control sequences, as above, and what has no sign in it: as far as that goes."""
_COLOUR = "m"
_LETTER = re.compile(r"[^\W_]")
_SIGN = re.compile(
    # Not: blanks and controls, zero-width marks, and what spinners and progress bars are made of.
    r"[^\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2060\ufeff\u2580-\u25ff\u2800-\u28ff]"
)
_OVERWRITES = re.compile(r"[\r\x08]")


class PrintableText:
    """Stamps of the first and last printed text of one stream; constant memory."""

    __slots__ = ("_decode", "_held", "_is_waiting", "_rest", "_waiting_ns", "first_ns", "is_seen",
                 "last_ns")  # fmt: skip

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._is_waiting = False
        self._waiting_ns: int | None = None
        self._held: int | None = None
        self.is_seen = False
        """Whether there was any text."""
        self.first_ns: int | None = None
        """When the first of it arrived; None if that is not known."""
        self.last_ns: int | None = None

    def feed(self, data: bytes, at_ns: int | None) -> None:
        """These bytes have arrived; `at_ns` is None where nobody knows when."""
        if len(data) > _MUCH:
            self._feed_much(data, at_ns)
            return
        text = self._rest + self._decode(data)
        self._rest = ""
        if "\x1b" in text:
            text = _SEQUENCE.sub(_as_movement, text)
            self._keep_cut(text)
        elif text.endswith("\r"):
            self._rest = "\r"
        if self._rest:
            text = text[: -len(self._rest)]
        self._see(text, at_ns)

    def _feed_much(self, data: bytes, at_ns: int | None) -> None:
        """A program that writes gigabytes, of whatever it is, is not to wait for us."""
        rest, self._rest = self._rest, ""
        if _has_sign(rest.encode() + data if rest else data):
            self._count(self._waiting_ns if self._is_waiting else at_ns, at_ns)
            self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._keep_cut(data[-_LONGEST_SEQUENCE:].decode("latin-1"))

    def end(self) -> None:
        """No more will come: what was not overwritten by now stays."""
        if self._is_waiting:
            self._count(self._waiting_ns, self._held)

    def _keep_cut(self, text: str) -> None:
        cut = _CUT_SEQUENCE.search(text, max(0, len(text) - _LONGEST_SEQUENCE))
        if cut is not None:
            self._rest = cut.group()
        elif text.endswith("\r"):
            self._rest = "\r"

    def _see(self, text: str, at_ns: int | None) -> None:
        letter = _LETTER.search(text)
        self._see_signs(text if letter is None else text[: letter.start()], at_ns)
        if letter is not None:
            self._count(self._waiting_ns if self._is_waiting else at_ns, at_ns)

    def _see_signs(self, text: str, at_ns: int | None) -> None:
        """Text without letters: a line of it counts when it ends, if it is not overwritten."""
        if not text:
            return
        lines = text.replace("\r\n", "\n").split("\n")
        for i, line in enumerate(lines):
            *overwritten, left = _OVERWRITES.split(line)
            if overwritten:
                self._is_waiting = False
            if _SIGN.search(left):
                if not self._is_waiting:
                    self._is_waiting, self._waiting_ns = True, at_ns
                self._held = at_ns
            if i < len(lines) - 1 and self._is_waiting:
                self._count(self._waiting_ns, self._held)

    def _count(self, first_ns: int | None, last_ns: int | None) -> None:
        if not self.is_seen:
            self.is_seen, self.first_ns = True, first_ns
        self.last_ns = last_ns
        self._is_waiting = False


def _has_sign(data: bytes) -> bool:
    """Whether there is anything outside of control sequences; one that is cut off is none."""
    if _ESCAPE not in data:
        return bool(data[:64].translate(None, _NO_SIGNS) or data.translate(None, _NO_SIGNS))
    unseen = _UNSEEN.match(data)
    at = unseen.end() if unseen is not None else 0
    if at == len(data):
        return False
    is_cut = len(data) - at <= _LONGEST_SEQUENCE
    return not (is_cut and _CUT_SEQUENCE.match(data[at:].decode("latin-1")))


def _as_movement(sequence: re.Match[str]) -> str:
    """A colour changes nothing; moving the cursor or erasing is as good as a carriage return."""
    kind = sequence[1]
    return "" if kind is None or kind == _COLOUR else "\r"
