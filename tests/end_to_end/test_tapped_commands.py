"""Real clients in child processes, tapped: what is told is what the server itself saw."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.llama import CLOSE, EXACT, LlamaServer
from lab.sse_server import Script, SseServer
from lab.tries import tries
from lab.wired import wired
from llmphases import (
    ConfigurationError,
    llm_call,
    post_processing,
    run_command,
    run_command_async,
    stream_command,
    stream_command_async,
)
from llmphases.conventions import ENV_DISABLED
from llmphases.phases import Cost, Phase

pytestmark = [pytest.mark.real, pytest.mark.slow]

NEAR_NS = 50_000_000
"""How close a stamp of ours has to be to that of the server; once in a few tries."""

_OPENAI = """
import json, sys, openai
client = openai.OpenAI(api_key="none", default_headers=json.loads(sys.argv[2]))
for body in json.loads(sys.argv[1]):
    timings = None
    stream = client.chat.completions.create(
        model="lab", messages=[{"role": "user", "content": "hello world"}], stream=True, **body
    )
    for chunk in stream:
        timings = getattr(chunk, "timings", None) or timings
        if chunk.choices and chunk.choices[0].delta.content:
            print(chunk.choices[0].delta.content, end="", flush=True)
    if timings:
        print(json.dumps(timings), file=sys.stderr)
"""
_CURL = """
curl -sN "$OPENAI_BASE_URL/chat/completions" -H 'Content-Type: application/json' -d "$BODY"
"""


@pytest.fixture(scope="module")
def server():
    with SseServer() as one:
        yield one


@pytest.fixture
def sink(tmp_path):
    with wired(file=tmp_path / "traces.jsonl") as one:
        yield one


def openai_child(*bodies, headers=None):
    pytest.importorskip("openai")
    return [sys.executable, "-c", _OPENAI, json.dumps(bodies), json.dumps(headers or {})]


def scripted(server, **more):
    script = Script(label=server.fresh_label(), gap_s=0.05, tokens=4, **more)
    return script.label, script.extra_body()


def around(url, **more):
    return {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", **more}


def stretch(call, phase, request=None):
    (found,) = [s for s in call.stretches if s.phase is phase and s.request == request]
    return found


def by_the_servers_clock(call, ns):
    """A time of a call as the server stamps it."""
    return call.start_unix_ns + ns - (time.time_ns() - time.monotonic_ns())


def apart(call, ns, server_ns):
    return abs(by_the_servers_clock(call, ns) - server_ns)


def commands(server):
    """The same request by an SDK, and by a program that knows no SDK."""
    label, body = scripted(server, headers_s=0.1, first_token_s=0.2, ping_s=0.1)
    yield label, openai_child({"extra_body": body}), around(server.base_url)
    if shutil.which("curl"):
        label, body = scripted(server, headers_s=0.1, first_token_s=0.2, ping_s=0.1)
        said = json.dumps({"model": "lab", "stream": True, **body})
        yield label, ["sh", "-c", _CURL], around(server.base_url, BODY=said)


def test_the_start_ends_and_the_first_token_comes_when_the_server_says_so(server, sink):
    """RC-068, RC-020: in a pipe the output itself tells none of this."""
    for attempt in tries():
        off = []
        for label, argv, env in commands(server):
            result = run_command(argv, env=env, tap=True, check=True, timeout=120)
            (served,), call = server.served(label), result.call
            assert (result.tap, call.first_token_rule, call.requests) == ("requests", "tap", 1)
            assert {Phase.PROCESS_STARTUP, Phase.TIME_TO_FIRST_TOKEN, Phase.GENERATION} <= set(
                call.exclusive_ns
            )
            assert call.cost_ns(Cost.UNSPLIT) == 0
            wait = stretch(call, Phase.TIME_TO_FIRST_TOKEN, 0)
            generation = stretch(call, Phase.GENERATION, 0)
            off += [
                apart(call, stretch(call, Phase.PROCESS_STARTUP).end_ns, served.received_ns),
                apart(call, wait.end_ns, served.first_token_ns),
                apart(call, generation.end_ns, served.last_token_ns),
            ]
        with attempt:
            assert max(off) < NEAR_NS


def test_retries_inside_an_sdk_are_seen(server, sink):
    label, body = scripted(server, fail_times=2, fail_status=503, retry_after_s=0.1)
    call = run_command(
        openai_child({"extra_body": body}), env=around(server.base_url), tap=True, check=True
    ).call
    assert (call.requests, call.retries) == (3, 2)
    assert call.exclusive_ns[Phase.RETRY] >= 200_000_000
    assert len(server.served(label)) == 3


def test_several_requests_of_one_process(server, sink):
    bodies = [{"extra_body": scripted(server)[1]} for _ in range(3)]
    call = run_command(openai_child(*bodies), env=around(server.base_url), tap=True).call
    assert call.requests == 3
    generations = [s for s in call.stretches if s.phase is Phase.GENERATION]
    assert [s.request for s in generations] == [0, 1, 2]


def test_output_and_errors_are_those_of_a_run_without_the_tap(server, sink):
    for more in ({}, {"fail_times": 9, "fail_status": 400}, {"cut_after": 2}):
        _, body = scripted(server, **more)
        argv = openai_child({"extra_body": body, "timeout": 20})
        plain, tapped = (
            run_command(argv, env=around(server.base_url), tap=tap) for tap in (False, True)
        )
        assert tapped.stdout == plain.stdout
        assert tapped.returncode == plain.returncode
        assert last_line(tapped.stderr) == last_line(plain.stderr)


def last_line(text):
    return text.strip().rpartition("\n")[2]


def test_the_other_ways_to_run_a_command(server, sink):
    def argv():
        return openai_child({"extra_body": scripted(server)[1]})

    env = around(server.base_url)

    async def asynchronously():
        result = await run_command_async(argv(), env=env, tap=True)
        async with stream_command_async(argv(), env=env, tap=True) as stream:
            text = "".join([piece async for piece in stream])
        return result, stream, text

    result, stream, text = asyncio.run(asynchronously())
    with stream_command(argv(), env=env, tap=True) as other:
        assert "".join(other) == text == result.stdout
    assert result.tap == stream.tap == other.tap == "requests"
    assert len(sink.calls) == 3
    assert {call.first_token_rule for call in sink.calls} == {"tap"}


def test_inside_a_traced_call_the_phases_are_that_calls(server, sink):
    env = around(server.base_url)
    with llm_call("outer"):
        result = run_command(openai_child({"extra_body": scripted(server)[1]}), env=env, tap=True)
        with post_processing():  # which owns what happens in it
            inside = run_command([sys.executable, "-c", ""], env=env, tap=True)
    assert (result.tap, result.call, inside.tap) == ("requests", None, None)
    (call,) = sink.calls
    assert call.requests == 1
    assert call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] > 0


def test_a_command_that_asks_nobody(sink, caplog):
    result = run_command([sys.executable, "-c", "print('hello')"], tap=True)
    assert (result.stdout, result.tap) == ("hello\n", "nothing")
    assert "no request to a model was seen" in caplog.text
    assert result.call.first_token_rule is None


def test_where_tracing_is_off_there_is_no_tap(server, sink, monkeypatch):
    monkeypatch.setenv(ENV_DISABLED, "1")
    url = server.base_url
    show = [sys.executable, "-c", "import os; print(os.environ['OPENAI_BASE_URL'])"]
    result = run_command(show, env=around(url), tap=True)
    assert (result.stdout.strip(), result.tap) == (url, None)


def test_without_h11_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "h11", None)
    for run in (run_command, stream_command):
        with pytest.raises(ConfigurationError, match=r"pip install 'llmphases\[cli\]'"):
            run(["llm", "hi"], tap=True)
    run_command([sys.executable, "-c", ""])


def test_a_proxy_that_it_cannot_use_is_said_before_anything_is_run(tmp_path, sink):
    note = tmp_path / "note"
    env = {"HTTPS_PROXY": "socks5://127.0.0.1:1", "ANTHROPIC_BASE_URL": "https://api.invalid"}
    with pytest.raises(ConfigurationError, match="socks5"):
        run_command(["touch", str(note)], env=env, tap=True)
    assert not note.exists()
    assert sink.calls == []


def test_nothing_of_what_passes_is_exported_or_logged(server, tmp_path, caplog):
    """RC-059: neither by the query, nor by headers, nor by bodies."""
    secret = "xyzzy4711"
    file = tmp_path / "exported.jsonl"
    with wired(file=file) as sink:
        for more in ({}, {"fail_times": 9, "fail_status": 401}):
            _, body = scripted(server, **more)
            run_command(
                openai_child(
                    {"extra_body": {**body, "s": secret}, "extra_query": {"k": secret}},
                    headers={"X-Secret": secret},
                ),
                env=around(server.base_url), tap=True,
            )  # fmt: skip
    exported = file.read_text() + "".join(call.to_json() for call in sink.calls)
    assert "llmphases.tap.view" in exported
    assert secret not in exported
    assert secret not in caplog.text
    assert "word0" not in exported


PLACE = "127.0.0.2"
"""Of this machine too, and none that children are told to go to without a proxy."""
_GET = "import httpx, sys; print(httpx.get(sys.argv[1], verify=sys.argv[2]).text)"


@pytest.fixture
def secure(tmp_path):
    """An https server of the standard library, and the certificate it has given itself."""
    if sys.platform != "linux" or shutil.which("openssl") is None:
        pytest.skip(f"openssl is not installed, or {PLACE} is not there, as on Linux only")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-keyout", str(key), "-out", str(cert), "-subj", f"/CN={PLACE}",
            "-addext", f"subjectAltName=IP:{PLACE}",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    program = (
        "import http.server, ssl, sys\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200); self.end_headers(); self.wfile.write(b'served')\n"
        f"server = http.server.HTTPServer(({PLACE!r}, 0), Handler)\n"
        "context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
        "context.load_cert_chain(sys.argv[1], sys.argv[2])\n"
        "server.socket = context.wrap_socket(server.socket, server_side=True)\n"
        "print(server.server_port, flush=True)\n"
        "server.serve_forever()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, cert, key], stdout=subprocess.PIPE, text=True
    ) as process:
        yield f"https://{PLACE}:{process.stdout.readline().strip()}/", str(cert)
        process.kill()


def test_through_connect_there_are_times_of_bytes_and_they_are_marked_so(secure, sink):
    pytest.importorskip("httpx")
    url, cert = secure
    result = run_command([sys.executable, "-c", _GET, url, cert], tap=True, check=True)
    assert (result.stdout.strip(), result.tap) == ("served", "bytes")
    assert result.call.first_token_rule != "tap"
    assert result.call.requests == 0


# --- a real model -------------------------------------------------------------------------------


def test_a_real_servers_own_account_of_its_times(llama_server: LlamaServer, sink):
    body = {"max_tokens": 32, "extra_body": EXACT}
    argv = openai_child(body, headers=CLOSE)
    for attempt in tries():
        result = run_command(argv, env=around(llama_server.base_url), tap=True, check=True)
        call, said = result.call, json.loads(result.stderr)
        assert call.first_token_rule == "tap"
        with attempt:
            ttft_ns = call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN]
            assert ttft_ns == pytest.approx(said["prompt_ms"] * 1e6, abs=NEAR_NS)
            generation_ns = call.exclusive_ns[Phase.GENERATION]
            assert generation_ns == pytest.approx(said["predicted_ms"] * 1e6, abs=NEAR_NS)


LLM = Path(sys.executable).with_name("llm")


@pytest.mark.skipif(not LLM.exists(), reason="not installed: llm (make test installs it)")
def test_a_built_in_model_of_llm(llama_server: LlamaServer, sink, tmp_path):
    env = around(llama_server.base_url, LLM_USER_PATH=str(tmp_path))
    argv = [str(LLM), "-m", "gpt-4o-mini", "--no-log", "-u", "-o", "max_tokens", "32", "hello"]
    for attempt in tries():
        result = run_command(argv, env=env, tap=True, check=True, timeout=120)
        call = result.call
        assert (result.tap, call.first_token_rule, call.requests) == ("requests", "tap", 1)
        assert call.cost_ns(Cost.UNSPLIT) == 0
        assert call.usage.output_tokens == pytest.approx(32, abs=2)
        with attempt:
            wait_ns = call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN]
            assert call.exclusive_ns[Phase.PROCESS_STARTUP] > wait_ns
