"""Tests stand where their module stands, and public names are documented and typed."""

from __future__ import annotations

import importlib
import inspect

import pytest

import llmphases
from architecture.source_tree import ROOT, TESTS, does_something, functions, modules

ELSEWHERE = {
    "architecture": "rules about the text of the package",
    "typing": "what type checkers say",
    "docs": "what the documents claim",
    "lab": "support of the tests themselves",
    "round_trip": "from a call to a file and back, over several modules",
    "end_to_end": "real models and real processes",
    "backends": "real backends",
    "dashboards": "what writes the Grafana dashboards, in dashboards/",
    "examples": "the programs in examples/",
    "cases": "reports from other projects, over several modules",
    "benchmarks": "what benchmarks/ makes of its measurements",
}
"""Folders of tests that mirror no folder of the package."""

TESTED_THROUGH = {
    **dict.fromkeys(
        (
            "recorder/children.py",
            "recorder/closing.py",
            "recorder/collected.py",
            "recorder/conversation.py",
            "recorder/facts.py",
            "recorder/ledger.py",
            "recorder/lifetime.py",
            "recorder/nesting.py",
            "recorder/reported.py",
            "recorder/requests.py",
            "recorder/streams.py",
            "recorder/timeline.py",
        ),
        "recorder/test_recorder.py",
    ),
    "capture/clients/contract.py": "capture/clients/test_exchange.py",
    "otel/foreign_calls.py": "otel/test_foreign_spans.py",
    "capture/children/told.py": "capture/children/test_observation.py",
    "cli/run_one.py": "cli/test_run.py",
    "reports/command_rows.py": "reports/test_command_text.py",
    **dict.fromkeys(
        (
            "capture/children/command.py",
            "capture/children/completed.py",
            "capture/children/completed_async.py",
            "capture/children/ends.py",
            "capture/children/exit_watch.py",
            "capture/children/pump.py",
            "capture/children/run.py",
            "capture/children/sinks.py",
            "capture/children/trace.py",
        ),
        "capture/children/test_runner.py",
    ),
    **dict.fromkeys(
        (
            "capture/children/tap/exchange.py",
            "capture/children/tap/sockets.py",
            "capture/children/tap/talk.py",
        ),
        "capture/children/tap/test_relay.py",
    ),
    **dict.fromkeys(
        ("capture/children/tap/opening.py", "capture/children/tap/tunnel.py"),
        "capture/children/tap/test_tap.py",
    ),
}
"""Parts that mean something only together -> the tests of the whole: a state machine, a runner."""

BEHAVIOUR = [
    module
    for module in modules()
    if not module.is_init
    and module.name != "__main__.py"
    and any(does_something(function) for function in functions(module.tree))
]
TEST_FILES = [
    path
    for path in sorted(TESTS.rglob("test_*.py"))
    if path.relative_to(TESTS).parts[0] not in ELSEWHERE
]


@pytest.mark.parametrize("module", BEHAVIOUR, ids=lambda module: module.name)
def test_each_module_has_its_test_file(module):
    folder = (TESTS / module.name).parent
    stem = module.path.stem.strip("_")
    found = [*folder.glob(f"test_{stem}.py"), *folder.glob(f"test_{stem}_*.py")]
    if module.name in TESTED_THROUGH:
        found.append(TESTS / TESTED_THROUGH[module.name])
        assert found[-1].exists()
    assert found, f"expected {(folder / f'test_{stem}.py').relative_to(ROOT)}"


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_each_test_file_has_its_module(path):
    folder = path.parent.relative_to(TESTS).as_posix()
    here = {
        module.path.stem.strip("_")
        for module in modules()
        if module.path.parent.relative_to(ROOT / "src" / "llmphases").as_posix() == folder
    }
    about = path.stem.removeprefix("test_")
    if about == "invariants":  # what holds over all modules of the folder
        return
    assert any(about == name or about.startswith(f"{name}_") for name in here), (
        "name it test_<module>.py or test_<module>_<aspect>.py, beside the module's place"
    )


def public_names():
    return sorted(name for name in getattr(llmphases, "__all__", ()) if name != "__version__")


@pytest.mark.parametrize("name", public_names())
def test_public_names_are_documented(name):
    value = getattr(llmphases, name)
    assert inspect.getdoc(value), f"{name} has no docstring"
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    assert any(name in path.read_text("utf-8") for path in documents), f"{name} is in no document"


@pytest.mark.parametrize("name", public_names())
def test_public_names_are_used_where_types_are_checked(name):
    assert name in (TESTS / "typing" / "api.py").read_text("utf-8")


@pytest.mark.parametrize(
    "module", [one for one in modules() if not one.is_init], ids=lambda module: module.name
)
def test_public_methods_are_described_here_or_in_their_contract(module):
    if module.name == "__main__.py":
        return
    loaded = importlib.import_module(module.dotted)
    silent = [
        f"{name}.{member}"
        for name, value in vars(loaded).items()
        if inspect.isclass(value) and value.__module__ == module.dotted and name[0] != "_"
        for member, method in vars(value).items()
        if inspect.isfunction(method) and member[0] != "_"
        if not inspect.getdoc(getattr(value, member))
    ]
    assert silent == []
