"""The tables in the documents say what the package says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from llmphases import conventions

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_tables_are_fresh(generate):
    stale = [
        path.name
        for path in generate.DOCUMENTS
        if generate.filled(path.read_text()) != path.read_text()
    ]
    assert stale == [], "make docs writes them anew"


def test_the_tables_are_where_they_are_promised(generate):
    marked = [generate._MARKED.findall(path.read_text()) for path in generate.DOCUMENTS]
    assert {name for found in marked for _, name, _ in found} == set(generate.TABLES)


def test_every_attribute_is_described(generate):
    not_attributes = {
        conventions.SCOPE,
        conventions.OURS,
        conventions.REPORTED_PREFIX,
        conventions.DEFAULT_FILE,
        conventions.RETRIEVAL_OPERATION,
        conventions.OTHER_ERROR,  # a value
        conventions.TIMEOUT_ERROR,  # likewise
        conventions.TOKEN_TYPE,  # of the old token metric only
        conventions.METRIC_REASON,  # of a metric only
        conventions.PROCESS_EXECUTABLE_NAME,  # not written yet: child processes
        conventions.PROCESS_PID,
        conventions.PROCESS_EXIT_CODE,
    }
    names = {
        value
        for name, value in vars(conventions).items()
        if name.isupper() and isinstance(value, str) and not name.startswith("ENV_")
    }
    assert names - not_attributes - set(generate.ATTRIBUTES) == set()


def test_every_setting_is_described(generate):
    settings = {value for name, value in vars(conventions).items() if name.startswith("ENV_")}
    assert settings == set(generate.SETTINGS)
