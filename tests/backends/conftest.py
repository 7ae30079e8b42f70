"""One running stack for all tests of real backends; without the built servers they skip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backends.build import program
from backends.servers import Stack, started


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the servers is marked: neither `make test` nor `make test-fast` runs it."""
    for item in items:
        if "built" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.backends)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def built() -> Callable[[str], Path]:
    """Where a built program is, by its name; a test of one that is not built is skipped."""

    def path_of(name: str) -> Path:
        if not program(name).exists():
            pytest.skip(f"{name} is not here: make backends")
        return program(name)

    return path_of


@pytest.fixture(scope="session")
def stack(
    built: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """Jaeger and Prometheus with the shipped configuration. Each test has services of its own."""
    built("prometheus")
    built("jaeger")
    with started(tmp_path_factory.mktemp("stack")) as running:
        yield running
