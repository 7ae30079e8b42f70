from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path, PurePosixPath

import pytest

import llmphases
from llmphases.cli import deploy_files as module
from llmphases.cli.deploy_files import COMPOSE_FILE, DASHBOARDS, MissingFilesError, deploy_files

ROOT = Path(__file__).parents[2]
HERE = {
    PurePosixPath(path.relative_to(ROOT).as_posix()): path.read_bytes()
    for path in [
        ROOT / COMPOSE_FILE,
        *(
            path
            for folder in ("grafana", "jaeger", "prometheus")
            for path in (ROOT / "deploy" / folder).rglob("*")
        ),
    ]
    if path.is_file()
}


def test_a_checkout_has_the_files_as_they_lie_in_it():
    assert deploy_files() == HERE
    assert DASHBOARDS / "first-token.json" in HERE


def test_what_the_compose_file_mounts_is_among_them():
    mounted = [
        line.strip().removeprefix("- ./").partition(":")[0]
        for line in HERE[PurePosixPath(COMPOSE_FILE)].decode().splitlines()
        if line.strip().startswith("- ./")
    ]
    assert mounted
    for folder in mounted:
        assert any(place.is_relative_to(folder) for place in deploy_files()), folder


def test_an_installation_without_the_files_says_where_they_are_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "files", lambda package: tmp_path / "a" / package)
    with pytest.raises(MissingFilesError, match="install llmphases again"):
        deploy_files()


@pytest.mark.slow
def test_a_wheel_in_a_fresh_environment_writes_the_same_files(tmp_path):
    """By a copy of the sources, so that no build leaves anything in them; without dependencies."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("src", "deploy"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", COMPOSE_FILE):
        shutil.copy(ROOT / name, copy)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, copy)
    (wheel,) = tmp_path.glob("llmphases-*.whl")
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    shutil.rmtree(copy)
    target = tmp_path / "exported"
    run(python.with_name("llmphases"), "dashboards", "export", target)
    assert {
        PurePosixPath(path.relative_to(target).as_posix()): path.read_bytes()
        for path in target.rglob("*")
        if path.is_file()
    } == HERE
    assert run(python, "-c", "import llmphases; print(llmphases.__version__)").strip() == (
        llmphases.__version__
    )


def run(*command: object) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, cwd="/"
    )
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("pip cannot fetch what builds a wheel")
    assert done.returncode == 0, done.stderr
    return done.stdout
