"""Codex (0.171.0) takes a base URL by `-c` only, each provider's under its own key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llmphases.adapters.commands.argv import option
from llmphases.adapters.commands.program_names import program_name
from llmphases.adapters.commands.surroundings import Surroundings, base_url
from llmphases.adapters.contract import fields_of, text_or_none
from llmphases.capture.children.tap.contract import InsertedOption

_OWN = "openai"
_OWN_URL = "https://api.openai.com/v1"
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def codex_option(argv: Sequence[str], around: Surroundings) -> InsertedOption | None:
    """The option that brings this command to the tap; None where its base URL is not certain.

    With an account instead of a key, Codex asks another server: then only its own settings tell.
    """
    at = next((i for i, word in enumerate(argv) if program_name(word) == "codex"), None)
    if at is None:  # inside a line for the shell
        return None
    own_words = argv[at:]
    said = dict(_overrides(own_words))
    settings = _settings(around)
    profile = said.get("profile") or option(own_words, "-p", "--profile") or settings.get("profile")
    chosen = fields_of(fields_of(settings.get("profiles")).get(str(profile)))
    provider = said.get("model_provider") or chosen.get("model_provider")
    provider = text_or_none(provider or settings.get("model_provider")) or _OWN
    if not _PLAIN_KEY.fullmatch(provider):
        return None
    key, url = _base_url_of(provider, said, settings, around.env)
    if url is None:
        return None
    last = max((i for i, word in enumerate(own_words) if word in ("-c", "--config")), default=-1)
    place = at + (1 if last < 0 else last + 2)
    return InsertedOption(at=place, words=("-c", f'{key}="{{url}}"'), stands_for=url)


def _base_url_of(
    provider: str, said: Mapping[str, str], settings: Mapping[str, Any], env: Mapping[str, str]
) -> tuple[str, str | None]:
    if provider == _OWN:
        key = "openai_base_url"
        known = said.get(key) or settings.get(key)
        if known is None and env.get("CODEX_API_KEY"):
            known = _OWN_URL
    else:
        key = f"model_providers.{provider}.base_url"
        of_it = fields_of(fields_of(settings.get("model_providers")).get(provider))
        known = said.get(key) or of_it.get("base_url")
    return key, base_url(text_or_none(known))


def _overrides(words: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for i, word in enumerate(words[:-1]):
        if word in ("-c", "--config"):
            key, _, value = words[i + 1].partition("=")
            found.append((key.strip(), value.strip().strip("\"'")))
    return found


def _settings(around: Surroundings) -> Mapping[str, Any]:
    home = around.env.get("CODEX_HOME")
    folder = Path(home) if home else around.home and around.home / ".codex"
    if not folder:
        return {}
    try:
        return tomllib.loads((folder / "config.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
