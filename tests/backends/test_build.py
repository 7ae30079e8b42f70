"""How the servers are built; the building itself takes minutes and is `make backends`."""

from __future__ import annotations

import shutil

from backends import build


def test_what_was_built_is_not_built_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "_build", None)  # would raise
    for server in build.SERVERS:
        server.folder.mkdir(parents=True)
        for name, _ in server.programs:
            (server.folder / name).touch()
    assert build.main() == 0
    assert "ready" in capsys.readouterr().out


def test_without_go_it_says_so_and_is_content(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert build.main() == 0
    assert "Go is not here" in capsys.readouterr().out


def test_a_build_that_fails_says_which_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/go")
    monkeypatch.setattr(build, "_run", lambda name, command, place: command[1] != "build")
    assert build.main() == 1
    said = capsys.readouterr().out
    assert "could not be built: prometheus, jaeger, docker-compose" in said
    assert [path.name for path in build.cache().iterdir()] == [".lock"]


def test_what_an_earlier_build_left_when_it_was_killed_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/go")
    monkeypatch.setattr(build, "_run", lambda name, command, place: False)
    (build.cache() / ".building-x").mkdir(parents=True)
    build.main()
    assert not (build.cache() / ".building-x").exists()


def test_only_what_is_missing_is_built(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = build.PROMETHEUS.folder
    folder.mkdir(parents=True)
    (folder / "prometheus").touch()
    assert build.PROMETHEUS.missing == [("promtool", "cmd/promtool")]


def test_a_failing_command_shows_what_it_said(tmp_path, capsys):
    assert not build._run("x", ["sh", "-c", "echo why; exit 3"], tmp_path)
    said = capsys.readouterr().out
    assert "exit code 3" in said
    assert "why" in said
