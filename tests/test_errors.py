"""What set-up raises can be caught as one of ours, or as what Python calls it."""

from __future__ import annotations

import pytest

from llmphases import errors
from llmphases.errors import (
    ArgumentError,
    ConfigurationError,
    LlmphasesError,
    RecordError,
    UnreadableSourceError,
)

OURS = [kind for kind in vars(errors).values() if isinstance(kind, type)]


@pytest.mark.parametrize("kind", OURS)
def test_every_error_is_one_of_ours_and_says_what_it_means(kind):
    assert issubclass(kind, LlmphasesError)
    assert kind.__doc__
    assert str(kind("what was given")) == "what was given"


@pytest.mark.parametrize(
    ("kind", "python"),
    [
        (ArgumentError, TypeError),
        (ConfigurationError, ValueError),
        (RecordError, ValueError),
        (UnreadableSourceError, OSError),
    ],
)
def test_every_error_is_also_the_usual_one_of_its_kind(kind, python):
    assert issubclass(kind, python)
