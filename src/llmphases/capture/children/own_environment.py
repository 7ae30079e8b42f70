"""The environment that a child inherits from this process."""

from __future__ import annotations

import ctypes
import os


def inherited() -> dict[str, str]:
    """What a child gets that is given no environment.

    That is the C library's, not `os.environ`: they differ after `os.putenv`, after a library has
    set a variable, or where a program has put another mapping in the place of `os.environ`.
    """
    made: dict[str, str] = {}
    for entry in _entries():
        name, equals, value = entry.partition(b"=")
        if equals:
            made.setdefault(os.fsdecode(name), os.fsdecode(value))  # `getenv` takes the first
    return made


def _entries() -> list[bytes]:
    try:
        environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    except (ValueError, OSError, TypeError):  # the system has no such symbol
        return [os.fsencode(name) + b"=" + os.fsencode(os.environ[name]) for name in os.environ]
    found: list[bytes] = []
    if ctypes.cast(environ, ctypes.c_void_p).value is None:  # after `clearenv`
        return found
    while (entry := environ[len(found)]) is not None:
        found.append(entry)
    return found
