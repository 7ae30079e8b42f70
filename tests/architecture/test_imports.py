"""Who knows whom; what import-linter cannot say. The layers are contracts in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys

import pytest

from architecture.source_tree import imported, is_within, modules

KNOWS_THE_SDK = {
    "otel/span_queue.py": "is given finished spans by the SDK",
    "otel/pipeline.py": "makes the providers for programs that have none",
    "otel/exporters.py": "makes the exporters, each imported when it is first wanted",
    "otel/metric_reader.py": "makes what reads the metrics",
    "otel/file_exporter.py": "is an exporter",
    "otel/foreign_spans.py": "is a span processor",
    "otel/foreign_watcher.py": "is a span processor",
}
SDK = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto")

LOADED_LATE = {
    "opentelemetry": "only a program that records needs it",
    "psutil": "only child processes need it",
    "wrapt": "loaded at the first decoration",
    "asyncio": "takes longer than the rest of the package",
    "multiprocessing": "only a program that forks needs it",
    "subprocess": "only child processes need it",
    "rich": "only the command line needs it",
    "msgspec": "only the command line needs it",
    "openai": "an SDK",
    "anthropic": "an SDK",
    "google": "an SDK",
    "ollama": "an SDK",
    "httpx": "a client",
    "requests": "a client",
}


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_only_setup_and_exporters_build_on_the_sdk(module):
    if module.name in KNOWS_THE_SDK:
        return
    found = [name for name in imported(module.tree) for sdk in SDK if is_within(name, sdk)]
    assert found == [], "the SDK is for what sets it up; all else uses the API"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_sdks_of_models_are_named_as_strings(module):
    found = [name for name in imported(module.tree) if is_within(name, "google.genai")]
    assert found == []


def test_importing_llmphases_is_cheap():
    script = (
        "import sys; before = set(sys.modules); import llmphases; print(*set(sys.modules) - before)"
    )
    command = [sys.executable, "-S", "-c", f"import site; site.main(); {script}"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in answer.stdout.split()}
    assert loaded & set(LOADED_LATE) == set()


def test_the_list_of_those_who_know_the_sdk_is_not_longer_than_needed():
    names = {
        module.name
        for module in modules()
        if any(is_within(name, sdk) for name in imported(module.tree) for sdk in SDK)
    }
    idle = {name for name in KNOWS_THE_SDK if name not in names}
    present = {module.name for module in modules()}
    assert idle & present == set()
