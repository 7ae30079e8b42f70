"""What a child is told, so that it comes to the tap."""

from __future__ import annotations

import pytest

from llmphases.capture.children.tap.contract import InsertedOption, TapRoute
from llmphases.capture.children.tap.steering import Ends, local_url, steered, texts

URL = "https://api.example/v1"
ENDS = Ends(secret="key", ports={URL: 1234}, door=99)
NO_DOOR = Ends(secret="key", ports={URL: 1234}, door=None)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (URL, "http://127.0.0.1:1234/key/v1"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:1234/key"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:1234/key/"),
        ("http://me:it@host/a/b/", "http://me:it@127.0.0.1:1234/key/a/b/"),
    ],
)
def test_a_base_url_keeps_its_path_and_its_credentials(url, expected):
    assert local_url(url, 1234, "key") == expected


def test_variables_are_replaced_and_all_else_stays():
    given = {"OPENAI_BASE_URL": "old", "PATH": "/bin"}
    words, env = steered(["x", "y"], given, TapRoute(variables={"OPENAI_BASE_URL": URL}), NO_DOOR)
    assert words == ["x", "y"]
    assert env == {"OPENAI_BASE_URL": "http://127.0.0.1:1234/key/v1", "PATH": "/bin"}
    assert given["OPENAI_BASE_URL"] == "old"


def test_an_environment_of_bytes():
    _, env = steered([b"x"], {b"V": b"old", b"A": b"1"}, TapRoute(variables={"V": URL}), NO_DOOR)
    assert texts(env) == {"V": "http://127.0.0.1:1234/key/v1", "A": "1"}


def test_options_are_inserted_where_they_belong():
    option = InsertedOption(at=1, words=("-c", 'base="{url}"'), stands_for=URL)
    words, _ = steered(["codex", "exec", "hi"], {}, TapRoute(options=(option,)), NO_DOOR)
    assert words == ["codex", "-c", 'base="http://127.0.0.1:1234/key/v1"', "exec", "hi"]


def test_a_proxy_is_told_to_all_but_for_this_machine():
    given = {
        "NO_PROXY": "corp, localhost",
        "https_proxy": "http://old",
        "HTTPS_PROXY": "http://old",
    }
    _, env = steered(["x"], given, TapRoute(proxied=True), ENDS)
    assert env["HTTPS_PROXY"] == env["https_proxy"] == "http://llmphases:key@127.0.0.1:99"
    assert env["NO_PROXY"] == env["no_proxy"] == "corp,localhost,127.0.0.1,::1"


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_childs_own_does_not_stand_before_the_tap(name):
    _, env = steered(["x"], {name: "http://old"}, TapRoute(variables={"V": URL}), NO_DOOR)
    assert env["NO_PROXY"] == "127.0.0.1,localhost,::1"
    assert env[name] == "http://old"


def test_where_no_proxy_is_to_be_used_none_is():
    _, env = steered(["x"], {"NO_PROXY": "*"}, TapRoute(proxied=True), ENDS)
    assert env["NO_PROXY"] == "*"
    assert "no_proxy" not in env
