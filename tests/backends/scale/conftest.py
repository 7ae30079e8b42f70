"""The scale path as one running set of processes; without its parts its tests skip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.scale import parts
from backends.scale.pipeline import Pipeline


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the parts is marked: `make test-scale` alone runs it."""
    for item in items:
        if "parts_here" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.scale)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def parts_here() -> None:
    """Skips, with the reason, where something is missing."""
    if why := parts.why_not():
        pytest.skip(why)


@pytest.fixture(scope="session")
def pipeline(parts_here: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """All parts, running. Each test has services of its own."""
    with Pipeline(tmp_path_factory.mktemp("scale")) as running:
        yield running
