"""What arrives, and how a process ends: real processes against loopback receivers."""

from __future__ import annotations

import json
import signal
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from lab.otlp_receiver import OtlpReceiver
from lab.tries import tries
from llmphases import conventions as names
from otel.programs import closed_port, finish, run, silent_port, start

pytestmark = pytest.mark.slow

_MOST_S = 1.8
"""The promise is about 1 s, and twice that was once the bug; the exporters alone take 8 to 11."""


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as one:
        yield one


def _spans_in(path: Path) -> list[dict[str, Any]]:
    return [
        span
        for line in path.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def _ended(span: dict[str, Any]) -> str | None:
    for pair in span["attributes"]:
        if pair["key"] == names.STREAM_ENDED:
            value: str = pair["value"]["stringValue"]
            return value
    return None


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise ValueError('theirs')"])
def test_one_call_arrives_with_its_metrics_however_the_program_ends(
    receiver: OtlpReceiver, tmp_path: Path, ending: str
):
    """RC-095"""
    ended = run(
        f"set_up()\ntraced()\n{ending}", tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
    )
    assert ended.status == {"": 0, "sys.exit(3)": 3}.get(ending, 1)
    assert [span.name for span in receiver.spans] == ["call"]
    assert {names.CALL_DURATION.name, names.PHASE_DURATION.name} <= {
        point.name for point in receiver.points
    }
    assert [line for line in ended.complaints if "llmphases" in line and "File" not in line] == []


def test_the_standard_variables_count(receiver: OtlpReceiver, tmp_path: Path):
    run(
        "set_up()\ntraced()",
        tmp_path,
        {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=k",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            "OTEL_SERVICE_NAME": "video",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
        },
    )
    (span,) = receiver.spans
    assert span.resource["service.name"] == "video"
    assert span.resource["deployment.environment.name"] == "test"
    assert all(headers["x-key"] == "k" for headers in receiver.headers)


def test_arguments_count_as_well(receiver: OtlpReceiver, tmp_path: Path):
    run(
        f"set_up(endpoint={receiver.url!r}, headers={{'X-Key': 'k'}}, service_name='video',"
        " metrics=False)\ntraced()",
        tmp_path,
    )
    (span,) = receiver.spans
    assert span.resource["service.name"] == "video"
    assert receiver.paths == ["/v1/traces"]
    assert receiver.headers[0]["x-key"] == "k"


def test_without_an_endpoint_the_file_is_written_and_named_once(tmp_path: Path):
    ended = run("set_up()\ntraced()\nset_up()\ntraced()", tmp_path)
    assert len(_spans_in(tmp_path / names.DEFAULT_FILE)) == 2
    assert ended.complaints == [f"llmphases: traces go to {names.DEFAULT_FILE}"]


@pytest.mark.parametrize("port", ["closed", "silent"])
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_dead_backend_delays_the_end_by_about_a_second_and_says_one_line(
    tmp_path: Path, port: str, protocol: str
):
    """RC-080"""
    for attempt in tries():
        with silent_port() as silent:
            ended = run(
                "set_up_as_usual()\ntraced()\nlast_line()\nsys.exit(7)",
                tmp_path,
                {
                    "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:"
                    f"{silent if port == 'silent' else closed_port()}",
                    "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
                    "OTEL_EXPORTER_OTLP_TIMEOUT": "10000",
                },
            )
        assert ended.status == 7
        assert len(ended.complaints) == 1
        assert "could not be delivered" in ended.complaints[0]
        assert ended.exit_delay_s is not None
        assert ended.end_s is not None
        with attempt:
            assert ended.exit_delay_s < _MOST_S
            assert ended.end_s < _MOST_S + 2


def test_a_backend_that_refuses_is_complained_about_once_while_the_program_runs(
    receiver: OtlpReceiver, tmp_path: Path
):
    receiver.status = 404
    ended = run(
        "set_up(exit_deadline_s=5)\nfor _ in range(3):\n    traced()\n    print(flush())",
        tmp_path,
        {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://u:SECRET@127.0.0.1:{receiver.port}?key=SECRET"},
    )
    assert ended.out.split() == ["False"] * 3
    assert len(ended.complaints) == 1
    assert "HTTP 404" in ended.complaints[0]
    assert "SECRET" not in ended.complaints[0]


def test_a_flush_delivers_what_is_finished(receiver: OtlpReceiver, tmp_path: Path):
    ended = run(
        "set_up()\ntraced()\nprint(flush(timeout_s=30))\nos._exit(0)",
        tmp_path,
        {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url},
    )
    assert ended.out.split() == ["True"]
    assert [span.name for span in receiver.spans] == ["call"]
    assert names.CALL_DURATION.name in {point.name for point in receiver.points}


@pytest.mark.parametrize("death", ["os.kill(os.getpid(), 9)", "os._exit(9)"])
def test_a_file_has_what_ended_a_while_before_its_process_was_killed(tmp_path: Path, death: str):
    """Without a word to us: only what was written in time is there."""
    for attempt in tries():
        (tmp_path / names.DEFAULT_FILE).unlink(missing_ok=True)
        run(f"set_up()\ntraced()\ntime.sleep(2)\n{death}", tmp_path)
        file = tmp_path / names.DEFAULT_FILE
        with attempt:
            assert file.exists()
            assert [span["name"] for span in _spans_in(file)] == ["call"]


def test_open_calls_end_before_the_provider_does(tmp_path: Path):
    run("set_up()\nbegin()", tmp_path)
    assert [_ended(span) for span in _spans_in(tmp_path / names.DEFAULT_FILE)] == ["exit"]


_WAIT = """
begin("slow")
print("ready", flush=True)
time.sleep(60)
"""


def test_a_program_that_shuts_down_the_providers_itself_hears_nothing_of_it(
    receiver: OtlpReceiver, tmp_path: Path
):
    ended = run(
        """
        set_up()
        traced()
        from opentelemetry import metrics, trace
        trace.get_tracer_provider().shutdown()
        metrics.get_meter_provider().shutdown()
        traced("late")
        """,
        tmp_path,
        {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url},
    )
    assert (ended.status, ended.complaints) == (0, [])
    assert [span.name for span in receiver.spans] == ["call"]


def test_sigterm_flushes_open_calls_and_still_kills(receiver: OtlpReceiver, tmp_path: Path):
    """RC-083"""
    process = start("set_up()\n" + _WAIT, tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url})
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    ended = finish(process)
    assert ended.status == -signal.SIGTERM
    assert [span.attributes[names.STREAM_ENDED] for span in receiver.spans] == ["exit"]
    assert names.CALL_DURATION.name in {point.name for point in receiver.points}


def test_sigterm_delivers_what_is_finished_though_the_open_call_is_locked(
    receiver: OtlpReceiver, tmp_path: Path
):
    """The interrupted thread may hold whatever is needed to end its call."""
    body = """
    locked = threading.Lock()
    locked.acquire()
    configure(before_exit=locked.acquire, exit_deadline_s=4)
    traced("finished")
    """
    process = start(
        textwrap.dedent(body) + _WAIT, tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert finish(process).status == -signal.SIGTERM
    assert [span.name for span in receiver.spans] == ["finished"]


def test_sigterm_with_a_dead_backend_kills_all_the_same(tmp_path: Path):
    """RC-080, RC-083"""
    with silent_port() as port:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        process = start("set_up_as_usual()\n" + _WAIT, tmp_path, environment)
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        ended = finish(process)
    assert ended.status == -signal.SIGTERM
    assert len(ended.complaints) == 1


@pytest.mark.parametrize(
    "wait",
    [
        "threading.Event().wait()",
        "import socket; socket.socketpair()[0].recv(1)",
    ],
)
def test_sigterm_interrupts_a_main_thread_that_waits(tmp_path: Path, wait: str):
    """RC-083"""
    process = start(f"set_up()\ntraced()\nprint('ready', flush=True)\n{wait}", tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert finish(process).status == -signal.SIGTERM
    assert len(_spans_in(tmp_path / names.DEFAULT_FILE)) == 1


_IN_A_CONTAINER = ("unshare", "--pid", "--fork", "--kill-child")


def _may_start_containers() -> bool:
    try:
        done = subprocess.run([*_IN_A_CONTAINER, "true"], check=False, capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not _may_start_containers(), reason="needs the right to make PID namespaces")
def test_the_first_process_of_a_container_hands_over_and_goes_on(tmp_path: Path):
    """RC-083: the system lets no SIGTERM end it that nobody handles."""
    program = """
    set_up()
    traced("finished")
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(1)
    slow = begin("slow")
    print(os.getpid(), flush=True)
    for _ in range(3000):
        if os.path.exists("llmphases-traces.jsonl"):
            break
        time.sleep(0.01)
    os.kill(child, 15)
    print("its child ended by", os.waitpid(child, 0)[1])
    end(slow)
    sys.exit(5)
    """
    never = {"OTEL_BSP_SCHEDULE_DELAY": "3600000"}
    process = start(textwrap.dedent(program), tmp_path, never, before=_IN_A_CONTAINER)
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    (first,) = psutil.Process(process.pid).children()
    first.send_signal(signal.SIGTERM)
    ended = finish(process)
    assert (ended.status, ended.out) == (5, "its child ended by 15\n")
    spans = _spans_in(tmp_path / names.DEFAULT_FILE)
    assert [(span["name"], _ended(span)) for span in spans] == [("finished", None), ("slow", None)]


_THEIRS = """
import signal
signal.signal(signal.SIGTERM, lambda *_: (print("theirs", flush=True), sys.exit(5)))
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_sigterm_handler_of_the_program_stays(tmp_path: Path, when: str):
    """RC-083"""
    lines = [_THEIRS, "set_up()"] if when == "before" else ["set_up()", _THEIRS]
    process = start("\n".join([*lines, _WAIT]), tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    ended = finish(process)
    assert (ended.status, ended.out) == (5, "theirs\n")
    assert len(_spans_in(tmp_path / names.DEFAULT_FILE)) == 1


def test_sigterm_can_be_left_alone(tmp_path: Path):
    """RC-083"""
    process = start("set_up(sigterm=False)\n" + _WAIT, tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert finish(process).status == -signal.SIGTERM
    assert not (tmp_path / names.DEFAULT_FILE).exists()


_DISABLED = """
before = threading.active_count()
set_up()
traced()
print(threading.active_count() - before)
"""


@pytest.mark.parametrize(
    ("switches", "paths"),
    [
        ({"OTEL_SDK_DISABLED": "true"}, set()),
        ({"LLMPHASES_DISABLED": "1"}, set()),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, set()),
        ({"OTEL_TRACES_EXPORTER": "none"}, {"/v1/metrics"}),
        ({"OTEL_METRICS_EXPORTER": "none"}, {"/v1/traces"}),
    ],
)
def test_what_is_switched_off_makes_no_request_no_thread_and_no_file(
    receiver: OtlpReceiver, tmp_path: Path, switches: dict[str, str], paths: set[str]
):
    """RC-085"""
    ended = run(_DISABLED, tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, **switches})
    assert set(receiver.paths) == paths
    assert ended.out.split() == [str(len(paths))]
    assert ended.complaints == []
    assert [one.name for one in tmp_path.iterdir()] == ["program.py"]


def test_of_sixty_thousand_spans_at_once_each_arrives_or_is_counted(tmp_path: Path):
    """RC-086"""
    ended = run(
        """
        set_up(exit_deadline_s=60)
        from opentelemetry import trace
        tracer = trace.get_tracer("fast")
        for _ in range(60_000):
            tracer.start_span("s", start_time=1).end(end_time=2)
        """,
        tmp_path,
    )
    _, *complaints = ended.complaints
    dropped = [int(line.split()[1]) for line in complaints]
    assert len(_spans_in(tmp_path / names.DEFAULT_FILE)) + sum(dropped) == 60_000


def test_what_waits_for_a_dead_backend_takes_little_memory(tmp_path: Path):
    """A finished span takes 3 kB."""
    with silent_port() as port:
        ended = run(
            """
            set_up_as_usual(metrics=False)
            from llmphases.otel import setup
            for _ in range(20_000):
                traced()
            (outbox, _), = setup._in_force[0].pipeline._spans
            print(len(outbox), outbox.dropped > 0)
            """,
            tmp_path,
            {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"},
        )
    waiting, has_dropped = ended.out.split()
    assert int(waiting) <= 16_384
    assert has_dropped == "True"


def test_spans_beyond_the_queues_room_are_counted_in_the_one_complaint(tmp_path: Path):
    """RC-086"""
    with silent_port() as port:
        ended = run(
            "set_up_as_usual(metrics=False)\nfor _ in range(200):\n    traced()",
            tmp_path,
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
                "OTEL_BSP_MAX_QUEUE_SIZE": "10",
                "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10",
            },
        )
    (said,) = ended.complaints
    assert "could not be delivered" in said
    assert "spans were dropped: more than 10 were waiting" in said


_POOL = """
import multiprocessing

def task(n):
    traced(f"task {n}")
    return n

if __name__ == "__main__":
    set_up()
    traced("parent")
    flush()
    POOL
"""
_POOLS = {
    "one task each": "with multiprocessing.get_context('fork').Pool(2, maxtasksperchild=1) as pool:"
    "\n        print(sum(pool.map(task, range(10), chunksize=1)))"
    "\n        pool.close()\n        pool.join()",
    "terminated": "with multiprocessing.get_context('fork').Pool(2) as pool:"
    "\n        print(sum(pool.map(task, range(10))))",
    "executor": "from concurrent.futures import ProcessPoolExecutor"
    "\n    fork = multiprocessing.get_context('fork')"
    "\n    with ProcessPoolExecutor(2, mp_context=fork) as pool:"
    "\n        print(sum(pool.map(task, range(10))))",
}


@pytest.mark.parametrize("pool", list(_POOLS))
def test_pool_workers_lose_nothing(receiver: OtlpReceiver, tmp_path: Path, pool: str):
    """RC-082"""
    ended = run(
        _POOL.replace("POOL", _POOLS[pool]),
        tmp_path,
        {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url},
    )
    assert ended.out.split() == ["45"]
    assert sorted(span.name for span in receiver.spans) == [
        "parent",
        *(f"task {n}" for n in range(10)),
    ]
    assert ended.complaints == []


def test_a_workers_metrics_are_its_own(receiver: OtlpReceiver, tmp_path: Path):
    """A child does not report its parent's calls once more."""
    body = _POOL.replace("POOL", _POOLS["one task each"])
    run(body, tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url})
    latest = {
        (point.resource["service.instance.id"], point.attributes[names.CALL_NAME]): point.count
        for point in receiver.points
        if point.name == names.CALL_DURATION.name
    }
    assert sorted((name, count) for (_, name), count in latest.items()) == [
        ("parent", 1),
        *((f"task {n}", 1) for n in range(10)),
    ]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_that_configure_for_themselves_lose_nothing(
    receiver: OtlpReceiver, tmp_path: Path, method: str
):
    """RC-082"""
    ended = run(
        f"""
        import multiprocessing
        set_up()

        def task(n):
            traced(f"task {{n}}")
            return n

        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            with context.Pool(2, maxtasksperchild=1) as pool:
                print(sum(pool.map(task, range(4), chunksize=1)))
                pool.close()
                pool.join()
        """,
        tmp_path,
        {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url},
    )
    assert ended.out.split() == ["6"]
    assert sorted(span.name for span in receiver.spans) == [f"task {n}" for n in range(4)]


def test_a_forked_child_sends_its_own_spans_and_not_its_parents(
    receiver: OtlpReceiver, tmp_path: Path
):
    run(
        """
        set_up()
        traced("parent")
        child = os.fork()
        if child == 0:
            traced("child")
            sys.exit(0)
        os.waitpid(child, 0)
        """,
        tmp_path,
        {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url},
    )
    assert sorted(span.name for span in receiver.spans) == ["child", "parent"]


_OWN = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
own = TracerProvider()
own.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
trace.set_tracer_provider(own)
"""


def test_a_provider_of_the_program_stays_in_charge(receiver: OtlpReceiver, tmp_path: Path):
    ended = run(
        _OWN + "print(set_up())\nbegin()", tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
    )
    assert receiver.paths == []
    assert '"name": "call"' in ended.out
    assert ended.complaints == [
        "llmphases: spans go to the tracer provider that the program has set"
    ]


def test_an_explicit_destination_is_added_to_the_programs_provider(tmp_path: Path):
    ended = run(_OWN + "set_up(file='more.jsonl')\nbegin()", tmp_path)
    assert '"name": "call"' in ended.out
    assert [_ended(span) for span in _spans_in(tmp_path / "more.jsonl")] == ["exit"]
    assert len(ended.complaints) == 1


def test_sigterm_flushes_a_provider_of_the_program(tmp_path: Path):
    """RC-083"""
    process = start(_OWN + "set_up()\n" + _WAIT, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    ended = finish(process)
    assert ended.status == -signal.SIGTERM
    assert '"name": "slow"' in ended.out


def test_two_destinations_get_everything(receiver: OtlpReceiver, tmp_path: Path):
    run(f"set_up(endpoint={receiver.url!r}, file='x.jsonl')\ntraced()", tmp_path)
    assert len(receiver.spans) == len(_spans_in(tmp_path / "x.jsonl")) == 1


def test_a_full_disk_is_one_line(tmp_path: Path):
    ended = run("set_up(file='/dev/full')\ntraced()\nprint(flush())\ntraced()", tmp_path)
    assert ended.out.split() == ["False"]
    assert len(ended.complaints) == 1
    assert "No space left" in ended.complaints[0]


def test_importing_installs_nothing(tmp_path: Path):
    """RC-083"""
    ended = run(
        "import signal\nprint(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,"
        " threading.active_count(), 'opentelemetry.sdk.trace' in sys.modules)",
        tmp_path,
    )
    assert ended.out.split()[:2] == ["True", "1"]
