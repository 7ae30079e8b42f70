"""What takes long to start, and serves all tests here."""

from __future__ import annotations

import pytest

from end_to_end.wire_labs import WireLab
from lab.wire_server import WireServer


@pytest.fixture(scope="session")
def wire_lab():
    """The stand-in server of every wire format, and whoever asks it."""
    with WireServer() as server:
        lab = WireLab(server)
        yield lab
        lab.close()
