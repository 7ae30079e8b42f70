"""What every test of a real tool needs: the tool, a server, and a network that ends here."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from lab.agent_server import AgentServer
from lab.npm_tools import missing, program


def _reaches_others() -> bool:
    """Whether there is a way to anywhere but this machine; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))
        except OSError as error:
            return error.errno != errno.ENETUNREACH
    return True


@pytest.fixture(scope="session")
def cut_off():
    """Tools are only run where they cannot ask anybody but our server."""
    if _reaches_others():
        pytest.skip("not cut off from the network (make test-clis, on Linux, does so)")


@pytest.fixture
def installed(cut_off):
    """The path of a tool, by its name; skips where it is not installed."""

    def path_of(name: str) -> str:
        if (reason := missing(name)) is not None:
            pytest.skip(reason)
        return str(program(name))

    return path_of


@pytest.fixture
def server():
    with AgentServer() as one:
        yield one
        assert one.others() == set(), "models that no test has named"


@pytest.fixture
def base_env(tmp_path):
    """What any program needs, and nothing of who runs the tests."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
