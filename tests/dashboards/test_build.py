from __future__ import annotations

import grafana_foundation_sdk  # noqa: F401  # without it these are left out
import yaml

from dashboards import build
from dashboards.build import BOARDS, ROOT, generated, main


def test_what_is_generated_is_fresh():
    stale = [
        str(path.relative_to(ROOT))
        for path, text in generated().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    assert stale == [], "make dashboards"


def test_nothing_else_is_among_what_is_generated():
    folder = ROOT / "deploy" / "grafana" / "dashboards"
    assert {path.name for path in folder.iterdir()} == {f"{board.name}.json" for board in BOARDS}


def test_what_is_stale_is_written_or_told(tmp_path, monkeypatch, capsys):
    file = tmp_path / "new" / "a.json"
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "generated", lambda: {file: "text\n"})
    assert main(["--check"]) == 1
    assert not file.exists()
    assert "new/a.json is stale: make dashboards" in capsys.readouterr().err
    assert main([]) == 0
    assert file.read_text() == "text\n"
    assert main(["--check"]) == 0


def test_grafana_opens_with_the_first_board():
    compose = yaml.safe_load((ROOT / "docker-compose.jaeger.yml").read_text("utf-8"))
    grafana = compose["services"]["grafana"]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    mounted = {
        inside: outside
        for outside, inside, *_ in (volume.split(":") for volume in grafana["volumes"])
    }
    folder, _, name = home.rpartition("/")
    assert (ROOT / mounted[folder] / name) in generated()
    assert name == f"{BOARDS[0].name}.json"
