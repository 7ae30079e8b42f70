"""What the set-up of llmphases raises; nothing of this is ever raised inside a traced call."""

from __future__ import annotations


class LlmphasesError(Exception):
    """Base class. The message says what was given, what was expected, and what to do."""


class ArgumentError(LlmphasesError, TypeError):
    """A decorator, a block or a mark was given an argument it cannot use."""


class ConfigurationError(LlmphasesError, ValueError):
    """`configure()` or an environment variable asks for something impossible."""


class UnreadableSourceError(LlmphasesError, OSError):
    """A file of traces cannot be opened or read."""


class RecordError(LlmphasesError, ValueError):
    """A text that should hold a `Call` does not."""
