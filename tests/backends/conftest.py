"""One running stack for all tests of real backends; without the built servers they skip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backends.build import SERVERS, program
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
    """Where a built program is, by its name. Without the programs there is nothing to test."""
    missing = [name for server in SERVERS for name, _ in server.missing]
    if missing:
        pytest.skip(f"make backends has not built {', '.join(missing)}")
    return program


@pytest.fixture(scope="session")
def stack(built: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Jaeger and Prometheus with the shipped configuration. Each test has services of its own."""
    with started(tmp_path_factory.mktemp("stack")) as running:
        yield running
