"""What servers and proxies say of their own time in the headers of a response."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Final

from llmphases.calls import Scalar
from llmphases.observers import never_raises
from llmphases.recorder.reported import ReportedTimes

_MILLISECOND: Final = 1_000_000
_LONGEST: Final = 24
"""Characters of a number; more is something else."""
_LARGEST: Final = 1e12
"""What is larger in any unit is no time."""


_HEADERS: Final = frozenset(
    (
        # OpenAI; of a stream it covers the time to the headers only
        "openai-processing-ms",
        # TGI and LoRAX, of whole answers, in ms but for the compute time (s, or ms in the oldest);
        # `inference` is the reading of the prompt and the generation in one
        "x-queue-time", "x-inference-time", "x-compute-time", "x-total-time", "x-validation-time",
        "x-time-per-token",
        # LiteLLM's proxy
        "x-litellm-response-duration-ms", "x-litellm-overhead-duration-ms",
        "x-litellm-callback-duration-ms", "x-litellm-timing-pre-processing-ms",
        "x-litellm-timing-llm-api-ms", "x-litellm-timing-post-processing-ms",
        "x-litellm-timing-message-copy-ms", "x-litellm-attempted-retries",
        "x-litellm-attempted-fallbacks",
        # Fireworks; seconds by most accounts, milliseconds by one
        "fireworks-server-time-to-first-token", "fireworks-server-processing-time",
        # Envoy, in front of many servers
        "x-envoy-upstream-service-time",
    )
)  # fmt: skip
"""Headers that hold a number, which is kept as it is."""
_SERVER_TIMING: Final = "server-timing"
_NAME: Final = re.compile(r"[\w!#$%&'*+.^`|~-]{1,40}", re.ASCII)
_METRICS: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+')
_PARTS: Final = re.compile(r'(?:[^;"]|"(?:[^"\\]|\\.)*"?)+')
"""What stands between separators; those within quotes are none."""
_MOST: Final = 16
"""How many metrics of `Server-Timing` are kept."""


@never_raises
def times_in(headers: Iterable[tuple[str, str]]) -> ReportedTimes | None:
    """The times in the headers of a response; None if they say nothing of it."""
    raw: dict[str, Scalar] = {}
    for name, value in headers:
        key = name.lower()
        if key in _HEADERS and (number := _number(value)) is not None:
            raw[key] = number
        elif key == _SERVER_TIMING:
            for metric, ms in server_timing(value):
                if len(raw) < _MOST:
                    raw[f"{_SERVER_TIMING}.{metric}"] = ms
    return ReportedTimes(queue_ns=_queue_ns(raw), raw=raw) if raw else None


def _queue_ns(raw: Mapping[str, Scalar]) -> int | None:
    """The wait before the prompt is read, of a server that is known to tell it in milliseconds."""
    queue = raw.get("x-queue-time")
    if not isinstance(queue, float) or not queue or "x-inference-time" not in raw:
        return None
    return round(queue * _MILLISECOND)


def server_timing(value: str) -> Iterable[tuple[str, float]]:
    """The metrics of a `Server-Timing` header that have a duration, in milliseconds.

    `name;dur=2.5;desc="said, quoted", other;dur=3`: the parts come in any order and case.
    """
    for metric in _METRICS.findall(value):
        name, *parameters = [part.strip() for part in _PARTS.findall(metric)] or [""]
        for parameter in parameters:
            key, _, given = parameter.partition("=")
            ms = _number(given.strip().strip('"'))
            if key.strip().lower() == "dur" and ms is not None and _NAME.fullmatch(name):
                yield name, ms
                break


def _number(text: str) -> float | None:
    """A plain, finite number that is not negative; proxies write `None` for what they lack."""
    if len(text) > _LONGEST:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and 0 <= number <= _LARGEST else None
