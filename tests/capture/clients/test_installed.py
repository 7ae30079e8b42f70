"""Versions by the names of folders are those that `importlib.metadata` tells."""

from __future__ import annotations

import importlib.metadata
import re

import pytest

from llmphases.adapters.registry import _HTTP, _SDKS
from llmphases.capture.clients.installed import Versions, is_there


def numbers(text):
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


@pytest.mark.parametrize("sdk", [*_SDKS, *_HTTP], ids=lambda sdk: sdk.name)
def test_of_each_client_it_is_what_its_metadata_says(sdk):
    try:
        wanted = numbers(importlib.metadata.version(sdk.distribution))
    except importlib.metadata.PackageNotFoundError:
        wanted = None
    assert Versions().of(sdk.distribution) == wanted


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["some_thing", "Some.Thing", "some-thing"])
@pytest.mark.parametrize("asked", ["some_thing", "Some.Thing", "some-thing"])
def test_names_are_the_same_however_they_are_written(folder, name, asked):
    (folder / f"{name.replace('-', '_')}-3.14.1b0.dist-info").mkdir()
    assert Versions().of(asked) == (3, 14, 1)


def test_what_comes_first_on_the_path_is_what_is_imported(folder, tmp_path_factory, monkeypatch):
    (folder / "twice-1.0.0.dist-info").mkdir()
    first = tmp_path_factory.mktemp("first")
    (first / "twice-2.0.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(first)
    assert Versions().of("twice") == (2, 0, 0)


def test_what_stands_in_no_folder_of_that_name_is_asked_of_its_metadata(folder):
    info = folder / "in_an_egg.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: in_an_egg\nVersion: 7.1\n")
    assert Versions().of("in_an_egg") == (7, 1)


def test_what_nobody_can_tell_is_unknown():
    assert Versions().of("there is none") is None


def test_a_path_that_is_no_folder_does_no_harm(monkeypatch):
    monkeypatch.syspath_prepend("/not/to/be/found")
    assert Versions().of("pytest") is not None


@pytest.mark.parametrize(
    ("package", "expected"),
    [("pytest", True), ("asyncio", True), ("not_to_be_found", False), ("no.such.place", False)],
)
def test_whether_a_package_is_there(package, expected):
    assert is_there(package) is expected
