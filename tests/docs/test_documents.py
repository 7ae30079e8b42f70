"""The documents keep their promises: blocks compile, names, commands, targets and links exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import llmphases

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "benchmarks" / "README.md",
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
_FENCED = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#]+)")

documents = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)


def python_blocks():
    return [
        pytest.param(block, id=f"{path.name}-{n}")
        for path in DOCUMENTS
        for n, block in enumerate(_FENCED.findall(path.read_text("utf-8")))
    ]


def names_taken_from_us(code):
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "llmphases":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "llmphases":
            yield node.attr


@pytest.mark.parametrize("code", python_blocks())
def test_python_in_documents_compiles_and_names_what_exists(code):
    compile(code, "document", "exec")
    missing = [name for name in names_taken_from_us(code) if not hasattr(llmphases, name)]
    assert missing == []


@documents
def test_links_lead_to_files(path):
    targets = [link for link in _LINK.findall(path.read_text("utf-8")) if "://" not in link]
    missing = [link for link in targets if not (path.parent / link).exists()]
    assert missing == []


@documents
def test_make_targets_exist(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    fenced = re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", path.read_text("utf-8"), re.MULTILINE)
    named = {one or other for one, other in fenced}
    assert named - targets == set()


@pytest.fixture(scope="module")
def help_text():
    pytest.importorskip("llmphases.cli.main")
    command = [sys.executable, "-m", "llmphases", "--help"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@documents
def test_commands_exist(path, help_text):
    text = path.read_text("utf-8")
    named = set(re.findall(r"`llmphases ([a-z]+)[^`]*`|^llmphases ([a-z]+)", text, re.MULTILINE))
    missing = {one or other for one, other in named if (one or other) not in help_text}
    assert missing == set()


def test_the_first_forty_lines_of_the_readme_hold_the_story_the_trial_and_the_code():
    start = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:40])
    for part in ("what you pay per call", "68 s", "make demo", "@traced_llm_call", "pip install"):
        assert part in start


def test_the_readme_names_every_python_that_is_tested():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    versions = re.findall(r"Python :: (3\.\d+)", project)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert versions
    assert [version for version in versions if version not in readme] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_and_leave_a_trace(path, tmp_path):
    command = [sys.executable, str(path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert (tmp_path / "llmphases-traces.jsonl").stat().st_size > 0
