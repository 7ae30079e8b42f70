"""aiohttp over TLS, and by way of proxies: it does not tell what connecting is made of."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ssl

import aiohttp
import pytest

from adapters.http.secured import trusting
from adapters.http.secured_clients import ByProxies, OverTls
from adapters.http.seen import MESSAGES, hooked
from llmphases.adapters.http.aiohttp_client import AIOHTTP

pytestmark = [pytest.mark.real]
if aiohttp.__version__.startswith("3.10."):  # it forgets to close what a handshake failed on
    kind = "pytest.PytestUnraisableExceptionWarning"
    pytestmark.append(pytest.mark.filterwarnings(f"ignore::{kind}"))


@pytest.fixture(autouse=True)
def _hooked():
    with hooked(AIOHTTP):
        yield


@pytest.fixture
def opened():
    @contextlib.contextmanager
    def awaited(*, proxy=None, trusts=True):
        context = trusting() if trusts else ssl.create_default_context()

        async def session():
            return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))

        with asyncio.Runner() as runner:
            client = runner.run(session())

            async def post(url, script):
                body = MESSAGES | script.extra_body()
                async with client.post(url, json=body, proxy=proxy) as response:
                    await response.read()
                    return response.status

            def run(*what):
                return runner.run(post(*what), context=contextvars.copy_context())

            yield run
            runner.run(client.close())

    return awaited


class TestOverTls(OverTls):
    tells_connecting = False
    untrusted = ("ClientConnectorCertificateError",)
    broken = "ClientConnectorError"


class TestByProxies(ByProxies):
    tells_connecting = False
    untrusted = ("ClientConnectorCertificateError",)
    refused = "ClientHttpProxyError"
