"""What the OpenTelemetry SDK refuses while it is set up, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from traceback import walk_tb

from llmphases.errors import ConfigurationError

_INCOMPLETE = (AttributeError, ImportError)
"""What a package raises of which a part is missing, or is of another version."""
_REFUSALS = (LookupError, OSError, RuntimeError, StopIteration, TypeError, ValueError)
_AGAIN = "pip install --force-reinstall opentelemetry-sdk opentelemetry-exporter-otlp"


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
    except _INCOMPLETE as error:
        raise ConfigurationError(
            f"OpenTelemetry cannot be set up: {_said(error)} (in {_package(error)}). A package is "
            f"missing or half installed: {_AGAIN}"
        ) from error
    except _REFUSALS as error:
        names = ", ".join(sorted(name for name in environment if name.startswith("OTEL_")))
        raise ConfigurationError(
            f"OpenTelemetry cannot be set up: {_said(error)}. Correct or unset the variable that "
            f"this is about, among those that are set: {names or 'none'}"
        ) from error


def _said(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _package(error: Exception) -> str:
    """The package whose code could not go on."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    name = str(frames[-1].f_globals.get("__name__", "?")) if frames else "?"
    return name if name.startswith("opentelemetry.") else name.partition(".")[0]
