"""What is shipped for the scale path: valid, complete, pinned, and of the versions tested here."""

from __future__ import annotations

import re
import subprocess
from xml.etree import ElementTree

import pytest

from backends.scale import parts
from backends.scale.roles import COMPOSE_FILE, CONFIG, compose
from backends.servers import ROOT
from backends.servers import compose as one_machine

yaml = pytest.importorskip("yaml")  # of the dev extra

COMPOSE = compose()
SERVICES = COMPOSE["services"]
COLLECTOR_FILES = sorted(CONFIG.glob("*.yaml"))
services = pytest.mark.parametrize("name", sorted(SERVICES))
collector_files = pytest.mark.parametrize("path", COLLECTOR_FILES, ids=lambda path: path.stem)
ROLE_OF = {
    name: service["command"][1].rpartition("/")[2]
    for name, service in SERVICES.items()
    if service.get("command", [""])[0] == "--config"
}
"""Service -> the file in deploy/scale that it is started with."""


def output_of(*command):
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def variables(path):
    """Variable -> default, of those that a file reads."""
    return dict(re.findall(r"\$\{env:([A-Z_]+):-([^}]*)\}", path.read_text("utf-8")))


# --- the compose file ---------------------------------------------------------------------------
@services
def test_an_image_is_pinned_to_a_release(name):
    assert re.fullmatch(r"[a-z]+/[a-z-]+:v?\d+\.\d+\.\d+", SERVICES[name]["image"])


@services
def test_a_port_is_open_on_this_machine_only(name):
    ports = SERVICES[name].get("ports", [])
    assert [port for port in ports if not re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port)] == []


@services
def test_what_runs_several_times_opens_no_port_of_the_machine(name):
    service = SERVICES[name]
    assert "container_name" not in service
    assert not (service.get("deploy", {}).get("replicas", 1) > 1 and service.get("ports"))


@services
def test_what_is_mounted_is_there_and_read_only_or_a_named_volume(name):
    for mount in SERVICES[name].get("volumes", []):
        source, *rest = mount.split(":")
        if source.startswith("."):
            assert (ROOT / source).exists()
            assert rest[1:] == ["ro"]
        else:
            assert source in COMPOSE["volumes"]


def test_every_volume_is_somebodys():
    text = COMPOSE_FILE.read_text("utf-8")
    assert [name for name in COMPOSE["volumes"] if f"- {name}:/" not in text] == []


@services
def test_files_that_a_service_is_told_of_are_mounted(name):
    service = SERVICES[name]
    mounts = [each.split(":") for each in service.get("volumes", []) if each.startswith(".")]
    told = [*service.get("command", []), *service.get("entrypoint", [])]
    told += service.get("environment", {}).values()
    for text in told:
        path = re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", text.partition("=")[2] or text)
        for source, target, _ in mounts:
            if path.startswith(target + "/"):
                assert (ROOT / source / path.removeprefix(target + "/")).is_file(), path


@services
def test_a_service_starts_after_what_it_needs_and_somebody_says_when_it_is_well(name):
    service = SERVICES[name]
    for needed, how in service.get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert SERVICES[needed]["healthcheck"]["test"]
        elif how["condition"] == "service_completed_successfully":
            assert "restart" not in SERVICES[needed]
    # In the collector's own image there is nothing that could ask.
    asks_itself = not service["image"].startswith("otel/")
    assert ("healthcheck" in service) == (asks_itself and "restart" in service)


def test_the_gateway_is_looked_after_by_another():
    asked = SERVICES["gateway-watch"]["healthcheck"]["test"][-1]
    port = variables(CONFIG / "gateway.yaml")["GATEWAY_HEALTH_PORT"]
    assert asked == f"http://gateway:{port}/"


@pytest.mark.parametrize("name", [n for n in sorted(ROLE_OF) if "healthcheck" in SERVICES[n]])
def test_a_role_is_asked_at_the_port_where_it_answers(name):
    port = variables(CONFIG / ROLE_OF[name])["JAEGER_HEALTH_PORT"]
    assert SERVICES[name]["healthcheck"]["test"][-1] == f"http://127.0.0.1:{port}/status"


def test_what_programs_and_people_use_is_at_the_same_places_as_on_one_machine():
    def open_at(services):
        return {
            port.split(":")[1] for service in services.values() for port in service.get("ports", [])
        }

    assert open_at(SERVICES) == open_at(one_machine()["services"])


def test_what_both_compose_files_have_is_of_one_version():
    def images(services):
        return dict(service["image"].rsplit(":", 1) for service in services.values())

    here, there = images(SERVICES), images(one_machine()["services"])
    assert {name: here[name] for name in there} == there


def test_prometheus_has_the_same_flags_as_on_one_machine():
    def flags(services):
        return [
            each
            for each in services["prometheus"]["command"]
            if not each.startswith("--config.file=")
        ]

    assert flags(SERVICES) == flags(one_machine()["services"])


def test_the_data_of_both_compose_files_is_apart():
    assert COMPOSE["name"] != one_machine()["name"]


@pytest.mark.parametrize("name", sorted(ROLE_OF))
def test_a_role_is_told_only_what_its_file_reads(name):
    assert set(SERVICES[name]["environment"]) <= set(variables(CONFIG / ROLE_OF[name]))


@pytest.mark.parametrize("name", sorted(ROLE_OF))
def test_a_role_is_told_each_address_outside_its_container(name):
    """A default is this machine, and in a container that is nobody."""
    defaults = variables(CONFIG / ROLE_OF[name])
    elsewhere = {
        variable
        for variable, default in defaults.items()
        if variable != "HOSTNAME" and re.search(r"127\.0\.0\.1|localhost", default)
    }
    assert elsewhere <= set(SERVICES[name]["environment"])


@pytest.mark.parametrize("name", sorted(ROLE_OF))
def test_an_address_names_a_service_at_a_port_where_it_listens(name):
    listens = {"kafka": {"9092"}, "opensearch": {"9200"}, "prometheus": {"9090"}}
    listens["jaeger-collector"] = {
        SERVICES["jaeger-collector"]["environment"][f"JAEGER_OTLP_{kind}_PORT"]
        for kind in ("GRPC", "HTTP")
    }
    for value in SERVICES[name]["environment"].values():
        if found := re.fullmatch(r"(?:http://)?([a-z-]+):(\d+)", value):
            assert found.group(2) in listens[found.group(1)], value


def test_both_that_spans_may_go_to_listen_where_the_gateway_sends():
    port = SERVICES["gateway"]["environment"]["SPANS_TO_PORT"]
    assert SERVICES["jaeger-collector"]["environment"]["JAEGER_OTLP_GRPC_PORT"] == port
    assert SERVICES["sampler"]["environment"]["SAMPLER_OTLP_GRPC_PORT"] == port


def test_sampling_is_only_for_those_who_ask_for_it():
    assert SERVICES["sampler"]["profiles"] == ["sampling"]
    said = SERVICES["gateway"]["environment"]["SPANS_TO_HOST"]
    assert said == "${LLMPHASES_SPANS_TO:-jaeger-collector}"
    assert SERVICES["sampler"]["environment"]["KEEP_PERCENT"].endswith(":-100}")
    assert variables(CONFIG / "sampler.yaml")["KEEP_PERCENT"] == "100"


def test_a_request_that_the_gateway_takes_is_not_too_large_for_those_behind_it():
    kafka = SERVICES["kafka"]["environment"]
    collector = yaml.safe_load((CONFIG / "jaeger-collector.yaml").read_text("utf-8"))
    written = collector["exporters"]["kafka"]["producer"]["max_message_bytes"]
    for path in (
        CONFIG / "gateway.yaml",
        CONFIG / "sampler.yaml",
        CONFIG / "jaeger-collector.yaml",
    ):
        otlp = yaml.safe_load(path.read_text("utf-8"))["receivers"]["otlp"]["protocols"]
        assert otlp["grpc"]["max_recv_msg_size_mib"] * 2**20 < written
    assert written <= int(kafka["KAFKA_MESSAGE_MAX_BYTES"])
    assert written <= int(kafka["KAFKA_REPLICA_FETCH_MAX_BYTES"])


# --- the collectors' files ----------------------------------------------------------------------
@collector_files
def test_each_part_of_a_pipeline_is_declared_and_each_that_is_declared_is_used(path):
    config = yaml.safe_load(path.read_text("utf-8"))
    connectors = set(config.get("connectors", {}))
    used = {kind: set() for kind in ("receivers", "processors", "exporters")}
    for pipeline in config["service"]["pipelines"].values():
        for kind, names in used.items():
            names |= set(pipeline.get(kind, []))
    assert used["receivers"] == set(config["receivers"]) | connectors
    assert used["exporters"] == set(config["exporters"]) | connectors
    assert used["processors"] == set(config.get("processors", {}))
    assert set(config["service"]["extensions"]) == set(config["extensions"])


@collector_files
def test_an_address_or_a_port_can_be_set_from_outside(path):
    """What the tests run is the shipped file, and so is what runs on several machines."""
    bare = re.sub(r"\$\{env:[^}]*\}|#.*", "", path.read_text("utf-8"))
    assert re.findall(r"(?:127\.0\.0\.1|localhost|0\.0\.0\.0|://[a-z]+|:\d{4,5})", bare) == []


def test_nothing_is_acknowledged_that_is_in_memory_only():
    gateway = yaml.safe_load((CONFIG / "gateway.yaml").read_text("utf-8"))
    for exporter in gateway["exporters"].values():
        assert exporter["sending_queue"]["storage"] == "file_storage"
    assert gateway["extensions"]["file_storage"]["fsync"] is True
    inner = gateway["exporters"]["load_balancing"]["protocol"]["otlp"]
    assert inner["sending_queue"] == {"enabled": False}
    collector = yaml.safe_load((CONFIG / "jaeger-collector.yaml").read_text("utf-8"))
    assert collector["exporters"]["kafka"]["sending_queue"] == {"enabled": False}
    assert collector["exporters"]["kafka"]["producer"]["required_acks"] == -1


def test_both_ways_make_the_same_metrics_of_spans():
    here = yaml.safe_load((CONFIG / "gateway.yaml").read_text("utf-8"))
    there = yaml.safe_load((ROOT / "deploy/jaeger/config.yaml").read_text("utf-8"))
    assert here["connectors"]["span_metrics"] == there["connectors"]["spanmetrics"]


def test_prometheus_that_hands_on_is_the_same_in_all_else():
    plain = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8"))
    remote = yaml.safe_load((CONFIG / "prometheus-remote-write.yml").read_text("utf-8"))
    (target,) = remote.pop("remote_write")
    assert target["protobuf_message"] == "io.prometheus.write.v2.Request"
    assert [f"../prometheus/{file}" for file in plain.pop("rule_files")] == remote.pop("rule_files")
    assert remote == plain


# --- what is tested is what is shipped -----------------------------------------------------------
def test_the_parts_of_the_tests_are_of_the_versions_that_are_shipped():
    tags = dict(service["image"].rsplit(":", 1) for service in SERVICES.values())
    assert tags["apache/kafka"] == parts.KAFKA_VERSION
    assert tags["opensearchproject/opensearch"] == parts.OPENSEARCH_VERSION
    assert tags["otel/opentelemetry-collector-contrib"] == parts.COLLECTOR_VERSION
    maven = "{http://maven.apache.org/POM/4.0.0}"
    said = ElementTree.parse(parts.HERE / "pom.xml").find(f"{maven}properties")
    assert said.findtext(f"{maven}kafka.version") == parts.KAFKA_VERSION
    assert said.findtext(f"{maven}opensearch.version") == parts.OPENSEARCH_VERSION
    modules = (parts.HERE / "collector" / "go.mod").read_text("utf-8")
    contrib = re.findall(r"collector-contrib/\S+ v(\S+)\n", modules.partition(")")[0])
    assert set(contrib) == {parts.COLLECTOR_VERSION}


# --- by the programs themselves ------------------------------------------------------------------
@pytest.mark.parametrize("profile", ["*", ""])
def test_docker_compose_finds_nothing_wrong(built, profile):
    command = [built("docker-compose"), "-f", COMPOSE_FILE, "--profile", profile]
    assert output_of(*command, "config", "--quiet") == (0, "")


@pytest.mark.parametrize("role", ["collector", "ingester", "query"])
def test_jaeger_finds_nothing_wrong(built, role):
    config = CONFIG / f"jaeger-{role}.yaml"
    code, said = output_of(built("jaeger"), "validate", "--config", config)
    assert code == 0, said


@pytest.mark.parametrize("name", ["gateway", "sampler"])
def test_the_collector_finds_nothing_wrong(parts_here, name):
    config = CONFIG / f"{name}.yaml"
    code, said = output_of(parts.collector(), "validate", f"--config={config}")
    assert code == 0, said
    assert "deprecated" not in said


def test_prometheus_finds_nothing_wrong(built):
    config = CONFIG / "prometheus-remote-write.yml"
    code, said = output_of(built("promtool"), "check", "config", config)
    assert code == 0, said
    assert "1 rule files found" in said


def test_the_script_that_forgets_says_what_it_cannot_read():
    command = ["env", "KEEP_DAYS=soon", "bash", CONFIG / "forget-old-spans.sh", "--once"]
    code, said = output_of(*command)
    assert code == 2
    assert "'soon'" in said
