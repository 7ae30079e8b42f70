"""What is shipped to start the backends with: valid, complete, pinned, for this machine only."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request

import pytest

from backends.servers import COMPOSE_FILE, ROOT, Jaeger, Ports, Prometheus, compose

pytest.importorskip("yaml")  # of the dev extra

SERVICES = compose()["services"]
services = pytest.mark.parametrize("name", sorted(SERVICES))
UI = json.loads((ROOT / "deploy/jaeger/ui.json").read_text("utf-8"))
DASHBOARDS = ROOT / "deploy/grafana/dashboards"


def output_of(*command):
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


# --- the compose file ---------------------------------------------------------------------------
@services
def test_an_image_is_pinned_to_a_release(name):
    assert re.fullmatch(r"[a-z]+/[a-z]+:v?\d+\.\d+\.\d+", SERVICES[name]["image"])


@services
def test_a_port_is_open_on_this_machine_only(name):
    ports = SERVICES[name].get("ports", [])
    assert [port for port in ports if not re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port)] == []


@services
def test_what_is_mounted_is_there_and_read_only_or_a_named_volume(name):
    for mount in SERVICES[name]["volumes"]:
        source, *rest = mount.split(":")
        if source.startswith("."):
            assert (ROOT / source).exists()
            assert rest[1:] == ["ro"]
        else:
            assert source in compose()["volumes"]


@services
def test_a_service_starts_after_what_it_needs_and_says_when_it_is_well(name):
    service = SERVICES[name]
    for needed, how in service.get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert SERVICES[needed]["healthcheck"]["test"]
        else:
            assert how["condition"] == "service_completed_successfully"
            assert "restart" not in SERVICES[needed]
    assert "healthcheck" in service or "restart" not in service


def test_the_one_endpoint_for_traces_and_metrics_is_jaegers():
    open_at = {
        port.split(":")[1]: name for name in SERVICES for port in SERVICES[name].get("ports", [])
    }
    assert open_at == {
        "4317": "jaeger",
        "4318": "jaeger",
        "16686": "jaeger",
        "9090": "prometheus",
        "3000": "grafana",
    }


def test_files_that_the_services_are_told_of_are_mounted():
    """Each path in a container that begins with that of a mount is a file of ours."""
    for service in SERVICES.values():
        mounts = [mount.split(":") for mount in service["volumes"] if mount.startswith(".")]
        told = [*service.get("command", []), *service.get("environment", {}).values()]
        for text in told:
            path = text.partition("=")[2] or text
            for source, target, _ in mounts:
                if path.startswith(target + "/"):
                    assert (ROOT / source / path.removeprefix(target + "/")).is_file(), path


def test_nobody_can_log_in_to_grafana_with_a_password_that_everybody_knows():
    said = SERVICES["grafana"]["environment"]
    assert said["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == "true"
    assert said["GF_AUTH_DISABLE_LOGIN_FORM"] == "true"
    assert said["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "${LLMPHASES_GRAFANA_ROLE:-Viewer}"


def test_grafana_is_told_each_address_that_its_configuration_asks_for():
    asked = set()
    for path in (ROOT / "deploy/grafana/provisioning").rglob("*.y*ml"):
        asked |= set(re.findall(r"(?<!\$)\$\{?([A-Z][A-Z_]+)\}?", path.read_text("utf-8")))
    assert asked
    assert asked - set(SERVICES["grafana"]["environment"]) == set()


# --- links --------------------------------------------------------------------------------------
def test_links_of_jaeger_lead_to_dashboards_that_exist():
    uids = {json.loads(path.read_text("utf-8"))["uid"] for path in DASHBOARDS.glob("*.json")}
    urls = [link["url"] for link in UI["linkPatterns"]]
    linked = {re.match(r"http://localhost:3000/d/([a-z-]+)", url).group(1) for url in urls}
    assert len(linked) > 1
    assert linked - uids == set()


def test_variables_in_links_are_variables_of_the_dashboards():
    by_uid = {}
    for path in DASHBOARDS.glob("*.json"):
        dashboard = json.loads(path.read_text("utf-8"))
        by_uid[dashboard["uid"]] = {each["name"] for each in dashboard["templating"]["list"]}
    for link in UI["linkPatterns"]:
        uid = link["url"].partition("/d/")[2].partition("?")[0]
        assert set(re.findall(r"var-([a-z]+)=", link["url"])) <= by_uid[uid]


def test_jaegers_links_use_what_a_trace_has():
    """In a link of another kind, or with a name that a trace has not, Jaeger shows no link."""
    for link in UI["linkPatterns"]:
        names = re.findall(r"#\{([^}|]+?)\s*[|}]", link["url"] + link["text"])
        known = {"startTime", "endTime", "duration", "traceID", "traceName"}
        assert set(names) <= (known if link["type"] == "traces" else {link["key"]})


# --- by the programs themselves -----------------------------------------------------------------
def test_docker_compose_finds_nothing_wrong(built):
    assert output_of(built("docker-compose"), "-f", COMPOSE_FILE, "config", "--quiet") == (0, "")


def test_docker_compose_reads_the_images_that_the_tests_were_made_for(built):
    _, images = output_of(built("docker-compose"), "-f", COMPOSE_FILE, "config", "--images")
    assert set(images.split()) == {
        "jaegertracing/jaeger:2.20.0",
        "prom/prometheus:v3.16.0",
        "grafana/grafana:13.2.0",
    }


def test_jaeger_finds_nothing_wrong(built):
    code, said = output_of(
        built("jaeger"), "validate", "--config", ROOT / "deploy/jaeger/config.yaml"
    )
    assert code == 0, said


def test_prometheus_finds_nothing_wrong(built):
    code, said = output_of(
        built("promtool"), "check", "config", ROOT / "deploy/prometheus/prometheus.yml"
    )
    assert code == 0, said
    assert "SUCCESS" in said


def test_the_flags_of_the_compose_file_are_those_of_the_tests(built, tmp_path):
    """They are read from it; what differs is where the data is and on which port."""
    told = Prometheus(tmp_path, Ports()).command()
    shipped = SERVICES["prometheus"]["command"]
    differs = [flag.partition("=")[0] for flag in shipped if flag not in told]
    assert differs == ["--config.file", "--storage.tsdb.path"]
    (features,) = [flag for flag in told if flag.startswith("--enable-feature=")]
    for feature in features.partition("=")[2].split(","):
        for text in ("deploy/prometheus/prometheus.yml", "docs/backends.md"):
            assert feature in (ROOT / text).read_text("utf-8")


def test_no_page_of_elsewhere_may_read_what_prometheus_has_or_write_to_it(stack):
    """As a browser asks first: it obeys what the answer allows."""
    for path, method in (("/api/v1/labels", "GET"), ("/api/v1/otlp/v1/metrics", "OPTIONS")):
        request = urllib.request.Request(
            f"{stack.prometheus_url}{path}",
            method=method,
            headers={"Origin": "http://elsewhere.org"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert "Access-Control-Allow-Origin" not in answer.headers
    assert "--web.cors.origin=http://localhost:9090" in (ROOT / "docs/backends.md").read_text(
        "utf-8"
    )


def test_jaeger_ports_that_nobody_set_are_those_of_the_compose_file():
    text = (ROOT / "deploy/jaeger/config.yaml").read_text("utf-8")
    defaults = dict(re.findall(r"\$\{env:JAEGER_([A-Z_]+)_PORT:-(\d+)\}", text))
    assert defaults == {
        "HEALTH": "13133",
        "QUERY_HTTP": "16686",
        "QUERY_GRPC": "16685",
        "OTLP_GRPC": "4317",
        "OTLP_HTTP": "4318",
    }


def test_every_variable_that_is_set_for_jaeger_is_one_that_its_configuration_reads(tmp_path):
    text = (ROOT / "deploy/jaeger/config.yaml").read_text("utf-8")
    read = set(re.findall(r"\$\{env:([A-Z_]+):-", text))
    assert set(SERVICES["jaeger"]["environment"]) <= read
    assert set(Jaeger(tmp_path, Ports(), prometheus_url="").environment()) <= read
