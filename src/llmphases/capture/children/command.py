"""A command that is to be run, and what came of it."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

from llmphases.calls import Call, ProcessUse
from llmphases.capture.blocks import describe
from llmphases.capture.children.environment import Environment
from llmphases.capture.children.tap.contract import View
from llmphases.errors import ArgumentError, ConfigurationError
from llmphases.recorder.recorder import Description

Word = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Text = TypeVar("Text", str, bytes)


class CommandOptions(TypedDict, total=False):
    """What `run_command`, `stream_command` and their async twins may be told."""

    input: str | bytes | None
    """What the child reads on its stdin, text as UTF-8; without it stdin is closed."""
    timeout: float | None
    """Seconds after which the child is ended and `subprocess.TimeoutExpired` raised."""
    grace: float
    """Seconds between asking a child to end and killing it; default 2."""
    check: bool
    """Whether an exit code that is not 0 raises `subprocess.CalledProcessError`."""
    name: str | None
    """The name of the call; default: that of the program. Counts only outside a traced call."""
    model: str | None
    """The model that is asked for; likewise."""
    provider: str | None
    """Whose it is; likewise."""
    format: str | None
    """What the output is read as, e.g. `claude-stream-json`; default: told by the command."""
    cwd: str | bytes | os.PathLike[str] | os.PathLike[bytes] | None
    env: Environment | None
    """The child's environment; default: a copy of our own. Where in the trace it is, is added."""
    inherit_otel: bool
    """False: our own `OTEL_*` variables are not among those it inherits; default True."""
    encoding: str
    """Of the text that comes out, whatever the locale is; default UTF-8. What is none of it
    becomes U+FFFD, and line ends stay as they are."""
    kill_survivors: bool
    """True: kill the descendants that were seen and still run when the child is gone."""
    tap: bool
    """True: a proxy on this machine stands between the child and its model, which tells start-up
    from the reading of the prompt (docs/tap.md). Needs the extra `cli`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The same, checked."""

    argv: Sequence[Word]
    what: Description
    executable: str
    given: bytes | None = None
    timeout: float | None = None
    timeout_ns: int | None = None
    grace_ns: int = 2_000_000_000
    check: bool = False
    format: str | None = None
    cwd: Any = None
    env: Environment | None = None
    inherit_otel: bool = True
    encoding: str = "utf-8"
    text: bool = True
    kill_survivors: bool = False
    tap: bool = False

    def decoded(self, data: bytes) -> str | bytes:
        """Output as whoever asked for it wants it."""
        return data.decode(self.encoding, "replace") if self.text else data


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult(Generic[Text]):
    """What came of a command."""

    stdout: Text
    stderr: Text
    returncode: int
    """The exit code; negative for the signal that ended it."""
    call: Call | None
    """What happened; None where it was part of a call that is still open, or tracing is off."""
    process: ProcessUse | None
    """What the child and its descendants have used, survivors included; None if tracing is off."""
    tap: View | None = None
    """With `tap=True`: what could be seen, `requests`, only `bytes`, or `nothing`."""


_PLAIN = ("check", "format", "cwd", "env", "inherit_otel", "kill_survivors", "tap", "timeout")


def command_of(
    who: str, argv: Sequence[Word], options: Mapping[str, Any], *, text: bool
) -> Command:
    """A command, checked; raises `ArgumentError`."""
    unknown = options.keys() - CommandOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(sorted(CommandOptions.__annotations__))
        raise ArgumentError(f"{who}: no option {min(unknown)!r}; there are: {known}")
    words = _words(who, argv)
    if options.get("tap"):
        _require_h11(who)
    executable = Path(os.fsdecode(words[0])).name or os.fsdecode(words[0])
    encoding = options.get("encoding", "utf-8")
    return Command(
        argv=words,
        what=describe(
            who, options.get("name") or executable, options.get("model"), options.get("provider"),
            "chat",
        ),
        executable=executable,
        given=_given(who, options.get("input")),
        timeout_ns=_ns(who, "timeout", options.get("timeout")),
        grace_ns=_ns(who, "grace", options.get("grace", 2.0)) or 0,
        encoding=_encoding(who, encoding),
        text=text,
        **{name: options[name] for name in _PLAIN if name in options},
    )  # fmt: skip


def _words(who: str, argv: Sequence[Word]) -> Sequence[Word]:
    if isinstance(argv, (str, bytes, os.PathLike)):
        raise ArgumentError(
            f"{who}: a command is a list of words, the program first, as in "
            f'{who}(["llm", "a prompt"]); for a line of the shell say ["sh", "-c", line]'
        )
    words = list(argv)
    if not words or not all(isinstance(word, (str, bytes, os.PathLike)) for word in words):
        raise ArgumentError(f"{who}: expected a list of words (text or paths), the program first")
    return words


def _require_h11(who: str) -> None:
    try:
        importlib.import_module("h11")
    except (AttributeError, ImportError) as error:  # the former, of one that is half installed
        raise ConfigurationError(
            f"{who}: tap=True needs the package h11, which cannot be loaded ({error}): "
            "pip install 'llmphases[cli]', or --force-reinstall h11 if it is there"
        ) from error


def _given(who: str, given: object) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, str):
        return given.encode("utf-8", "surrogateescape")
    if isinstance(given, (bytearray, memoryview)):
        return bytes(given)
    raise ArgumentError(f"{who}: input is a {type(given).__name__}; expected text or bytes")


def _ns(who: str, name: str, seconds: object) -> int | None:
    if seconds is None:
        return None
    if isinstance(seconds, (int, float)) and math.isfinite(seconds):
        return max(0, round(seconds * 1e9))
    raise ArgumentError(f"{who}: {name}={seconds!r}; expected seconds")


def _encoding(who: str, encoding: str) -> str:
    try:
        " ".encode(encoding)  # of an empty text nobody looks at the encoding
    except LookupError:
        raise ArgumentError(f"{who}: encoding={encoding!r}; expected one like 'utf-8'") from None
    return encoding
