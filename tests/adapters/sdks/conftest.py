"""The stand-in servers that SDKs are tested against."""

from __future__ import annotations

import pytest

from lab.wire_server import WireServer


@pytest.fixture(scope="session")
def wire_server():
    """Each request carries its own delays in the name of its model: one serves all tests."""
    with WireServer() as server:
        yield server
