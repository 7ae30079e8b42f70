"""A real model behind a real server, for the tests that compare our clock with its own."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.tiny_gguf import MID, Shape, model_file

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".lab"
_CONTEXT_PER_SLOT = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaServer:
    """A running server. The OpenAI client needs three things to be measured rightly:

    `OpenAI(base_url=server.base_url, api_key="none", max_retries=0, default_headers=CLOSE)`: the
    server announces keep-alive and then drops the connection after a stream, which a client's own
    retries would hide as a slow first token.
    """

    url: str
    slots: int

    @property
    def base_url(self) -> str:
        """For the OpenAI client."""
        return f"{self.url}/v1"


CLOSE = {"Connection": "close"}
"""Default headers for clients of the server."""
EXACT = {"cache_prompt": False, "ignore_eos": True}
"""`extra_body` for a request that reads its whole prompt and gives just `max_tokens` tokens."""


def missing() -> str | None:
    """What is not installed, in words; None if all is there."""
    needed = ("xllamacpp", "gguf", "numpy")
    absent = [name for name in needed if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(absent)} (make test installs it)" if absent else None


@contextlib.contextmanager
def running(shape: Shape = MID, slots: int = 2) -> Iterator[LlamaServer]:
    """A server with a model of that shape, gone at the end of the block."""
    command = [
        sys.executable,
        str(Path(__file__).with_name("llama_process.py")),
        str(model_file(shape, FOLDER)),
        str(slots),
        str(slots * _CONTEXT_PER_SLOT),
    ]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        with process:
            try:
                yield LlamaServer(url=_url_of(process, log), slots=slots)
            finally:
                process.kill()


def _url_of(process: subprocess.Popen[str], log: object) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("READY "):
            return line.split()[1]
    log.seek(0)
    pytest.fail(f"the model server did not start:\n{log.read()[-2000:]}")


@pytest.fixture(scope="session")
def llama_server() -> Iterator[LlamaServer]:
    """The mid-sized model with two slots; skips where the server is not installed."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    with running() as server:
        yield server
