"""CPython's own tests of subprocesses pass with our hooks around them, on every Python here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OTHERS = sorted(ROOT.glob("build/pythons/*/bin/python"))  # as `make test-pythons` has made them
PROGRAM = Path(__file__).with_name("cpython_suite.py")
SUITES = ("test_subprocess", "test_asyncio.test_subprocess", "test_popen")


def run(python, how, folder, names=SUITES):
    """What the suite says; skips where this Python came without its tests."""
    done = subprocess.run(
        [python, PROGRAM, how, *names], cwd=folder, capture_output=True, text=True, check=False
    )
    if "No module named 'test." in done.stderr:
        pytest.skip(f"{python} came without its own tests")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "llmphases: a fault" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def failing(found):
    """The names of what has failed, as the program takes them."""
    return sorted({re.search(r"\(test\.(.+)\)", test)[1] for test in found["failed"]})


@pytest.mark.cpython
@pytest.mark.slow
@pytest.mark.parametrize("python", [Path(sys.executable), *OTHERS], ids=str)
def test_programs_do_not_feel_the_hooks(python, tmp_path):
    hooked = run(python, "hooked", tmp_path)
    assert hooked["run"] > 400
    assert hooked["children"] > 1000
    assert hooked["calls"] == 1
    for _ in range(3):  # some depend on time, and fail by themselves on a busy machine
        if not hooked["failed"]:
            return
        hooked = run(python, "hooked", tmp_path, failing(hooked))
    if hooked["failed"]:  # some fail by themselves on an unusual one
        plain = run(python, "plain", tmp_path, failing(hooked))
        assert set(failing(hooked)) <= set(failing(plain)), hooked["why"]
