"""Nothing of what a command is told or says leaves by default."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lab.otlp_receiver import OtlpReceiver

MARKER = "xyzzy-4711"

_COMMAND = """#!{python} -S
import json, os, sys, time
said = sys.stdin.read() + os.environ["S"] + os.getcwd() + " ".join(sys.argv)
def say(**event):
    print(json.dumps(event), flush=True)
say(type="system", subtype="init", text=said)
say(type="thread.started", thread_id=said)
say(type="stream_event", event={{"type": "content_block_delta",
                                 "delta": {{"type": "text_delta", "text": said}}}})
time.sleep(0.1)
print(said, file=sys.stderr, flush=True)
say(type="system", subtype="api_retry", error="after " + said)
say(type="item.completed", item={{"type": "agent_message", "text": said}})
say(type="error", message=said, error={{"type": said, "message": said}})
say(type="result", subtype="error " + said, is_error=True, result=said, errors=[said],
    status="error", error={{"type": said, "message": said}}, stats={{}})
print(said, flush=True)
sys.exit(int(os.environ["CODE"]))
"""

# What is run by each way: as an argument, in the environment, on stdin, in the folder.
_PROGRAM = """
import asyncio, contextlib, functools, logging, os, subprocess, sys
import llmphases
from llmphases import llm_call, run_command, run_command_async, stream_command

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
folder, secret = sys.argv[1], os.environ.pop("SECRET")
llmphases.configure(endpoint=sys.argv[2], file=sys.argv[3])
llmphases.instrument()
commands = [
    [f"{folder}/claude", "-p", secret, "--output-format", "stream-json"],
    [f"{folder}/codex", "exec", "--json", secret],
    [f"{folder}/gemini", "-p", secret, "-o", "stream-json"],
    [f"{folder}/gemini", "-p", secret, "-o", "json"],
    [f"{folder}/llm", secret],
    [f"{folder}/a-tool", secret],
]

async def by_asyncio(argv, env, cwd):
    process = await asyncio.create_subprocess_exec(
        *argv, env=env, cwd=cwd, stdin=-1, stdout=-1, stderr=-1)
    return (await process.communicate(secret.encode()))[0]

def by_runner(argv, env, cwd):
    said = run_command(argv, env=env, cwd=cwd, input=secret).stdout
    assert secret in said
    assert secret in asyncio.run(run_command_async(argv, env=env, cwd=cwd, input=secret)).stdout
    assert secret in "".join(stream_command(argv, env=env, cwd=cwd, input=secret))

def by_hooks(argv, env, cwd):
    with llm_call("ask"):
        done = subprocess.run(
            argv, env=env, cwd=cwd, input=secret, capture_output=True, text=True, check=False)
        assert secret in done.stdout
        assert secret.encode() in asyncio.run(by_asyncio(argv, env, cwd))

for way in (by_runner, by_hooks):
    for argv in commands:
        for code in ("0", "1"):
            way(argv, os.environ | {"S": secret, "CODE": code}, folder)
    for run in (run_command, functools.partial(subprocess.run, capture_output=True)):
        wrong = os.environ | {"S": secret, "CODE": "1"}
        with contextlib.suppress(subprocess.CalledProcessError), llm_call("ask"):
            run(commands[0], env=wrong, input=secret.encode(), check=True)
        with contextlib.suppress(subprocess.TimeoutExpired), llm_call("ask"):
            run(["sh", "-c", f"sleep 60 # {secret}"], timeout=0.05)
        with contextlib.suppress(FileNotFoundError), llm_call("ask"):
            run([f"/absent/{secret}/tool", secret])
llmphases.flush(60)
"""


class Everything(OtlpReceiver):
    """Keeps also what was sent as it was sent."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    def take(self, path, headers, body):
        self.bodies += [path.encode(), repr(headers).encode(), body]
        return super().take(path, headers, body)


@pytest.mark.slow
def test_no_word_of_a_command_its_environment_its_input_and_its_output_leaves(tmp_path):
    """Spans, metrics, the file and the log: all of it is searched."""
    folder = tmp_path / MARKER
    folder.mkdir()
    for name in ("claude", "codex", "gemini", "llm", "a-tool"):
        (folder / name).write_text(_COMMAND.format(python=sys.executable))
        (folder / name).chmod(0o755)
    file = tmp_path / "traces.jsonl"
    with Everything() as receiver:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(folder), receiver.url, str(file)],
            env=os.environ | {"LLMPHASES_LOG": "1", "SECRET": MARKER}, capture_output=True,
            check=False, timeout=200,
        )  # fmt: skip
        sent = b"".join(receiver.bodies)
        names = {span.name for span in receiver.spans}
        metrics = {point.name for point in receiver.points}
    assert done.returncode == 0, done.stderr.decode()
    assert {"ask", "claude", "process_startup", "inference"} <= names
    assert {"llmphases.phase.duration", "llmphases.timeouts"} <= metrics
    log = done.stdout + done.stderr
    for what, must in ((sent, b"process.exit.code"), (file.read_bytes(), b"_OTHER"), (log, b"ask")):
        assert must in what
        assert MARKER.encode() not in what
