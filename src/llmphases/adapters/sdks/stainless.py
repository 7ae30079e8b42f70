"""What the SDKs of OpenAI, Anthropic and Groq have in common: one generator has written them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llmphases.adapters.contract import read
from llmphases.capture.clients.contract import Method, Reading

_READ = ("parse", "read", "text", "json", "iter_bytes", "iter_text", "iter_lines", "close")
_CLASSES = {
    "_legacy_response:LegacyAPIResponse": ("parse",),  # its body is there, unless it is a stream
    "_response:APIResponse": _READ,
    "_response:AsyncAPIResponse": _READ,
}


def requests(
    package: str, operations: Mapping[str, str], provider: Callable[[Any], str | None]
) -> tuple[Method, ...]:
    """Where all that a client sends passes by, whichever of its methods was called.

    A client keeps those methods from when it was made or first used, but looks this one up each
    time. `operations` are by address: what asks no model goes to others.
    """

    def operation(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        options = _options(args, kwargs)
        if read(options, "method") != "post":
            return None
        return operations.get(str(read(options, "url")).partition("?")[0])

    return tuple(
        Method(
            where=f"{package}._base_client:{client}.request",
            operation=operation,
            model=_model,
            provider=provider,
        )
        for client in ("SyncAPIClient", "AsyncAPIClient")
    )


def _options(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What is to be sent: the second argument."""
    return args[1] if len(args) > 1 else kwargs.get("options")


def _model(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    return read(read(_options(args, kwargs), "json_data"), "model")


def raw_responses(package: str) -> tuple[Reading, ...]:
    """What `with_raw_response` and `with_streaming_response` hand out."""
    return tuple(
        Reading(where=f"{package}.{where}.{name}")
        for where, names in _CLASSES.items()
        for name in names
    )
