"""The arguments of `configure`, checked one by one: what is wrong is said where it was given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from llmphases.errors import ConfigurationError
from llmphases.otel.destinations import Asked

_LONGEST_DEADLINE_S = 3600
_TEXTS = {
    "endpoint": "an address such as 'http://localhost:4318'",
    "protocol": "'http/protobuf' or 'grpc'",
    "service_name": "a name for this program",
    "metrics_endpoint": "an address such as 'http://localhost:9090/api/v1/otlp/v1/metrics'",
}
_SWITCHES = {"traces": (True, False), "metrics": (True, False, None), "sigterm": (True, False)}


def checked(given: Mapping[str, Any], providers: tuple[Any, Any]) -> Asked:
    """What was given, by the names of the fields of `Asked`; what is missing has its default.

    Raises `ConfigurationError` for values of another kind.
    """
    for name, expected in _TEXTS.items():
        if given.get(name) is not None and not isinstance(given[name], str):
            raise _refused(name, given[name], f"{expected}, or leave it out")
    for name, choice in _SWITCHES.items():
        if name in given and not any(given[name] is one for one in choice):
            raise _refused(name, given[name], "True or False, or leave it out")
    checks = {"headers": _headers, "file": _file, "exit_deadline_s": _deadline}
    checked = {name: check(given[name]) for name, check in checks.items() if name in given}
    return Asked(
        **{**given, **checked}, providers=(_identity(providers[0]), _identity(providers[1]))
    )


def _refused(name: str, value: object, expected: str) -> ConfigurationError:
    return ConfigurationError(f"{name}={value!r} is not possible; expected {expected}")


def _file(given: Any) -> str | None:
    try:
        path = None if given is None else os.fspath(given)
    except TypeError:
        path = b""
    if isinstance(path, bytes):
        raise _refused("file", given, "the path of a file, or leave it out")
    return path


def _deadline(given: Any) -> float:
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not is_number or not 0 <= given <= _LONGEST_DEADLINE_S:
        raise _refused("exit_deadline_s", given, f"seconds, from 0 to {_LONGEST_DEADLINE_S}")
    return float(given)


def _headers(given: Any) -> tuple[tuple[str, str], ...]:
    """Pairs of texts; what is wrong is shown without the values: they are keys, as a rule."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"headers is a {type(given).__name__}; expected names and values, such as "
            "headers={'x-api-key': key}"
        )
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ConfigurationError(
                f"headers: the value of {name!r} is a {type(value).__name__}; expected names and "
                "values that are texts, such as headers={'x-api-key': key} (is a variable unset?)"
            )
    return tuple(sorted(given.items()))


def _identity(provider: Any) -> int | None:
    return None if provider is None else id(provider)
