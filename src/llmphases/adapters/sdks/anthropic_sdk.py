"""The Anthropic Python SDK: messages, whole and streamed, sync and async, on all its clouds.

Seen in anthropic 0.60 to 2.14. `create` is hooked into, so that what others put around the sending
is inside; and the sending itself, by which everything goes: `parse`, the managers of `stream()`
once they are entered, and `with_raw_response`. The SDK's own span stays as it is.
"""

from __future__ import annotations

from typing import Any

from llmphases.adapters.sdks.hosts import provider_of_url
from llmphases.adapters.sdks.stainless import raw_responses, requests
from llmphases.capture.clients.contract import Hook, Method, Sdk
from llmphases.capture.stand_in import StandIn

_MODULES = (
    "anthropic.resources.messages.messages",
    "anthropic.resources.beta.messages.messages",
)


def _provider(client: Any) -> str | None:
    """Whose models they are: this SDK talks to several clouds, and to servers of one's own."""
    return provider_of_url(client.base_url)


def _provider_of_resource(resource: Any) -> str | None:
    return _provider(resource._client)  # noqa: SLF001  # it is nowhere else


def _is_instance(check: Any, kind: Any, args: tuple[Any, ...], kwargs: Any) -> bool:
    """`isinstance` of a stream, which its class answers by itself before version 1."""
    if check(*args, **kwargs):
        return True
    stream = args[0]
    return issubclass(type(stream), StandIn) and isinstance(stream.__wrapped__, kind)


ANTHROPIC = Sdk(
    name="anthropic",
    package="anthropic",
    distribution="anthropic",
    since=(0, 60),
    before=(3,),
    methods=(
        *(
            Method(where=f"{module}:{name}.create", provider=_provider_of_resource)
            for module in _MODULES
            for name in ("Messages", "AsyncMessages")
        ),
        *requests("anthropic", {"/v1/messages": "chat"}, _provider),
    ),
    readings=raw_responses("anthropic"),
    hooks=tuple(
        Hook(
            where=f"anthropic._streaming:{kind}.__instancecheck__",
            wrapper=_is_instance,
            only_in_some=True,
        )
        for kind in ("_SyncStreamMeta", "_AsyncStreamMeta")
    ),
)
