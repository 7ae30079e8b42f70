"""What the OpenTelemetry SDK refuses while it is set up, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from llmphases.errors import ConfigurationError

_REFUSALS = (
    ImportError, LookupError, OSError, RuntimeError, StopIteration, TypeError, ValueError,
)  # fmt: skip


@contextmanager
def explained(environment: Mapping[str, str]) -> Iterator[None]:
    """Raises `ConfigurationError` instead of what the SDK raises at some value of a variable.

    There are dozens of those variables, and the exceptions are of any kind: from a `ValueError`
    that names the variable to a `StopIteration` that says nothing.
    """
    try:
        yield
    except ConfigurationError:
        raise
    except _REFUSALS as error:
        said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        names = ", ".join(sorted(name for name in environment if name.startswith("OTEL_")))
        raise ConfigurationError(
            f"OpenTelemetry cannot be set up: {said}. Correct or unset the variable that this is "
            f"about, among those that are set: {names or 'none'}"
        ) from error
