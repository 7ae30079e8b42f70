"""What a program may put on a span: a few scalar kinds, without secrets, of bounded size."""

from __future__ import annotations

import enum
import os
import re
from typing import Any

from llmphases.calls import AttributeValue, Scalar

MAX_LENGTH = 4096
"""Characters kept of a text: a span is no place for a prompt."""

MAX_ITEMS = 128
"""Items kept of a list."""

_URL = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^/?#@\s]*@)?([^?#\s]*)(?:[?#]\S*)?")
_SECRET = re.compile(
    r"\b(?:(?:sk|gsk|pk|rk|xai)[-_]|AIza|hf_|gh[opsu]_|github_pat_|xox[abprs]-)[A-Za-z0-9_-]{6,}"
    r"|\b(?:[Bb]earer|[Bb]asic)\s+\S{6,}"
)
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1


def clean_value(value: Any) -> AttributeValue | None:
    """The attribute value for something a program gave; None if it is of no kind we document.

    Kept: str, bool, int (64 bits), float; an Enum by its value; Decimal as float; dates as ISO
    text; paths as text; NumPy scalars by `item()`; lists and tuples of one of these kinds, up to
    `MAX_ITEMS`.
    Addresses lose user, query and fragment; what looks like an API key is masked.
    """
    if isinstance(value, (list, tuple)):
        return _clean_sequence(value)
    return _clean_scalar(value)


def _clean_scalar(value: Any) -> Scalar | None:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        return clean_text(str.__str__(value))  # whatever a subclass has made of it
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        return int(value) if _INT_MIN <= value <= _INT_MAX else None
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return clean_text(path) if isinstance(path, str) else None
    return _clean_by_module(value)


def _clean_by_module(value: Any) -> Scalar | None:
    """Kinds told by their module's name: importing those modules takes longer than all of ours."""
    module = type(value).__module__
    if module in {"decimal", "_decimal", "_pydecimal"} and hasattr(value, "as_tuple"):
        return float(value)
    if module == "datetime" and hasattr(value, "isoformat"):
        return clean_text(value.isoformat())
    if module == "numpy" and getattr(value, "ndim", 1) == 0:
        return _clean_scalar(value.item())
    return None


def _clean_sequence(values: list[Any] | tuple[Any, ...]) -> AttributeValue | None:
    cleaned = [_clean_scalar(v) for v in values[:MAX_ITEMS]]
    kinds = {type(v) for v in cleaned}
    if len(kinds) != 1 or None in cleaned:
        return None
    return tuple(cleaned)  # type: ignore[return-value]  # all of one kind, checked above


def clean_text(text: str) -> str:
    """A text without credentials, of at most `MAX_LENGTH` characters."""
    # Somewhat more than is kept: a secret that the cut goes through is still seen whole.
    text = text[: MAX_LENGTH + 1024]
    text = _SECRET.sub("***", _URL.sub(r"\1\2", text))
    return text[:MAX_LENGTH].encode("utf-8", "replace").decode("utf-8")
