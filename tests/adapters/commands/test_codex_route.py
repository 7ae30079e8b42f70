"""Codex is pointed at the tap by an option, where its base URL is certain."""

from __future__ import annotations

import pytest

from llmphases.adapters.commands.codex_route import codex_option
from llmphases.adapters.commands.surroundings import Surroundings

OWN = "https://api.openai.com/v1"
LOCAL = """
model_provider = "local"
[model_providers.local]
base_url = "http://127.0.0.1:18093/v1"
[profiles.other]
model_provider = "far"
[model_providers.far]
base_url = "https://far/v1"
"""


@pytest.fixture
def option_for(tmp_path):
    def option(argv, config="", **env):
        (tmp_path / "config.toml").write_text(config)
        around = Surroundings({"CODEX_HOME": str(tmp_path), **env}, tmp_path)
        return codex_option(argv, around)

    return option


def told(option):
    return None if option is None else (option.at, option.words[1], option.stands_for)


@pytest.mark.parametrize(
    ("argv", "config", "expected"),
    [
        (["codex", "exec", "hi"], "", None),
        (
            ["codex", "exec", "hi"],
            'openai_base_url = "https://mine/v1"',
            (1, 'openai_base_url="{url}"', "https://mine/v1"),
        ),
        (
            ["codex", "exec", "hi"],
            LOCAL,
            (1, 'model_providers.local.base_url="{url}"', "http://127.0.0.1:18093/v1"),
        ),
        (
            ["npx", "-y", "@openai/codex", "exec", "hi"],
            LOCAL,
            (3, 'model_providers.local.base_url="{url}"', "http://127.0.0.1:18093/v1"),
        ),
        (
            ["codex", "exec", "-p", "other", "hi"],
            LOCAL,
            (1, 'model_providers.far.base_url="{url}"', "https://far/v1"),
        ),
        (
            ["codex", "exec", "-c", "model_provider=far", "hi"],
            LOCAL,
            (4, 'model_providers.far.base_url="{url}"', "https://far/v1"),
        ),
        (
            ["codex", "-c", 'openai_base_url="http://x/v1"', "exec", "hi"],
            "",
            (3, 'openai_base_url="{url}"', "http://x/v1"),
        ),
        (["codex", "exec", "hi"], 'model_provider = "ollama"', None),
        (["codex", "exec", "hi"], 'model_provider = "a.b"', None),
        (["codex", "exec", "hi"], "model_provider = [", None),
        (["codex", "exec", "hi"], "model_provider = 7\nmodel_providers = 7", None),
        (["sh", "-c", "codex exec hi"], LOCAL, None),
    ],
)
def test_where_the_option_goes_and_what_it_stands_for(option_for, argv, config, expected):
    assert told(option_for(argv, config)) == expected


def test_with_a_key_it_asks_its_own_server_and_with_an_account_nobody_knows(option_for):
    option = option_for(["codex", "exec", "hi"], CODEX_API_KEY="k")
    assert told(option) == (1, 'openai_base_url="{url}"', OWN)


def test_without_any_home(tmp_path):
    assert codex_option(["codex", "exec", "hi"], Surroundings({}, tmp_path)) is None
