"""How a command is pointed at the tap: which variables or options hold its model's base URL.

A URL is only ever replaced by one that leads to where it would have led: where that is not
certain, the command is brought to the tap by `HTTPS_PROXY`, which tells less.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from llmphases.adapters.commands.argv import commands_of, subcommand
from llmphases.adapters.commands.codex_route import codex_option
from llmphases.adapters.commands.surroundings import Surroundings, base_url, folder_of, json_of
from llmphases.adapters.contract import fields_of
from llmphases.capture.children.tap.contract import InsertedOption, TapRoute

Words = Sequence[str]

_OPENAI = "https://api.openai.com/v1"
_ANTHROPIC = "https://api.anthropic.com"
_GOOGLE = "https://generativelanguage.googleapis.com"
_OLLAMA = "http://127.0.0.1:11434"
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  # what a server listens on, not we


def _always(_: Words, __: Surroundings) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """How one program is told where its model is."""

    variables: Mapping[str, str | None]
    """The variables it reads, and where it goes without each; None: nobody knows."""
    takes_default: Callable[[Words, Surroundings], bool] = _always
    """Whether it does go there, as it is set up here."""
    also_proxied: bool = False
    """Whether it may ask others as well, which no variable points elsewhere."""


def _is_anthropics_own(_: Words, around: Surroundings) -> bool:
    others = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
    return not any(around.env.get(name) for name in others)


def _uses_a_key_of_google(_: Words, around: Surroundings) -> bool:
    """With the variable but no kind of authentication in its settings, it refuses to start."""
    homes = [] if around.home is None else [around.home]
    for folder in (around.folder, *homes):
        settings = json_of(folder / ".gemini" / "settings.json")
        auth = fields_of(fields_of(settings.get("security")).get("auth"))
        chosen = auth.get("selectedType") or settings.get("selectedAuthType")
        if chosen is not None:
            return bool(chosen == "gemini-api-key")
    return False


def _is_client(words: Words, _: Surroundings) -> bool:
    return subcommand(words) != "serve"


_PROGRAMS: Mapping[str, _Program] = {
    "claude": _Program(
        variables={"ANTHROPIC_BASE_URL": _ANTHROPIC}, takes_default=_is_anthropics_own
    ),
    "qwen": _Program(variables={"OPENAI_BASE_URL": None}),
    "opencode": _Program(
        variables={"ANTHROPIC_BASE_URL": f"{_ANTHROPIC}/v1", "OPENAI_BASE_URL": _OPENAI}
    ),
    "gemini": _Program(
        variables={"GOOGLE_GEMINI_BASE_URL": _GOOGLE, "GOOGLE_VERTEX_BASE_URL": None},
        takes_default=_uses_a_key_of_google,
    ),
    "copilot": _Program(variables={"COPILOT_PROVIDER_BASE_URL": None}),
    "ollama": _Program(variables={"OLLAMA_HOST": _OLLAMA}, takes_default=_is_client),
    "llm": _Program(
        variables={"OPENAI_BASE_URL": _OPENAI, "ANTHROPIC_BASE_URL": _ANTHROPIC},
        also_proxied=True,
    ),
    "codex": _Program(variables={"CODEX_OSS_BASE_URL": None}),
}
_ANY = _Program(
    variables=dict.fromkeys(
        (
            "OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL",
            "OLLAMA_HOST", "GROQ_BASE_URL", "AZURE_OPENAI_ENDPOINT",
        )
    ),
    also_proxied=True,
)  # fmt: skip
"""A program that nothing is known of: what is set in its environment is meant for somebody."""


@dataclass(slots=True)
class _Found:
    variables: dict[str, str] = field(default_factory=dict)
    options: list[InsertedOption] = field(default_factory=list)
    is_proxied: bool = False
    unset: list[str] = field(default_factory=list)


def route_for(argv: Sequence[Any], env: Mapping[str, str], cwd: Any = None) -> TapRoute:
    """The way to the tap for a command line in an environment, run in a folder."""
    words = [os.fsdecode(word) for word in argv]
    around = Surroundings(env, folder_of(cwd))
    found = _Found()
    commands = commands_of(words) or [words]
    # In a line for the shell, what stands beside a program that is known is not the point.
    for command in [one for one in commands if one[0] in _PROGRAMS] or commands:
        _add(found, command, words, around)
    return TapRoute(
        variables=found.variables, options=tuple(found.options), proxied=found.is_proxied,
        unset=tuple(dict.fromkeys(name for name in found.unset if name not in found.variables)),
    )  # fmt: skip


def _add(found: _Found, command: Words, argv: Words, around: Surroundings) -> None:
    program = _PROGRAMS.get(command[0], _ANY)
    if command[0] == "ollama" and not _is_client(command, around):
        return
    if command[0] == "codex" and (option := codex_option(argv, around)) is not None:
        found.options.append(option)
        return
    known = _variables(program, command, around)
    found.variables.update(known)
    found.unset += program.variables
    found.is_proxied |= program.also_proxied or not known


def _variables(program: _Program, command: Words, around: Surroundings) -> dict[str, str]:
    """What is set, and what goes to a known place without being set."""
    known = {}
    takes_default = program.takes_default(command, around)
    for name, default in program.variables.items():
        said = around.env.get(name, "").strip()
        if said:
            is_ollama = name == "OLLAMA_HOST"
            url = _ollama_url(said, command[0] == "ollama") if is_ollama else base_url(said)
        else:
            url = default if takes_default and not around.named_in_a_file(name) else None
        if url is not None:
            known[name] = url
    return known


def _ollama_url(host: str, is_client: bool) -> str | None:  # noqa: FBT001  # two of one kind
    """`host`, `host:port` or a URL; without a port and a scheme it is Ollama's own port.

    What a server listens on means this machine to Ollama's own client only.
    """
    host = host.strip("\"'")
    url = base_url(host)
    if url is None:
        name, _, port = host.rpartition(":") if ":" in host else (host, "", "11434")
        url = base_url(f"http://{name or '127.0.0.1'}:{port}")
    parts = urlsplit(url or "")
    if parts.hostname not in _EVERYWHERE:
        return url
    return f"{parts.scheme}://127.0.0.1:{parts.port or 80}" if is_client else None
