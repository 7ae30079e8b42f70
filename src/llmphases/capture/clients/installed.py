"""Which client libraries are installed, and in which version: from the names of folders.

`importlib.metadata` says it too, but takes longer to load than all of ours; it is asked where
the names do not tell.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from typing import Final

_INFO: Final = ".dist-info"


def is_there(package: str) -> bool:
    """Whether a package can be imported; it is not imported for that."""
    if package in sys.modules:
        return True
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


class Versions:
    """What is installed now: each folder is looked at once."""

    def __init__(self) -> None:
        self._found: dict[str, str] | None = None

    def of(self, distribution: str) -> tuple[int, ...] | None:
        """The leading numbers of a version; None where nobody can tell."""
        if self._found is None:
            self._found = _named()
        text = self._found.get(_plain(distribution)) or _from_metadata(distribution)
        return None if text is None else tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def _plain(distribution: str) -> str:
    return re.sub(r"[-_.]+", "_", distribution).lower()


def _named() -> dict[str, str]:
    """Versions by distribution; what comes first on the path is what is imported."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208  # names are all that is wanted
        except OSError:  # not there, or an archive
            continue
        for name in names:
            if name.endswith(_INFO):
                distribution, _, version = name.removesuffix(_INFO).partition("-")
                found.setdefault(_plain(distribution), version)
    return found


def _from_metadata(distribution: str) -> str | None:
    from importlib import metadata  # noqa: PLC0415  # takes as long as all of ours

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
