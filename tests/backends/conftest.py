"""One running stack for all tests of real backends; without the built servers they skip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.build import SERVERS
from backends.servers import Stack, started

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that is here is marked, so that neither `make test` nor `make test-fast` runs it."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.backends)
            item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Nothing to test without the servers."""
    missing = [name for server in SERVERS for name, _ in server.missing]
    if missing and HERE in item.path.parents:
        pytest.skip(f"make backends has not built {', '.join(missing)}")


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Jaeger and Prometheus with the shipped configuration. Each test has services of its own."""
    with started(tmp_path_factory.mktemp("stack")) as running:
        yield running
