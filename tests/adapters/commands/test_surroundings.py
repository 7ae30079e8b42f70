"""What a command finds around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmphases.adapters.commands.surroundings import Surroundings, base_url, folder_of, json_of


@pytest.mark.parametrize("place", [".env", ".gemini/.env", "../.env", "../../.env", "home/.env"])
def test_variables_in_files_are_known_of(tmp_path, place):
    folder = tmp_path / "a" / "b" / "c"
    home = folder / "home"
    home.mkdir(parents=True)
    around = Surroundings({"HOME": str(home)}, folder)
    assert not around.named_in_a_file("BASE_URL")
    path = folder / place
    path.parent.mkdir(exist_ok=True)
    path.write_text("# BASE_URL=x\n  export BASE_URL=http://x\n")
    assert around.named_in_a_file("BASE_URL")
    assert not around.named_in_a_file("URL")
    assert not around.named_in_a_file("BASE")


def test_settings_that_are_none(tmp_path):
    assert json_of(tmp_path / "absent.json") == {}
    for text in ("", "[]", "{", "// a comment\n{}"):
        (tmp_path / "x.json").write_text(text)
        assert json_of(tmp_path / "x.json") == {}
    (tmp_path / "x.json").write_text('{"a": 1}')
    assert json_of(tmp_path / "x.json") == {"a": 1}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("http://host", "http://host"),
        (" https://host:1/v1/ ", "https://host:1/v1/"),
        ("http://me:it@host/v1", "http://me:it@host/v1"),
        ("https://host/v1?api-version=1", None),
        ("host:1", None),
        ("ftp://host", None),
        ("http://host:x", None),
        ("", None),
        (None, None),
    ],
)
def test_base_urls(value, expected):
    assert base_url(value) == expected


def test_folders(tmp_path):
    assert folder_of(None) == Path.cwd()
    assert folder_of(bytes(tmp_path)) == tmp_path
    assert folder_of("x") == Path.cwd() / "x"
