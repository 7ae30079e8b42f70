"""Hooks in uvloop, which starts and reads children by itself, without `subprocess`.

Its pipes cannot be looked at, so nobody knows when output arrived: what is known of such a child is
when it began and exited, what it used, and what it said. Nothing of uvloop is imported here.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from subprocess import PIPE
from typing import Any

from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.capture.children.hooked_child import HookedChild, HookedStream
from llmphases.capture.children.hooks import hooks
from llmphases.capture.children.spawning import Spawn, program_of, spawn_here
from llmphases.observers import never_raises

_HOOKED = {"subprocess_exec": False, "subprocess_shell": True}
"""Method of its loops -> whether that runs a line of the shell."""
_LONGEST_READ = 64 * 2**10
"""Less than uvloop asks of a pipe at once."""


class _Listener:
    """Hears what a protocol hears of its child; the protocol hears it as ever."""

    def __init__(self, spawn: Spawn, pipes: list[int]) -> None:
        self._executable = spawn.program.executable
        self._child: HookedChild = spawn.child
        self._streams: dict[int, HookedStream] = {n: spawn.child.stream(n) for n in pipes}
        self.is_made = False

    def listening(self, protocol_factory: Callable[[], Any]) -> Callable[[], Any]:
        """Makes the same protocols, and hears what they hear."""

        def made() -> Any:
            protocol = protocol_factory()
            self._listen(protocol)
            return protocol

        return made

    @never_raises
    def _listen(self, protocol: Any) -> None:
        with contextlib.suppress(AttributeError):  # it takes no attributes: it is left alone
            self._before(protocol, "connection_made", self.made)
            self._before(protocol, "pipe_data_received", self._received)
            self._before(protocol, "pipe_connection_lost", self._lost)
            self._before(protocol, "process_exited", self._exited)

    def _before(self, protocol: Any, name: str, ours: Callable[..., object]) -> None:
        theirs = getattr(protocol, name)

        @functools.wraps(theirs)
        def both(*args: Any) -> Any:
            ours(*args)
            return theirs(*args)

        setattr(protocol, name, both)

    @never_raises
    def made(self, transport: Any) -> None:
        """There is a child; it may be gone already, and its pid another's."""
        if self.is_made:
            return
        self.is_made = True
        self._transport = transport
        self._child.told_code = transport.get_returncode
        if transport.get_returncode() is None:
            hooks.begin(self._child, transport.get_pid(), self._executable)
        else:
            self._exited()

    @never_raises
    def _received(self, fd: int, data: bytes) -> None:
        stream = self._streams.get(fd)
        if stream is not None:
            stream.read(data, waited=False, is_drained=len(data) < _LONGEST_READ)

    @never_raises
    def _lost(self, fd: int, exc: object) -> None:
        stream = self._streams.get(fd)
        if stream is not None:
            stream.ended()

    @never_raises
    def _exited(self) -> None:
        self._child.exited(self._transport.get_returncode())


class UvloopHooks:
    """Installed with those of `subprocess`, as soon as uvloop is imported."""

    def __init__(self) -> None:
        self._loop: Any = None
        self._former: dict[str, Any] = {}
        self._hooked: dict[str, Any] = {}

    @never_raises
    def install(self, module: Any) -> None:
        """From now on; once."""
        if self._hooked:
            return
        self._loop = module.Loop
        self._former = {name: getattr(self._loop, name) for name in _HOOKED}
        self._hooked = {
            name: _hooked(former, shell=_HOOKED[name]) for name, former in self._former.items()
        }
        for name, hook in self._hooked.items():
            setattr(self._loop, name, hook)

    def uninstall(self) -> None:
        """No more; what somebody else has put around a hook stays, and does nothing."""
        for name, hook in self._hooked.items():
            if getattr(self._loop, name) is hook:
                setattr(self._loop, name, self._former[name])
        self._hooked = {}


def _hooked(former: Any, *, shell: bool) -> Any:
    @functools.wraps(former)
    async def started(loop: Any, protocol_factory: Any, *args: Any, **kwargs: Any) -> Any:
        executable = kwargs.get("executable")
        command = args[0] if shell and args else list(args)
        spawn = (
            spawn_here(lambda: program_of(command, shell=shell, executable=executable))
            if hooks.is_on
            else None
        )
        if spawn is None:
            return await former(loop, protocol_factory, *args, **kwargs)
        given = kwargs.get("env")
        env = hooks.environment(spawn, given)
        if env is not given:
            kwargs["env"] = env
        pipes = [STDOUT] if kwargs.get("stdout", PIPE) == PIPE else []
        pipes += [STDERR] if kwargs.get("stderr", PIPE) == PIPE else []
        listener = _Listener(spawn, pipes)
        return await _started(
            spawn, listener, former(loop, listener.listening(protocol_factory), *args, **kwargs)
        )

    return started


async def _started(spawn: Spawn, listener: _Listener, starting: Any) -> Any:
    try:
        transport, protocol = await starting
    except BaseException:
        if listener.is_made:
            spawn.child.conclude()
        else:
            spawn.child.not_spawned()
        raise
    listener.made(transport)
    return transport, protocol


uvloop_hooks = UvloopHooks()
"""Those of this process."""
