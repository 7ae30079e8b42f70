"""What a command finds around it: its environment, its folder, and files that stand in for both."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of one command that is about to be run."""

    env: Mapping[str, str]
    folder: Path

    @property
    def home(self) -> Path | None:
        """The user's folder, as the command is told."""
        said = self.env.get("HOME") or self.env.get("USERPROFILE")
        return Path(said) if said else None

    def named_in_a_file(self, variable: str) -> bool:
        """Whether a `.env` that a command may read holds a variable, which ours would hide."""
        line = re.compile(rf"^\s*(?:export\s+)?{re.escape(variable)}\s*=", re.MULTILINE)
        return any(line.search(_text_of(path)) for path in self._env_files())

    def _env_files(self) -> Iterator[Path]:
        home = [] if self.home is None else [self.home]
        for folder in (self.folder, *self.folder.parents, *home):
            for inside in (".", ".gemini", ".qwen"):
                yield folder / inside / ".env"


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def json_of(path: Path) -> dict[str, Any]:
    """The settings in a file; empty if there is none, or it is no plain JSON."""
    try:
        settings = json.loads(_text_of(path) or "{}")
    except ValueError:
        return {}
    return settings if isinstance(settings, dict) else {}


def base_url(value: str | None) -> str | None:
    """A base URL that a path can be put behind; None for all else."""
    try:
        parts = urlsplit((value or "").strip())
        port_is_good = parts.port is None or parts.port > 0
    except ValueError:
        return None
    is_one = parts.scheme in ("http", "https") and parts.hostname and port_is_good
    if " " in parts.netloc:
        return None
    return parts.geturl() if is_one and not parts.query and not parts.fragment else None


def folder_of(cwd: Any) -> Path:
    """Where a command will run."""
    return Path.cwd() if cwd is None else Path(os.fsdecode(cwd)).absolute()
