"""How commands are pointed at the tap; a base URL is replaced only where it is certain."""

from __future__ import annotations

import json

import pytest

from llmphases.adapters.commands.routes import route_for


@pytest.fixture
def around(tmp_path):
    """A folder and a home with nothing in them."""
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home)}, tmp_path


def routed(around, argv, **env):
    home, folder = around
    return route_for(argv, {**home, **env}, folder)


CLAUDE = {"ANTHROPIC_BASE_URL": "https://api.anthropic.com"}
OLLAMA = {"OLLAMA_HOST": "http://127.0.0.1:11434"}


@pytest.mark.parametrize(
    ("argv", "variables"),
    [
        (["claude", "-p", "hi"], CLAUDE),
        (["npx", "-y", "@anthropic-ai/claude-code", "-p", "hi"], CLAUDE),
        (["sh", "-c", "cd x && claude -p hi"], CLAUDE),
        (["ollama", "run", "m", "hi"], OLLAMA),
        (
            ["opencode", "run", "hi"],
            {
                "ANTHROPIC_BASE_URL": "https://api.anthropic.com/v1",
                "OPENAI_BASE_URL": "https://api.openai.com/v1",
            },
        ),
    ],
)
def test_programs_that_are_told_by_a_variable(around, argv, variables):
    route = routed(around, argv)
    assert (route.variables, route.options, route.proxied) == (variables, (), False)


@pytest.mark.parametrize("argv", [["qwen", "-p", "hi"], ["copilot", "-p", "hi"], ["gemini", "hi"]])
def test_without_a_certain_base_url_there_is_the_proxy(around, argv):
    route = routed(around, argv)
    assert (route.variables, route.proxied) == ({}, True)


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["claude", "-p", "hi"], "ANTHROPIC_BASE_URL"),
        (["qwen", "-p", "hi"], "OPENAI_BASE_URL"),
        (["gemini", "hi"], "GOOGLE_GEMINI_BASE_URL"),
        (["copilot", "-p", "hi"], "COPILOT_PROVIDER_BASE_URL"),
        (["codex", "exec", "--oss", "hi"], "CODEX_OSS_BASE_URL"),
    ],
)
def test_a_variable_that_is_set_is_certain(around, argv, name):
    route = routed(around, argv, **{name: "http://gateway:8080/v1"})
    assert (route.variables, route.proxied) == ({name: "http://gateway:8080/v1"}, False)


def test_variables_that_would_lead_it_here_are_named(around):
    assert routed(around, ["qwen", "-p", "hi"]).unset == ("OPENAI_BASE_URL",)
    assert routed(around, ["qwen", "-p", "hi"], OPENAI_BASE_URL="http://gateway").unset == ()
    assert routed(around, ["python3", "ask.py"]).unset[0] == "OPENAI_BASE_URL"


def test_llm_has_built_in_models_and_others(around):
    route = routed(around, ["llm", "hi"])
    assert route.variables["OPENAI_BASE_URL"] == "https://api.openai.com/v1"
    assert route.proxied


@pytest.mark.parametrize("name", ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"])
def test_claude_by_another_cloud(around, name):
    route = routed(around, ["claude", "-p", "hi"], **{name: "1"})
    assert (route.variables, route.proxied) == ({}, True)


def test_a_variable_in_a_file_of_the_commands_own_is_not_hidden(around):
    (around[1] / ".env").write_text("ANTHROPIC_BASE_URL=https://gateway\n")
    assert routed(around, ["claude", "-p", "hi"]).variables == {}


@pytest.mark.parametrize(
    ("settings", "is_known"),
    [
        ({"security": {"auth": {"selectedType": "gemini-api-key"}}}, True),
        ({"selectedAuthType": "gemini-api-key"}, True),
        ({"security": {"auth": {"selectedType": "oauth-personal"}}}, False),
        ({"security": []}, False),
        ([], False),
    ],
)
@pytest.mark.parametrize("place", ["home", "."])
def test_gemini_needs_a_kind_of_authentication_in_its_settings(around, settings, is_known, place):
    folder = around[1] / place / ".gemini"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(settings))
    route = routed(around, ["gemini", "hi"])
    expected = {"GOOGLE_GEMINI_BASE_URL": "https://generativelanguage.googleapis.com"}
    assert route.variables == (expected if is_known else {})
    assert route.proxied is not is_known


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("box", "http://box:11434"),
        ("box:80", "http://box:80"),
        (":8080", "http://127.0.0.1:8080"),
        ("https://box/ollama", "https://box/ollama"),
        ("b o x:", None),
    ],
)
def test_ollama_hosts(around, said, expected):
    route = routed(around, ["ollama", "run", "m"], OLLAMA_HOST=said)
    assert route.variables.get("OLLAMA_HOST") == expected


def test_a_server_of_ollama_is_left_alone(around):
    route = routed(around, ["ollama", "serve"], OLLAMA_HOST="127.0.0.1:8080")
    assert (route.variables, route.proxied) == ({}, False)
    assert routed(around, ["x"], OLLAMA_HOST="0.0.0.0").variables == {}


def test_of_other_programs_what_is_set_is_replaced_and_nothing_is_made_up(around):
    route = routed(around, ["python", "-c", "x"], OPENAI_BASE_URL="http://h/v1", OLLAMA_HOST="h:1")
    assert route.variables == {"OPENAI_BASE_URL": "http://h/v1", "OLLAMA_HOST": "http://h:1"}
    assert route.proxied
    assert routed(around, ["python", "-c", "x"]).variables == {}


@pytest.mark.parametrize("value", ["", "  ", "nothing", "http://h/v1?x=1"])
def test_a_variable_that_holds_no_base_url_stays(around, value):
    assert routed(around, ["tool"], OPENAI_BASE_URL=value).variables == {}


def test_words_of_any_kind(around):
    assert routed(around, [b"claude", around[1] / "x"]).variables == CLAUDE
