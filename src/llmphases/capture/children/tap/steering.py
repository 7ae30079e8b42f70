"""A child's environment and command line, changed so that it comes to the tap."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from llmphases.capture.children.tap.contract import TapRoute
from llmphases.capture.children.tap.tunnel import USER

_PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def texts(env: Mapping[Any, Any]) -> dict[str, str]:
    """An environment as text, whatever it is given as."""
    return {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}


def local_url(url: str, port: int, secret: str) -> str:
    """The base URL of the tap that stands for another: its path stays, for those who look at it."""
    parts = urlsplit(url)
    credentials, at, _ = parts.netloc.rpartition("@")
    return f"http://{credentials}{at}127.0.0.1:{port}/{secret}{parts.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where a tap listens."""

    secret: str
    ports: Mapping[str, int]
    """For each base URL its own."""
    door: int | None
    """For `CONNECT`."""


def steered(
    argv: Sequence[Any], env: Mapping[Any, Any], route: TapRoute, ends: Ends
) -> tuple[Sequence[Any], dict[Any, Any]]:
    """The words and the environment to spawn a child with that is to come to the tap."""
    made = dict(env)
    for name, url in route.variables.items():
        _set(made, name, local_url(url, ends.ports[url], ends.secret))
    words = list(argv)
    for option in sorted(route.options, key=lambda one: one.at, reverse=True):
        url = local_url(option.stands_for, ends.ports[option.stands_for], ends.secret)
        words[option.at : option.at] = [word.replace("{url}", url) for word in option.words]
    said = texts(env)
    if ends.door is not None:
        for name in ("HTTPS_PROXY", "https_proxy"):
            _set(made, name, f"http://{USER}:{ends.secret}@127.0.0.1:{ends.door}")
    if ends.door is not None or any(said.get(name) for name in _PROXIES):
        _spare_loopback(made, said)
    return words, made


def _spare_loopback(made: dict[Any, Any], said: Mapping[str, str]) -> None:
    """No proxy stands between the child and this machine: not its own, and not the tap."""
    listed = said.get("no_proxy") or said.get("NO_PROXY") or ""
    if listed.strip() == "*":
        return
    known = [one.strip() for one in listed.split(",") if one.strip()]
    both = ",".join([*known, *(one for one in _LOOPBACK if one not in known)])
    for name in ("NO_PROXY", "no_proxy"):
        _set(made, name, both)


def _set(env: dict[Any, Any], name: str, value: str) -> None:
    env.pop(os.fsencode(name), None)
    env[name] = value
