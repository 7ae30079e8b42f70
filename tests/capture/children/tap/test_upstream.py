"""Where the tap goes on to, by the child's own environment."""

from __future__ import annotations

import pytest

from llmphases import ConfigurationError
from llmphases.capture.children.tap.upstream import address_of, proxy_for, trust_of

API = address_of("https://api.example/v1")


def test_addresses():
    assert (API.is_tls, API.host, API.port, API.authority) == (
        True,
        "api.example",
        443,
        b"api.example",
    )
    local = address_of("http://me:p%40ss@127.0.0.1:8080/v1")
    assert (local.is_tls, local.port, local.authority) == (False, 8080, b"127.0.0.1:8080")
    assert local.credentials == "me:p@ss"
    assert address_of("http://[::1]:80/").host == "::1"


@pytest.mark.parametrize(
    "url", ["", "x", "http://", "socks5://host:1", "http://host:99999", "file:///x"]
)
def test_what_is_no_address_of_a_server(url):
    assert address_of(url) is None


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, ("proxy", 3128)),
        ({"https_proxy": "proxy:3128"}, ("proxy", 3128)),
        ({"ALL_PROXY": "https://proxy"}, ("proxy", 443)),
        ({"HTTP_PROXY": "http://proxy:3128"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "example"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": ".other,api.example:443"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "api.example.org"}, ("proxy", 3128)),
    ],
)
def test_the_childs_own_proxy(env, expected):
    found = proxy_for(env, API)
    assert (found and (found.host, found.port)) == expected


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "x.localhost"])
def test_no_proxy_stands_before_this_machine(host):
    assert proxy_for({"HTTP_PROXY": "http://proxy"}, address_of(f"http://{host}:1/")) is None


@pytest.mark.parametrize("url", ["socks5://proxy:1080", "http://"])
def test_a_proxy_of_another_kind_is_refused_in_words(url):
    with pytest.raises(ConfigurationError, match="NO_PROXY"):
        proxy_for({"HTTPS_PROXY": url}, API)


def test_certificates_that_cannot_be_read_are_refused_in_words(tmp_path):
    for path in (tmp_path / "absent.pem", _written(tmp_path / "odd.pem", "no certificate")):
        with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
            trust_of({"SSL_CERT_FILE": str(path)})


def _written(path, text):
    path.write_text(text)
    return path


def test_a_folder_of_certificates(tmp_path):
    assert trust_of({"SSL_CERT_DIR": str(tmp_path)}).get_ca_certs() == []
