"""How a command ends: its exit status, and the error that leads to the second."""

from llmphases.errors import LlmphasesError

OK = 0
FOUND = 1
"""All went well, and there is something to see to: a budget is exceeded, a check failed."""
UNUSABLE = 2
"""Wrong usage, or a source that cannot be read."""
INTERRUPTED = 130
"""Control-C, as shells count it."""


class OutputError(LlmphasesError, OSError):
    """What a command has to say cannot be written."""


class UsageError(LlmphasesError, ValueError):
    """A command was asked for something that it cannot do; the message is for a person."""
