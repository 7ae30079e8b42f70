from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from llmphases.cli.deploy_files import COMPOSE_FILE, deploy_files
from llmphases.cli.main import main


def export(*arguments: object) -> int:
    return main(["dashboards", "export", *map(str, arguments)])


def test_export_writes_all_files_and_says_which_and_what_comes_next(tmp_path, capsys):
    folder = tmp_path / "some where" / "new"
    assert export(folder) == 0
    for place, content in deploy_files().items():
        assert (folder / place).read_bytes() == content
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"written into {folder}:\n  deploy/")
    for place in deploy_files():
        assert f"  {place}\n" in out
    assert f"  cd '{folder}'\n  docker compose -f {COMPOSE_FILE} up -d --wait\n" in out


def test_the_servers_can_read_what_they_mount_whatever_the_umask(tmp_path):
    """In their containers they are users of their own; who enters `folder` is left as it was."""
    folder = tmp_path / "above" / "new"
    before = os.umask(0o077)
    try:
        assert export(folder) == 0
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o755}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o644}
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700


def test_as_json_it_is_the_same(tmp_path, capsys):
    assert export(tmp_path, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["folder"] == str(tmp_path)
    assert said["files"] == [str(place) for place in deploy_files()]
    assert said["next"][0] == f"cd {tmp_path}"


def test_what_differs_is_not_overwritten_and_nothing_else_is_written_then(tmp_path, capsys):
    (tmp_path / COMPOSE_FILE).write_text("my own\n")
    assert export(tmp_path) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"llmphases: not overwritten: {COMPOSE_FILE} in {tmp_path}; give another folder, or "
        f"--force\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [COMPOSE_FILE]
    assert (tmp_path / COMPOSE_FILE).read_text() == "my own\n"


def test_many_files_in_the_way_are_told_in_one_line(tmp_path, capsys):
    assert export(tmp_path) == 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.write_text("changed")
    capsys.readouterr()
    assert export(tmp_path) == 2
    err = capsys.readouterr().err
    assert f"and {len(deploy_files()) - 3} more in {tmp_path}" in err
    assert err.count("\n") == 1


def test_force_overwrites(tmp_path):
    (tmp_path / COMPOSE_FILE).write_text("an older one\n")
    assert export(tmp_path, "--force") == 0
    assert (tmp_path / COMPOSE_FILE).read_bytes() == {
        str(place): content for place, content in deploy_files().items()
    }[COMPOSE_FILE]


def test_the_same_files_again_are_no_obstacle(tmp_path):
    assert export(tmp_path) == 0
    assert export(tmp_path) == 0


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("no folder")
    assert export(tmp_path / "file" / "below") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"llmphases: cannot write {tmp_path / 'file'}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("wrong", [[], ["exprt"], ["export"], ["export", "d", "--frce"]])
def test_wrong_usage_is_exit_2_and_shows_what_there_is(wrong, capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["dashboards", *wrong])
    assert leaving.value.code == 2
    assert capsys.readouterr().err.startswith("usage: llmphases dashboards ")


@pytest.mark.parametrize("asked", [["--help"], ["export", "--help"]])
def test_help_shows_examples(asked, capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["dashboards", *asked])
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    assert "examples:\n  llmphases dashboards export llm-dashboards\n" in out
    assert "Exit status: 0 all well" in out


def test_nothing_is_written_where_the_command_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert export("below") == 0
    assert [path.name for path in Path.cwd().iterdir()] == ["below"]
