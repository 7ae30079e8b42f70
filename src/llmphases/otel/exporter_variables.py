"""The standard variables that OTLP exporters read by themselves, checked before they do.

Left alone, an exporter answers a wrong one by an exception of its own or by a line with the wrong
value in it, which for headers is a key; or not at all, and nothing ever arrives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from re import compile as pattern

from llmphases.errors import ConfigurationError

HEADER_NAME = pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_COMPRESSIONS = {"http/protobuf": ("none", "gzip", "deflate"), "grpc": ("gzip",)}
_FILES = ("CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE")


def check(signal: str, protocol: str, environment: Mapping[str, str]) -> None:
    """Raises `ConfigurationError` for a value that the exporter of this signal cannot use."""
    for setting, is_possible, expected in (
        ("TIMEOUT", _is_time, "seconds, more than 0"),
        ("COMPRESSION", _is_among(_COMPRESSIONS[protocol]), _listed(_COMPRESSIONS[protocol])),
        *((file, _is_file, "a file that is there") for file in _FILES),
    ):
        name, value = _said(setting, signal, environment)
        if value and not is_possible(value):
            raise ConfigurationError(
                f"{name}={value!r} is not possible; expected {expected}, or unset it"
            )
    name, value = _said("HEADERS", signal, environment)
    if not all(map(_is_header, filter(None, map(str.strip, value.split(","))))):
        raise ConfigurationError(
            f"{name} is no list of headers; expected name=value, name=value, or unset it (what it "
            "says is not shown here)"
        )


def _said(setting: str, signal: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The variable that counts, and its value: the signal's own before the common one."""
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_{setting}"
    common = f"OTEL_EXPORTER_OTLP_{setting}"
    name = own if environment.get(own) else common
    return name, environment.get(name, "").strip()


def _is_time(value: str) -> bool:
    try:
        seconds = float(value)
    except ValueError:
        return False
    return math.isfinite(seconds) and seconds > 0


def _is_among(choice: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda value: value.lower() in choice


def _listed(choice: tuple[str, ...]) -> str:
    return " or ".join(map(repr, choice))


def _is_file(value: str) -> bool:
    return Path(value).is_file()


def _is_header(piece: str) -> bool:
    name, separator, _ = piece.partition("=")
    return bool(separator) and HEADER_NAME.fullmatch(name.strip()) is not None
