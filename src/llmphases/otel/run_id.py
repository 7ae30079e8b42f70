"""The id that the processes of one run of a program have in common: the program and its workers."""

from __future__ import annotations

import hashlib
import uuid
from multiprocessing import current_process

_KEY_BYTES = 32


def run_id() -> str:
    """The same in a program and in the workers of its pools, however they were started.

    A spawned worker is told nothing before it runs the program's `configure()`, but for the key by
    which processes of `multiprocessing` know each other: 32 random bytes that all of them inherit,
    and no other child. A digest of them leads nobody back. A key that somebody has chosen could be
    guessed by one, and be that of other programs; then, or where it is missing, the id is random.
    """
    key = current_process().authkey
    if not key or len(key) != _KEY_BYTES or key.isascii():
        return str(uuid.uuid4())
    digest = hashlib.blake2b(key, digest_size=16, person=b"llmphases.run.id")
    return str(uuid.UUID(bytes=digest.digest()))
