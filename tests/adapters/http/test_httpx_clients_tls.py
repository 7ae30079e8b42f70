"""httpx and httpx2 over TLS and by way of proxies, plain, awaited, and below an SDK."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ssl

import pytest

from adapters.http.secured import trusting
from adapters.http.secured_clients import ByProxies, OverTls, went
from adapters.http.seen import MESSAGES, hooked, installed, reused
from llmphases.adapters.http.httpx_clients import HTTPX, HTTPX2
from llmphases.adapters.sdks.groq_sdk import GROQ
from llmphases.adapters.sdks.openai_sdk import OPENAI

pytestmark = pytest.mark.real
PLAIN = installed("httpx", "httpx2")
SDKS = installed("openai", "groq")


@pytest.fixture(autouse=True)
def _hooked():
    clients = {"openai": OPENAI, "groq": GROQ, "httpx": HTTPX, "httpx2": HTTPX2}
    with hooked(*(clients[name] for name in (*SDKS, *PLAIN))):
        yield


def transport_by(package, kind, *, proxy, trusts):
    """What a client sends by: `kind` is the transport's class."""
    by = package.Proxy(proxy) if proxy else None
    if proxy and proxy.startswith("https:"):
        by = package.Proxy(proxy, ssl_context=trusting())
    context = trusting() if trusts else ssl.create_default_context()
    return getattr(package, kind)(verify=context, proxy=by)


@pytest.fixture(params=PLAIN)
def package(request):
    return PLAIN[request.param]


@pytest.fixture(params=["sync", "async"])
def opened(request, package):
    @contextlib.contextmanager
    def sync(*, proxy=None, trusts=True):
        transport = transport_by(package, "HTTPTransport", proxy=proxy, trusts=trusts)
        with package.Client(transport=transport) as client:
            yield lambda url, script: client.post(url, json=body(script)).status_code

    @contextlib.contextmanager
    def awaited(*, proxy=None, trusts=True):
        transport = transport_by(package, "AsyncHTTPTransport", proxy=proxy, trusts=trusts)
        with asyncio.Runner() as runner:
            client = package.AsyncClient(transport=transport)

            async def post(url, script):
                return (await client.post(url, json=body(script))).status_code

            def run(*what):
                return runner.run(post(*what), context=contextvars.copy_context())

            yield run
            runner.run(client.aclose())

    return {"sync": sync, "async": awaited}[request.param]


def body(script):
    return MESSAGES | script.extra_body()


UNTRUSTED = ("ConnectError", "SSLCertVerificationError")
"""The second is what httpx 0.25 lets through where it is awaited."""


class TestOverTls(OverTls):
    untrusted = UNTRUSTED
    broken = "ConnectError"


class TestByProxies(ByProxies):
    untrusted = UNTRUSTED
    refused = "ProxyError"

    def test_a_proxy_behind_tls(self, opened, secured, script, heard, package):
        if package.__version__.startswith("0.25."):
            pytest.skip("no TLS within TLS yet")
        super().test_a_proxy_behind_tls(opened, secured, script, heard)

    @pytest.mark.parametrize("name", SDKS)
    def test_an_sdk_tries_again_to_get_through(self, name, secured, proxy, script, heard):
        proxy.refuses_by, proxy.refuses_times = 407, 1
        sdk, made = SDKS[name], {"openai": "OpenAI", "groq": "Groq"}[name]
        below = PLAIN["httpx2" if "httpx2" in vars(sdk._base_client) else "httpx"]
        transport = transport_by(below, "HTTPTransport", proxy=proxy.url, trusts=True)
        with getattr(sdk, made)(
            base_url=secured.base_url,
            api_key="none",
            http_client=below.Client(transport=transport),
        ) as client:
            asked = client.chat.completions.create(
                **MESSAGES, stream=True, extra_body=script.extra_body()
            )
            list(asked)
        assert went(heard) == [("retry", "ProxyError"), ("time_to_first_token", None)]
        assert reused(heard) == [None, False]
        assert heard.calls[0].retries == 1
