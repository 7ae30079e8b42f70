"""Frozen records as plain JSON values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

_PLAIN = {"str": str, "int": int, "bool": bool}


def plain(value: Any) -> Any:
    """What `json.dumps` can write; fields that say nothing are left out."""
    if is_dataclass(value):
        pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {name: plain(v) for name, v in pairs if v is not None and v != ()}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    return value


def record(kind: type[Any], raw: Mapping[str, Any], **converters: Any) -> Any:
    """The record that `plain` made `raw` of; other keys are ignored.

    Raises `TypeError` if a field that has no converter is not of its type.
    """
    given = {}
    for f in fields(kind):
        if f.name not in raw:
            continue
        value = raw[f.name]
        if f.name in converters:
            value = converters[f.name](value)
        elif type(value) is not _PLAIN.get(str(f.type).removesuffix(" | None"), dict):
            raise TypeError(f"{f.name} is {value!r}, expected {f.type}")
        given[f.name] = value
    return kind(**given)
