r"""A stand-in for a command-line tool that asks a model, with stated delays.

printf 'intro\ntitle\n' | python -m llmphases.fake_cli --prompt-s 2

It starts, reads its prompt, and then gives an answer to each line of it, word by word. It only
sleeps, so many of them fit on a small machine. For demonstrations, and to try out what is told of
a command. It imports nothing of the package: as a file it starts as fast as Python does.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Iterator, Sequence

MODEL = "stand-in"
TEXT = "text"
STREAM_JSON = "stream-json"
_A_DAY_S = 86_400.0


def main(argv: Sequence[str] | None = None) -> int:
    """Answer one prompt (of `sys.argv` or stdin by default); gives the exit status."""
    asked = _arguments(argv)
    _sleep(asked.startup_s)
    is_text = asked.output_format == TEXT
    if not is_text:
        _say(type="system", subtype="init", model=MODEL)
    prompt = sys.stdin.read() if asked.prompt is None else asked.prompt
    _sleep(asked.prompt_s)
    pieces = 0
    for piece in _pieces(prompt.splitlines(), asked.per_line_s):
        pieces += 1
        if is_text:
            _write(piece)
        else:
            delta = {"type": "text_delta", "text": piece}
            _say(type="stream_event", event={"type": "content_block_delta", "delta": delta})
    if not is_text:
        usage = {"input_tokens": len(prompt.split()), "output_tokens": pieces}
        _say(type="result", subtype="success", usage=usage)
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m llmphases.fake_cli",
        description="Answers each line of a prompt, after stated delays. There is no model.",
    )
    parser.add_argument("prompt", nargs="?", help="what to answer; default: what stdin says")
    parser.add_argument(
        "--output-format",
        choices=[TEXT, STREAM_JSON],
        default=TEXT,
        help="plain lines, or events as Claude Code prints them (default: %(default)s)",
    )
    for option, default, meaning in (
        ("--startup-s", 0.3, "until it is ready"),
        ("--prompt-s", 0.7, "from then to the first word of its answer"),
        ("--per-line-s", 0.1, "for each line of the answer"),
    ):
        text = f"seconds {meaning} (default: %(default)s)"
        parser.add_argument(option, type=_seconds, default=default, metavar="S", help=text)
    return parser.parse_args(argv)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _A_DAY_S:
        raise argparse.ArgumentTypeError(f"{text!r}; expected seconds, such as 0.5")
    return seconds


def _pieces(lines: Sequence[str], per_line_s: float) -> Iterator[str]:
    """Word by word an answer to each line, the first at once, the others at an even pace."""
    for number, line in enumerate(lines):
        words = f"{line}: box {number * 7 % 60} {number * 5 % 80} 30 20".split()
        for word in words[:-1]:
            yield f"{word} "
            _sleep(per_line_s / len(words))
        yield f"{words[-1]}\n"
        if number < len(lines) - 1:
            _sleep(per_line_s / len(words))


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


def _say(**event: object) -> None:
    _write(f"{json.dumps(event)}\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    # As other tools end: at once, and without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
