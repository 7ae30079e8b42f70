"""What can be hooked into, by name: `instrument` and `uninstrument`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from llmphases.adapters.http.aiohttp_client import AIOHTTP
from llmphases.adapters.http.httpx_clients import HTTPX, HTTPX2
from llmphases.adapters.http.urllib3_client import URLLIB3
from llmphases.adapters.sdks.anthropic_sdk import ANTHROPIC
from llmphases.adapters.sdks.bedrock_sdk import BEDROCK
from llmphases.adapters.sdks.google_genai_sdk import GOOGLE_GENAI
from llmphases.adapters.sdks.groq_sdk import GROQ
from llmphases.adapters.sdks.litellm_sdk import LITELLM
from llmphases.adapters.sdks.llm_sdk import LLM
from llmphases.adapters.sdks.mistralai_sdk import MISTRALAI
from llmphases.adapters.sdks.ollama_sdk import OLLAMA
from llmphases.adapters.sdks.openai_sdk import OPENAI
from llmphases.capture.children import instrumentation as children
from llmphases.capture.clients.contract import Sdk
from llmphases.capture.clients.installed import Versions
from llmphases.capture.clients.patches import Patches
from llmphases.errors import ArgumentError
from llmphases.observers import never_raises


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrumented:
    """What `instrument` has done."""

    hooked: tuple[str, ...]
    """What is hooked into now, by name."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """What is not, and why."""


@dataclass(frozen=True, slots=True)
class _Hooks:
    install: Callable[[bool, bool, Versions], str | None]
    """Is told `propagate`, `inherit_otel` and the versions of what is installed."""
    uninstall: Callable[[], None]


def _of_sdk(sdk: Sdk) -> _Hooks:
    patches = Patches(sdk)
    return _Hooks(
        lambda _propagate, _inherit_otel, versions: patches.install(versions), patches.uninstall
    )


_SDKS = (OPENAI, ANTHROPIC, GOOGLE_GENAI, OLLAMA, MISTRALAI, GROQ, BEDROCK, LITELLM, LLM)
_HTTP = (HTTPX, HTTPX2, AIOHTTP, URLLIB3)

_KNOWN: dict[str, _Hooks] = {
    children.NAME: _Hooks(
        lambda propagate, inherit_otel, _versions: children.install(
            propagate=propagate, inherit_otel=inherit_otel
        ),
        children.uninstall,
    ),
    **{client.name: _of_sdk(client) for client in (*_SDKS, *_HTTP)},
}


def instrument(*names: str, propagate: bool = True, inherit_otel: bool = True) -> Instrumented:
    """Have calls made in other ways than through llmphases take part in the trace.

    Args:
        *names: what to hook into; default: everything that is known and installed.
            `subprocess`: what a program starts inside a traced call by `subprocess` or asyncio is
            timed. `openai`, `anthropic`, `google-genai`, `ollama`, `mistralai`, `groq`, `bedrock`,
            `litellm` and `llm`: what is asked by this SDK is part of the traced call that is open,
            else a call of its own.
            `httpx`, `httpx2`, `aiohttp` and `urllib3`: what an SDK, or a block of `call.request()`,
            sends by them is seen attempt by attempt. None of these changes what the program gets.
        propagate: False: children are not told where in the trace they are. Otherwise it is in
            their environment (`TRACEPARENT`).
        inherit_otel: False: children that are given no environment of their own do not inherit our
            `OTEL_*` variables, so that a tool that knows them does not export to our backend.

    Returns:
        What was hooked into, and what not. Called again it changes the settings only.

    Raises:
        ArgumentError: for a name that is not known.
    """
    skipped: dict[str, str] = {}
    chosen = _chosen("instrument", names)
    versions = Versions()
    for name in chosen:
        reason = _install(_KNOWN[name], versions, propagate=propagate, inherit_otel=inherit_otel)
        if reason:
            skipped[name] = reason
    return Instrumented(
        hooked=tuple(name for name in chosen if name not in skipped), skipped=skipped
    )


def uninstrument(*names: str) -> None:
    """Take the hooks of `instrument` out again; default: all. What is open is timed to its end.

    Raises `ArgumentError` for a name that is not known.
    """
    for name in _chosen("uninstrument", names):
        _KNOWN[name].uninstall()


def _chosen(who: str, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in _KNOWN:
            known = ", ".join(sorted(_KNOWN))
            raise ArgumentError(f"{who}: nothing is known of {name!r}; there is: {known}")
    return tuple(dict.fromkeys(names)) or tuple(_KNOWN)


def _install(
    hooks: _Hooks, versions: Versions, *, propagate: bool, inherit_otel: bool
) -> str | None:
    done = _try(hooks, versions, propagate=propagate, inherit_otel=inherit_otel)
    return "a fault of ours, which is logged" if done is None else done


@never_raises
def _try(hooks: _Hooks, versions: Versions, *, propagate: bool, inherit_otel: bool) -> str:
    return hooks.install(propagate, inherit_otel, versions) or ""
