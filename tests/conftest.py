"""Every test starts from the same place: no settings from outside, no complaint said yet."""

from __future__ import annotations

import ast
import gc
import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from lab.llama import llama_server
from lab.sse_server import SseServer
from llmphases import observers
from llmphases.capture import current

__all__ = ["llama_server"]

# No deadlines: a busy machine is no fault. In CI the same examples each time.
SLOW = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("here", print_blob=True, **SLOW)
hypothesis.settings.register_profile("ci", derandomize=True, **SLOW)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")

TESTS = Path(__file__).parent
OF_THE_FULL_SUITE = {
    "aiohttp", "anthropic", "boto3", "fastapi", "google.genai", "grafana_foundation_sdk", "groq",
    "httpx", "httpx2", "langchain_core", "llm", "matplotlib", "mistralai", "ollama", "openai",
    "requests", "tenacity", "trustme", "uvloop", "xllamacpp", "yaml",
}  # fmt: skip
"""What the extra `dev` installs and `test` does not."""


def _absent_imports(path: Path) -> set[str]:
    """What a test file, or a module of the tests that it imports, imports and is not installed."""
    tree = ast.parse(path.read_text("utf-8"))
    names = [
        alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    ]
    names += [node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    # `google` alone is there with protobuf
    wanted = {".".join(name.split(".")[: 1 + name.startswith("google.")]) for name in names}
    absent = {name for name in wanted & OF_THE_FULL_SUITE if not _is_there(name)}
    for name in names:
        helper = TESTS.joinpath(*name.split(".")).with_suffix(".py")
        if helper.exists():
            absent |= _absent_imports(helper)
    return absent


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


# Test files about an SDK import it at their top; without it there is nothing in them to run.
_LEFT_OUT = {
    str(path): absent
    for path in sorted(TESTS.rglob("test_*.py"))
    if (absent := _absent_imports(path))
}
collect_ignore = list(_LEFT_OUT)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what is left out, and why."""
    if _LEFT_OUT:
        absent = ", ".join(sorted(set().union(*_LEFT_OUT.values())))
        terminalreporter.write_line(f"LEFT OUT {len(_LEFT_OUT)} files, for want of {absent}")


# A shell lets what it starts in the background ignore these, `nohup` SIGHUP; so would all programs
# that tests start. A handler of ours is none of theirs.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, lambda *_: None),
    (signal.SIGHUP, lambda *_: None),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_collection_finish() -> None:
    """What is there before the first test is no garbage: tests that collect need not look at it."""
    gc.collect()
    gc.freeze()


_SETTINGS = ("OTEL_", "LLMPHASES_", "TRACEPARENT", "TRACESTATE", "NO_COLOR", "FORCE_COLOR")


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the shell that runs the tests count for none of them."""
    for name in list(os.environ):
        if name.startswith(_SETTINGS):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _nothing_said_yet() -> Iterator[None]:
    """What is logged once is logged once in each test."""
    observers.forget_complaints()
    yield
    observers.forget_complaints()


@pytest.fixture(autouse=True)
def _wired_anew() -> Iterator[None]:
    """The usual wiring, made when first needed; whatever a test put there is gone after it."""
    current.wire(None)
    yield
    current.wire(None)


@pytest.fixture(scope="session")
def sse_server() -> Iterator[SseServer]:
    """The stand-in chat server; each request carries its own delays, so one serves all tests."""
    with SseServer() as server:
        yield server
