"""What one side of a connection did is done to the other side: bytes, ends and breaks."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable

PIECE = 1 << 16
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


def prompt(writer: asyncio.StreamWriter) -> None:
    """Have `drain` wait until all has been handed to the system: nothing piles up here."""
    # With 0, TLS of asyncio pauses at each write and never goes on.
    writer.transport.set_write_buffer_limits(high=1)


def half_close(writer: asyncio.StreamWriter) -> None:
    """Say that no more will come; TLS knows no half of a close."""
    with contextlib.suppress(OSError, RuntimeError):
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()


def close(writer: asyncio.StreamWriter) -> None:
    """Both sides are done."""
    writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection off, as whoever is behind us did."""
    found = None if writer.is_closing() else writer.get_extra_info("socket")
    if found is not None:
        with contextlib.suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
    writer.transport.abort()


async def copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, saw: Callable[[bytes], object]
) -> None:
    """Hand everything on as it comes, and the end of it too; `saw` hears of each piece."""
    while data := await reader.read(PIECE):
        writer.write(data)
        saw(data)
        await writer.drain()
    half_close(writer)
