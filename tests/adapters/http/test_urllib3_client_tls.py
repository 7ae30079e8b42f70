"""urllib3 and requests over TLS, and by way of proxies."""

from __future__ import annotations

import contextlib
import ssl

import pytest
import requests
import urllib3

from adapters.http.secured import authority, trusting
from adapters.http.secured_clients import ByProxies, OverTls, chat, went
from adapters.http.seen import HERE, MESSAGES, Asks, hooked, parts
from llmphases.adapters.http.urllib3_client import URLLIB3

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _hooked():
    with hooked(URLLIB3):
        yield


@pytest.fixture(scope="module")
def vouched(tmp_path_factory):
    """The authority's certificate, in a file as requests wants it."""
    path = tmp_path_factory.mktemp("tls") / "authority.pem"
    authority().cert_pem.write_to_path(path)
    return str(path)


def poster(client):
    def post(url, script):
        return answer_of(client.request("POST", url, json=MESSAGES | script.extra_body()))

    return post


def answer_of(response):
    return getattr(response, "status", None) or response.status_code


@contextlib.contextmanager
def by_urllib3(*, proxy=None, trusts=True, retries=False):
    context = trusting() if trusts else ssl.create_default_context()
    how = {"ssl_context": context, "retries": retries}
    if proxy is None:
        made = urllib3.PoolManager(**how)
    else:
        made = urllib3.ProxyManager(proxy, proxy_ssl_context=trusting(), **how)
    with made as client:
        yield poster(client)


@pytest.fixture(params=["requests", "urllib3"])
def opened(request, vouched):
    @contextlib.contextmanager
    def by_requests(*, proxy=None, trusts=True):
        with requests.Session() as client:
            client.trust_env = False  # REQUESTS_CA_BUNDLE has precedence over `verify`
            client.proxies = {"http": proxy, "https": proxy} if proxy else {}
            if trusts:
                client.verify = vouched
            yield poster(client)

    return {"requests": by_requests, "urllib3": by_urllib3}[request.param]


class TestOverTls(OverTls):
    untrusted = ("SSLError",)
    broken = "ConnectionResetError"


class TestByProxies(ByProxies):
    untrusted = ("SSLError",)
    refused = "ProxyError"

    def test_its_own_retries_dig_anew(self, secured, proxy, script, heard):
        proxy.refuses_times = 1
        retries = urllib3.Retry(1, backoff_factor=0)
        with by_urllib3(proxy=proxy.url, retries=retries) as post, hooked(HERE):
            Asks().ask(lambda: post(chat(secured), script), model="m")
        assert went(heard) == [("retry", "ProxyError"), ("inference", None)]

    def test_a_tunnel_for_something_else_is_no_attempt(self, secured, proxy, script, heard):
        def look_and_ask(client):
            client.request("GET", secured.url)
            return poster(client)(chat(secured), script)

        made = urllib3.ProxyManager(proxy.url, ssl_context=trusting(), retries=False)
        with made as client, hooked(HERE):
            assert Asks().ask(lambda: look_and_ask(client), model="m") == 200
        (call,) = heard.calls
        assert (call.requests, call.retries) == (1, 0)
        assert parts(call).count("connect") == len(proxy.asked) == 2
