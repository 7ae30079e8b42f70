"""Programs whose numbers are known: what each panel of the dashboards has to say about them."""

from __future__ import annotations

BOXES = """
# 10 calls of a big model: 8 wait 5 s for their first token, 2 wait 20 s; 5 of a small one wait 1 s;
# 5 calls whose first token nobody sees.
clock = fake_clock(began_s_ago=900)

def boxes(first_token_s):
    with llm_call("place_boxes", model="big", provider="acme") as call:
        with prompt_build():
            clock.tick(1)
        with call.request():
            clock.tick(first_token_s)
            call.first_token()
            clock.tick(2)
            call.last_token()
        call.usage(input_tokens=1000, output_tokens=40)
        clock.tick(0.5)  # nobody says what this is
        with post_processing():
            clock.tick(0.5)

for _ in range(8):
    boxes(4)
for _ in range(2):
    boxes(19)
for _ in range(5):
    with llm_call("summarize", model="small", provider="acme") as call:
        with call.request():
            clock.tick(1)
            call.first_token()
            clock.tick(9)
            call.last_token()
        call.usage(input_tokens=10, output_tokens=100)
for _ in range(5):
    with llm_call("classify", model="blind", provider="other") as call:
        with call.request():
            clock.tick(3)
        call.usage(input_tokens=10, output_tokens=1)
"""

NESTED = """
# An agent that asks twice by traced calls: what these paid is in its sums.
clock = fake_clock(began_s_ago=60)
with llm_call("agent"):
    clock.tick(1)
    for _ in range(2):
        with llm_call("ask", model="big") as call:
            with call.request():
                clock.tick(2)
                call.first_token()
                clock.tick(1)
                call.last_token()
"""

HALF_SEEN = """
# Of two calls of a model, one is split: tokens of both must not be taken for tokens of the one.
clock = fake_clock(began_s_ago=60)
with llm_call("seen", model="big") as call:
    with call.request():
        clock.tick(2)
        call.first_token()
        clock.tick(2)
        call.last_token()
    call.usage(output_tokens=10)
with llm_call("unseen", model="big") as call:
    with call.request():
        clock.tick(2)
    call.usage(output_tokens=1000)
"""

TROUBLE = """
clock = fake_clock(began_s_ago=300)

class RateLimitError(Exception):
    pass

def one(failures=0, cached=None):
    with llm_call("flaky", model="big", provider="acme") as call:
        if cached is not None:
            with cache_lookup():
                clock.tick(0.25)
            call.cache(cached)
        for _ in range(failures):
            try:
                with call.request():
                    clock.tick(2)
                    raise RateLimitError
            except RateLimitError:
                clock.tick(1)
        with call.request():
            clock.tick(1)
            call.first_token()
            clock.tick(1)
            call.last_token()

one(failures=2)
one(failures=1)
for cached in ("hit", "hit", "hit", "miss"):
    one(cached=cached)
for error in (TimeoutError, TimeoutError, ValueError):
    try:
        with llm_call("broken", model="big") as call, call.request():
            clock.tick(5)
            raise error
    except error:
        pass
with llm_call("waiting", model="big"):
    with queue_wait():
        clock.tick(4)
"""

JOB = """
def work(item):
    with llm_call("piece", model="big") as call, call.request():
        call.first_token()
        call.last_token()

with llm_job("boxes", workers=4, progress=False) as job:
    list(job.map(work, range(10)))
"""

TOOLS = """
import subprocess
tool = [sys.executable, "-I", "-S", "-c"]
busy = "import time; t = time.process_time()\\nwhile time.process_time() - t < 0.2: pass\\nprint(1)"
for code, check in (
    (busy, True),
    (busy, True),
    ("raise SystemExit(3)", False),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", False),
):
    run_command([*tool, code], name="tool", check=check)
from llmphases import fake_cli
run_command(
    [sys.executable, "-I", "-S", fake_cli.__file__, "--output-format", fake_cli.STREAM_JSON,
     "--startup-s", "0.3", "--prompt-s", "0.2", "--per-line-s", "0.1", "a segment"],
    name="streamed", format="claude-stream-json",
)
"""

_STREAMS = """
def chunks():
    clock.tick(2)
    yield "a"
    clock.tick(2)
    yield "b"

for _ in range(4):
    with llm_call("streamed", model="big", provider="acme") as call:
        call.request_sent()
        for _ in traced_stream(chunks()):
            pass
        call.usage(input_tokens=1000, output_tokens=50)
"""
STREAMS = "clock = fake_clock(began_s_ago=60)" + _STREAMS
OLD_NAMES = f"""
clock = FakeClock(wall_ns=time.time_ns() - 60 * 10**9)
observers = Observers([SpanObserver(), MetricsObserver(old_names=True)])
current.wire(wiring_with(observers, OtelCarrier(), clock))
{_STREAMS}"""

OTHERS = """
# As other instrumentations have it: old names, another label for the provider, a server's metric.
from opentelemetry import metrics, trace
trace.get_tracer("somebody.else").start_span("theirs").end()
meter = metrics.get_meter("somebody.else")
for name in ("gen_ai.client.operation.time_to_first_chunk", "gen_ai.server.time_to_first_token"):
    histogram = meter.create_histogram(
        name, unit="s", explicit_bucket_boundaries_advisory=[0.5, 1, 2, 4, 8]
    )
    for _ in range(20):
        histogram.record(3, {"gen_ai.system": "acme", "gen_ai.request.model": "theirs"})
"""

QUIET = """
# Calls, then nothing for a while: all series are there, and none grows.
clock = fake_clock(began_s_ago=60)
with llm_job("quiet", workers=2, progress=False) as job:
    for outcome in (None, TimeoutError):
        try:
            with llm_call("quiet", model="big", provider="acme") as call:
                call.cache("hit")
                with call.request():
                    clock.tick(1)
                    call.first_token()
                    clock.tick(1)
                    call.last_token()
                    if outcome:
                        raise outcome
        except TimeoutError:
            pass
run_command([sys.executable, "-I", "-S", "-c", "print(1)"], name="quiet")
assert flush()
for _ in range(3):
    time.sleep(1.1)
    assert flush()
print(time.time())
"""

PUSHES = """
# Twelve calls of 3 s fixed cost and 1 s of generation each, in three pushes: five, five and two.
clock = fake_clock(began_s_ago=120)
for n in range(12):
    with llm_call("often", model="big") as call, call.request():
        clock.tick(3)
        call.first_token()
        clock.tick(1)
        call.last_token()
    if n in (4, 9):
        assert flush()
        print(time.time())
        time.sleep(2.1)
"""

ALL = {
    "boxes": BOXES, "nested": NESTED, "half-seen": HALF_SEEN, "trouble": TROUBLE, "job": JOB,
    "pushes": PUSHES, "tools": TOOLS, "streams": STREAMS, "old-names": OLD_NAMES, "others": OTHERS,
}  # fmt: skip
"""Each under the name of its service."""
