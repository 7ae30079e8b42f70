"""Programs that start another one, which their own arguments name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmphases.adapters.commands.program_names import program_name

_PYTHON = re.compile(r"(python|pypy)[\d.]*w?$")
_MODULE = re.compile(r"-[A-Za-z]*m$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launcher:
    """How a program that starts another one is called."""

    verbs: tuple[str, ...] = ()
    """Its subcommands that do so; any of them has to be there. Empty: it always does."""
    with_value: frozenset[str] = frozenset()
    """Its options whose value is the next word."""
    skips: int = 0
    """How many words of its own come before the command."""


def _launcher(verbs: str = "", with_value: str = "", skips: int = 0) -> _Launcher:
    return _Launcher(
        verbs=tuple(verbs.split()), with_value=frozenset(with_value.split()), skips=skips
    )


_NPX = "-p --package -w --workspace --cache --userconfig --registry"
_UV_RUN = (
    "--with --with-editable --with-requirements --from -p --python --project --directory --extra "
    "--group --only-group --env-file --index --index-url --default-index --cache-dir --package"
)
_LAUNCHERS: Mapping[str, _Launcher] = {
    "npx": _launcher(with_value=_NPX),
    "npm": _launcher("exec x", _NPX),
    "pnpm": _launcher("dlx exec", _NPX + " --filter -C --dir"),
    "pnpx": _launcher(with_value=_NPX),
    "yarn": _launcher("dlx exec", _NPX),
    "bunx": _launcher(with_value=_NPX),
    "bun": _launcher("x run", "--cwd --env-file -r --preload"),
    "node": _launcher(with_value="-r --require --import --loader --env-file -C --conditions"),
    "tsx": _launcher(),
    "uvx": _launcher(with_value=_UV_RUN),
    "uv": _launcher("run tool", _UV_RUN),
    "pipx": _launcher("run", "--spec --python --pip-args --with"),
    "poetry": _launcher("run", "-C --directory -P --project"),
    "pdm": _launcher("run", "-p --project"),
    "hatch": _launcher("run", "-e --env"),
    "rye": _launcher("run"),
    "pixi": _launcher("run", "-e --environment --manifest-path"),
    "conda": _launcher("run", "-n --name -p --prefix --cwd"),
    "mise": _launcher("exec x"),
    "env": _launcher(with_value="-u --unset -C --chdir"),
    "sudo": _launcher(with_value="-u --user -g --group -h --host -p --prompt -D --chdir"),
    "doas": _launcher(with_value="-u -C"),
    "timeout": _launcher(with_value="-k --kill-after -s --signal", skips=1),
    "gtimeout": _launcher(with_value="-k --kill-after -s --signal", skips=1),
    "nice": _launcher(with_value="-n --adjustment"),
    "ionice": _launcher(with_value="-c --class -n --classdata"),
    "taskset": _launcher(skips=1),
    "stdbuf": _launcher(with_value="-i -o -e --input --output --error"),
    "time": _launcher(with_value="-f --format -o --output"),
    "nohup": _launcher(),
    "setsid": _launcher(),
    "unbuffer": _launcher(),
    "caffeinate": _launcher(with_value="-t -w"),
    "command": _launcher(),
    "exec": _launcher(with_value="-a"),
}


def unwrapped(words: Sequence[str]) -> list[str] | None:
    """The command that this one starts, or None if it starts none that we can tell."""
    name = program_name(words[0])
    if _PYTHON.match(name):
        return _of_python(words)
    launcher = _LAUNCHERS.get(name)
    if launcher is None:
        return None
    rest = _without_options(words[1:], launcher)
    if launcher.verbs:
        if not rest or rest[0] not in launcher.verbs:
            return None
        rest = _without_options(rest[1:], launcher)
        if rest[:1] == ["run"]:  # `uv tool run`
            rest = _without_options(rest[1:], launcher)
    return rest[launcher.skips :] or None


def _without_options(words: Sequence[str], launcher: _Launcher) -> list[str]:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            at += 1
            break
        at += 2 if words[at] in launcher.with_value else 1
    return list(words[at:])


def _of_python(words: Sequence[str]) -> list[str] | None:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("-c", "-"):
            return None
        if _MODULE.match(words[at]):
            at += 1
            break
        at += 2 if words[at] in ("-W", "-X") else 1
    return list(words[at:]) or None
