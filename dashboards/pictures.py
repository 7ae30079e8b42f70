"""Draws docs/pictures/*.png: each board, from what a real Prometheus answers after real programs.

`llmphases demo` runs, and beside it a program whose calls are retried, time out and use a cache.
They run against what tests/backends run against: the shipped configuration on free ports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from dashboards.answers import Asked, courses, numbers
from dashboards.build import BOARDS, ROOT
from dashboards.canvas import Answer, draw
from dashboards.model import Board, Panel

PICTURES = ROOT / "docs" / "pictures"
_DEMO = "llmphases-demo"
_PUSH_EVERY_S = 1
_RATE_INTERVAL_S = 5.0
_MARGIN_S = 4.0
_BESIDE_AFTER_S = 8.0
_OF_ALL = "parallelism"
"""The board that shows what the demo does not do: retries, time-outs, a cache."""


def main() -> int:
    """Run, ask, draw."""
    sys.path.insert(0, str(ROOT / "tests"))
    servers: Any = import_module("backends.servers")
    with tempfile.TemporaryDirectory() as folder, servers.started(Path(folder)) as stack:
        print("the demo runs ...", flush=True)
        began_s = time.time()
        _run_programs(stack, Path(folder))
        _wait_until_all_is_there(stack)
        end_s = time.time()
        for board in BOARDS:
            path = PICTURES / f"{board.name}.png"
            _draw(board, stack.prometheus_url, began_s, end_s, path)
            print(f"{path.relative_to(ROOT)} written, {path.stat().st_size // 1000} kB")
    return 0


def _run_programs(stack: Any, folder: Path) -> None:
    environment = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": stack.otlp_endpoint,
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{stack.otlp_endpoint}/v1/metrics",
        "OTEL_METRIC_EXPORT_INTERVAL": str(_PUSH_EVERY_S * 1000),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "llmphases", "demo"],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
    ) as demo:
        time.sleep(_BESIDE_AFTER_S)
        programs: Any = import_module("backends.panel_programs")
        import_module("backends.workload").send(stack, folder / "beside", "chat", programs.TROUBLE)
    if demo.returncode:
        raise SystemExit(f"llmphases demo has failed ({demo.returncode})")


def _wait_until_all_is_there(stack: Any) -> None:
    for job in (_DEMO, "chat"):
        stack.wait_for(f'{{job="{job}"}}')
    time.sleep(_MARGIN_S)


def _draw(board: Board, url: str, began_s: float, end_s: float, path: Path) -> None:
    job = ".*" if board.name == _OF_ALL else _DEMO
    asked = Asked(
        url=url,
        end_s=end_s,
        window_s=float(round(end_s - began_s)),
        step_s=_PUSH_EVERY_S,
        rate_interval_s=_RATE_INTERVAL_S,
        chosen={"job": job},
    )
    who = "all services" if board.name == _OF_ALL else f"service {_DEMO}"
    draw(board, answers_to(board, asked), f"{who}, 30 times as fast as the real case", path)


def answers_to(board: Board, asked: Asked) -> dict[str, Answer]:
    """What each panel shows, by its title."""
    return {panel.title: _answer(panel, asked) for panel in board.panels}


def _answer(panel: Panel, asked: Asked) -> Answer:
    if panel.kind.is_over_the_range:
        return Answer(numbers(panel, asked), {})
    return Answer({}, courses(panel, asked))


if __name__ == "__main__":
    sys.exit(main())
