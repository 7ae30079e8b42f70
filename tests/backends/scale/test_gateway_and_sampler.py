"""Where the gateway brings spans, and which traces the sampler keeps: seen in real Jaegers."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from backends.scale.load import Job, Load, part_of, post, request
from backends.scale.pipeline import peak_mib, several_backends
from backends.scale.roles import Gateway, Sampler
from backends.servers import Jaeger, Ports, Server, until

NOBODY = "http://127.0.0.1:9"
CALL = ("place_boxes", {"llmphases.fixed.share": 0.5})
PHASE = ("generation", {"llmphases.phase": "generation"})


@contextmanager
def running(*servers: Server) -> Iterator[None]:
    try:
        for server in servers:
            server.start()
        yield
    finally:
        for server in reversed(servers):
            server.stop(signal.SIGKILL)


def grpc(jaeger):
    return jaeger.otlp_grpc_endpoint.removeprefix("http://")


def there(jaeger, trace_id):
    """The ids of a trace's spans; empty if it is not there."""
    try:
        return {span["spanId"] for span in jaeger.spans_of(trace_id)}
    except LookupError:
        return set()


# --- the gateway --------------------------------------------------------------------------------
def test_a_trace_that_comes_in_pieces_comes_to_one_backend(parts_here, tmp_path):
    ports = Ports()
    jaegers = [Jaeger(tmp_path / str(n), ports, prometheus_url=NOBODY) for n in (1, 2)]
    gateway = Gateway(
        tmp_path / "gateway",
        ports,
        f"yaml:{several_backends([grpc(each) for each in jaegers])}",
        PROMETHEUS_URL=NOBODY,
        GATEWAY_QUEUE=str(tmp_path / "queue"),
    )
    with running(*jaegers, gateway):
        sent = [request("pieces", [CALL, PHASE]) for _ in range(40)]
        for name in ("generation", "place_boxes"):
            for _, _, body in sent:
                assert post(gateway.otlp_endpoint, part_of(body, {name}))
        where = {1: 0, 2: 0}
        for trace_id, span_ids, _ in sent:
            found = until(
                lambda: [
                    n
                    for n, jaeger in enumerate(jaegers, 1)
                    if there(jaeger, trace_id) == span_ids  # noqa: B023 - asked before the next
                ],
                f"trace {trace_id} in one piece",
            )
            (n,) = found
            assert there(jaegers[2 - n], trace_id) == set()
            where[n] += 1
    assert min(where.values()) >= 5, f"both have some: {where}"


def test_the_shipped_gateway_finds_its_backend_by_name(parts_here, tmp_path):
    """As it is in the compose file: all addresses of one name, asked anew now and then."""
    ports = Ports()
    jaeger = Jaeger(tmp_path / "jaeger", ports, prometheus_url=NOBODY)
    gateway = Gateway(
        tmp_path / "gateway",
        ports,
        PROMETHEUS_URL=NOBODY,
        GATEWAY_QUEUE=str(tmp_path / "queue"),
        SPANS_TO_HOST="localhost",
        SPANS_TO_PORT=grpc(jaeger).partition(":")[2],
    )
    with running(jaeger, gateway):
        trace_id, span_ids, body = Job("named").next()
        assert post(gateway.otlp_endpoint, body)
        until(lambda: there(jaeger, trace_id) == span_ids, "the job")


# --- the sampler --------------------------------------------------------------------------------
@pytest.fixture
def sampled(parts_here, tmp_path):
    """A function that sends through a sampler with some settings, and says which traces stay."""
    ports = Ports()
    jaeger = Jaeger(tmp_path / "jaeger", ports, prometheus_url=NOBODY)

    def kept(sent, *, stopped_at_once=False, **settings):
        port = ports.free()
        http = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}}}
        sampler = Sampler(
            tmp_path / "sampler",
            ports,
            # By HTTP too, for a sender that is in this file.
            f"yaml:{json.dumps(http)}",
            JAEGER_COLLECTORS=grpc(jaeger),
            **settings,
        )
        with running(jaeger, sampler):
            for _, _, bodies in sent:
                for body in bodies:
                    assert post(f"http://127.0.0.1:{port}", body)
            if not stopped_at_once:
                # The last of all is one that any sampler keeps: the others were decided before.
                last, last_ids, body = request("sampled", [CALL], failed=True)
                assert post(f"http://127.0.0.1:{port}", body)
                until(lambda: there(jaeger, last) == last_ids, "the last trace")
            # Then it has sent all that it will.
            assert sampler.stop(signal.SIGTERM) == 0
            return [there(jaeger, trace_id) == span_ids for trace_id, span_ids, _ in sent]

    return kept


def whole(spans, *, failed=False):
    trace_id, span_ids, body = request("sampled", spans, failed=failed)
    return trace_id, span_ids, [body]


def test_everything_is_kept_unless_something_else_is_said(sampled):
    sent = [whole([CALL, PHASE]) for _ in range(20)]
    assert sampled(sent, SAMPLER_WAIT_AFTER_ROOT="1s") == [True] * 20


def test_what_is_worth_a_look_is_kept_when_the_rest_is_not(sampled):
    sent = [
        whole([CALL, PHASE]),
        whole([CALL, PHASE], failed=True),
        whole([("place_boxes", {"llmphases.retries": 2}), PHASE]),
        whole([("place_boxes", {"llmphases.retries": 0}), PHASE]),
        whole([("place_boxes", {"llmphases.fixed.share": 0.97}), PHASE]),
    ]
    found = sampled(sent, KEEP_PERCENT="0", SAMPLER_WAIT_AFTER_ROOT="1s")
    assert found == [False, True, True, False, True]


def test_what_is_slow_is_kept(sampled):
    """The traces here are a second long."""
    sent = [whole([CALL, PHASE])]
    settings = {"KEEP_PERCENT": "0", "SAMPLER_WAIT_AFTER_ROOT": "1s"}
    assert sampled(sent, KEEP_SLOWER_THAN_MS="900", **settings) == [True]


def test_a_trace_is_decided_when_its_root_has_come_and_phases_before_it_are_kept(sampled):
    """Its phases come minutes before its root; what decides is an error that the root has."""
    trace_id, span_ids, body = request("sampled", [CALL, PHASE], failed=True)
    pieces = [part_of(body, {"generation"}), part_of(body, {"place_boxes"})]
    sent = [(trace_id, span_ids, pieces)]
    found = sampled(sent, KEEP_PERCENT="0", SAMPLER_WAIT="15m", SAMPLER_WAIT_AFTER_ROOT="1s")
    assert found == [True]


def test_what_waits_is_decided_when_the_sampler_is_stopped(sampled):
    """`docker stop` loses nothing; `kill -9` would."""
    sent = [whole([CALL, PHASE]) for _ in range(5)]
    settings = {"SAMPLER_WAIT": "1h", "SAMPLER_WAIT_AFTER_ROOT": "1h"}
    assert sampled(sent, stopped_at_once=True, **settings) == [True] * 5


def test_how_much_memory_waiting_spans_take(parts_here, tmp_path, capsys):
    """No promise: what was seen is printed, for docs/scale.md."""
    ports = Ports()
    port = ports.free()
    http = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}}}
    sampler = Sampler(tmp_path / "sampler", ports, f"yaml:{json.dumps(http)}")
    with running(sampler):
        before = peak_mib(sampler.process.pid)
        with Load("waiting", [f"http://127.0.0.1:{port}"]) as load:
            load.wait(50_000)
        grown = peak_mib(sampler.process.pid) - before
    seen = {"waiting spans": load.spans, "MiB": round(grown), "MiB before": round(before)}
    with capsys.disabled():
        print(f"\n== scale: {json.dumps(seen)}")
    assert load.refused == 0
    assert grown > 0
