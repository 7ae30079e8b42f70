from __future__ import annotations

import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

import grafana_foundation_sdk  # noqa: F401  # without it these are left out
import pytest

from dashboards.answers import Asked, courses, legend_of, numbers
from dashboards.model import Kind, Panel, Query

QUERY = Query('sum by (a) (x{job=~"$job"}[$__range])', "{{a}} of {{b}}")
PANEL = Panel(
    title="A", shows="B.", advice="C.", kind=Kind.BARS, unit="s", queries=(QUERY,)
)  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "expected"),
    [({"a": "1", "b": "2"}, "1 of 2"), ({"a": "1"}, "1 of"), ({}, "of")],
)
def test_a_label_that_is_not_there_is_nothing(labels, expected):
    assert legend_of(QUERY, labels) == expected


class Prometheus(HTTPServer):
    """Answers every query with one series, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, str]] = []


class Handler(BaseHTTPRequestHandler):
    server: Prometheus

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = dict(urllib.parse.parse_qsl(body))
        self.server.asked.append({**asked, "path": self.path})
        series = {"metric": {"a": "x", "b": "y"}}
        if "start" in asked:
            series["values"] = [[990.0, "1"], [1000.0, "2.5"]]
        else:
            series["value"] = [1000.0, "7"]
        answer = json.dumps({"data": {"result": [series]}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def prometheus():
    with Prometheus() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_numbers_are_asked_at_the_end_and_courses_over_the_range(prometheus):
    url = f"http://127.0.0.1:{prometheus.server_port}"
    asked = Asked(url=url, end_s=1000, window_s=60, step_s=10, chosen={"job": "boxes"})
    assert numbers(PANEL, asked) == {"x of y": 7.0}
    assert courses(PANEL, asked) == {"x of y": [(-10.0, 1.0), (0.0, 2.5)]}
    once, over = prometheus.asked
    query = 'sum by (a) (x{job=~"boxes"}[60s])'
    assert once == {"path": "/api/v1/query", "query": query, "time": "1000"}
    assert (over["path"], over["query"]) == ("/api/v1/query_range", query)
    assert (float(over["start"]), float(over["end"]), float(over["step"])) == (940, 1000, 10)
