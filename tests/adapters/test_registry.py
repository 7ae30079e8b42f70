"""`instrument` and `uninstrument`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from llmphases.adapters.registry import _SDKS, instrument, uninstrument
from llmphases.capture import current
from llmphases.capture.children import instrumentation
from llmphases.capture.children.hooks import hooks
from llmphases.errors import ArgumentError


@pytest.fixture(autouse=True)
def _off_again():
    yield
    uninstrument()


def test_by_default_it_is_everything():
    done = instrument()
    found = {*done.hooked, *done.skipped}
    assert {"subprocess", "openai", "anthropic", "bedrock", "urllib3"} <= found


@pytest.mark.parametrize("names", [("subprocess",), ("subprocess", "subprocess")])
def test_it_says_what_was_hooked(names):
    current.wired()  # the hooks come before the first call
    plain = subprocess.Popen.__init__
    done = instrument(*names)
    assert (done.hooked, done.skipped) == (("subprocess",), {})
    assert subprocess.Popen.__init__ is not plain
    uninstrument(*names)
    assert subprocess.Popen.__init__ is plain


def test_what_cannot_be_hooked_is_skipped_with_the_reason(monkeypatch):
    monkeypatch.setattr(instrumentation.os, "name", "nt")
    done = instrument("subprocess")
    assert done.hooked == ()
    assert "POSIX" in done.skipped["subprocess"]


@pytest.mark.parametrize("sdk", _SDKS, ids=lambda sdk: sdk.name)
def test_the_versions_are_those_that_the_readme_names(sdk):
    *whole, last = sdk.before
    since, to = (".".join(map(str, v)) for v in (sdk.since, (*whole, last - 1)))
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    (versions,) = re.findall(rf"^\| `{sdk.name}`[^|]*\| ([^|]*) \|", readme, re.MULTILINE)
    assert versions.removesuffix(".x") == f"{since} to {to}"


@pytest.mark.parametrize("do", [instrument, uninstrument])
def test_a_name_that_is_not_known_is_said_so(do):
    with pytest.raises(ArgumentError, match=r"'openia'; there is: .*openai, subprocess"):
        do("openia")
    assert not hooks.is_on
