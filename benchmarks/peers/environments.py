"""A virtual environment for each peer, for what they ask for does not fit together."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from table import OPENAI, OURS, Peer

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "peers"
_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
_VERSIONS = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try: found[name] = version(name)
    except PackageNotFoundError: pass
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a peer lives, or why it does not."""

    peer: Peer
    python: Path
    version: str = ""
    openai: str = ""
    missing: str | None = None
    """Why it could not be installed; None if it is."""


def environment_of(peer: Peer) -> Environment:
    """The environment of a peer, made if it is not there."""
    home = HOME / peer.name
    python, ready = home / "bin" / "python", home / ".ready"
    wanted = version(OPENAI)
    if not ready.exists():
        print(f"== installing {peer.name} in {home.relative_to(ROOT)}", file=sys.stderr, flush=True)
        venv.create(home, with_pip=True, clear=True)
        complaint = _installed(python, peer, wanted)
        if complaint is not None:
            return Environment(peer, python, missing=complaint)
        ready.touch()
    found = _versions(python, peer.distribution, OPENAI)
    return Environment(peer, python, found.get(peer.distribution, "?"), found.get(OPENAI, "?"))


def _installed(python: Path, peer: Peer, openai: str) -> str | None:
    """What pip complains of if the newest version of the peer cannot be had."""
    if peer.name == OURS:
        return _complaint(python, "-e", str(ROOT), *peer.besides, f"{OPENAI}=={openai}")
    complaint = _complaint(python, peer.distribution, *peer.besides, OPENAI)
    if complaint is None:
        # The client's version as everywhere, if this version of the peer takes it; else as it is.
        found = _versions(python, peer.distribution)[peer.distribution]
        _complaint(python, f"{peer.distribution}=={found}", *peer.besides, f"{OPENAI}=={openai}")
    return complaint


def _complaint(python: Path, *wanted: str) -> str | None:
    done = subprocess.run(
        [python, *_PIP, "install", *wanted], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return (lines or done.stderr.splitlines() or ["pip failed and said nothing"])[-1]


def _versions(python: Path, *names: str) -> dict[str, str]:
    command = [python, "-c", _VERSIONS, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found
