"""Hooks in `subprocess`: what a program starts inside a traced call is timed.

A child started anywhere else is not touched. What the program gets is what it would have got.
"""

from __future__ import annotations

import functools
import inspect
import os
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.capture.children.hooked_child import HookedChild
from llmphases.capture.children.hooked_pipes import stamped
from llmphases.capture.children.hooked_selector import StampingSelector
from llmphases.capture.children.reaping import Reaping
from llmphases.capture.children.run import OwnChild
from llmphases.capture.children.sampler import watch
from llmphases.capture.children.spawning import Program, Spawn, program_of, spawn_here
from llmphases.capture.children.watcher import Watcher
from llmphases.clock import SystemClock
from llmphases.observers import never_raises

_WANTED = ("args", "executable", "shell", "env")


class _Handing(threading.local):
    """From `Popen` to the asyncio transport that makes it, in the same thread."""

    is_wanted = False
    child: HookedChild | None = None


class SubprocessHooks:
    """All that is hooked in `subprocess`, and the children that are being timed."""

    def __init__(self) -> None:
        self.propagate = True
        """Whether children are told where in the trace they are, by their environment."""
        self.inherit_otel = True
        """Whether they inherit our own `OTEL_*` variables."""
        self._init: Any = None
        self._hooked_init: Any = None
        self._send: Any = None
        self._hooked_send: Any = None
        self._selector: Any = None
        self._reaping = Reaping()
        self._watcher = Watcher(SystemClock.now)
        self._children: set[HookedChild] = set()
        self._handing = _Handing()

    @property
    def is_on(self) -> bool:
        """Whether children that are started now are timed."""
        return self._hooked_init is not None

    def install(self) -> None:
        """From now on."""
        popen: Any = subprocess.Popen
        self._init = popen.__init__
        popen.__init__ = self._hooked_init = self._hook(self._init)
        self._send = popen.send_signal
        popen.send_signal = self._hooked_send = self._hook_sending(self._send)
        self._selector = _place.__dict__["_PopenSelector"]
        _place._PopenSelector = StampingSelector  # noqa: SLF001  # where `communicate` looks
        self._reaping.install()

    def uninstall(self) -> None:
        """No more; children that run are timed to their end.

        What somebody else has put around a hook stays; the hook inside it does nothing then.
        """
        popen: Any = subprocess.Popen
        if popen.__init__ is self._hooked_init:
            popen.__init__ = self._init
        self._hooked_init = None
        if popen.send_signal is self._hooked_send:
            popen.send_signal = self._send
        if _place._PopenSelector is StampingSelector:  # noqa: SLF001  # likewise
            _place._PopenSelector = self._selector  # noqa: SLF001  # likewise
        self._reaping.uninstall()

    def hand_over(self, make: Callable[[], object]) -> HookedChild | None:
        """The child that `make` starts, whose pipes somebody else than `Popen` reads."""
        handing = self._handing
        handing.is_wanted, handing.child = True, None
        try:
            make()
        finally:
            handing.is_wanted, child, handing.child = False, handing.child, None
        return child

    def forget(self) -> None:
        """In a forked process: the children are its parent's."""
        for child in self._children:
            child.forget()
        self._children.clear()
        self._reaping.forget_all()
        self._watcher.reset()

    def _hook(self, init: Any) -> Any:
        places = _places_of_arguments(init)

        @functools.wraps(init)
        def started(popen: Any, /, *args: Any, **kwargs: Any) -> None:
            if not self.is_on or isinstance(popen, OwnChild):
                init(popen, *args, **kwargs)
                return
            spawn = spawn_here(lambda: _program(args, kwargs, places))
            if spawn is None:
                init(popen, *args, **kwargs)
                return
            args, kwargs = self._with_environment(spawn, args, kwargs, places["env"])
            try:
                init(popen, *args, **kwargs)
            except BaseException:
                spawn.child.not_spawned()
                raise
            self._spawned(spawn, popen)

        return started

    def _hook_sending(self, send: Any) -> Any:
        tracked = self._reaping.tracked

        @functools.wraps(send)
        def send_signal(popen: Any, sig: int) -> Any:
            child = tracked(getattr(popen, "pid", None))
            if child is not None:
                child.signalled(sig)
            return send(popen, sig)

        return send_signal

    def _with_environment(
        self, spawn: Spawn, args: tuple[Any, ...], kwargs: dict[str, Any], place: int
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments with another `env`."""
        given = args[place] if place < len(args) else kwargs.get("env")
        env = self.environment(spawn, given)
        if env is given:
            return args, kwargs
        if place < len(args):
            return (*args[:place], env, *args[place + 1 :]), kwargs
        return args, {**kwargs, "env": env}

    def environment(self, spawn: Spawn, given: Any) -> Any:
        """What a child is to get as its `env`; `given` itself if that stays as it is."""
        return spawn.environment(given, tell=self.propagate, inherit_otel=self.inherit_otel)

    @never_raises
    def _spawned(self, spawn: Spawn, popen: subprocess.Popen[Any]) -> None:
        child, pid = spawn.child, popen.pid
        if type(pid) is not int:  # somebody's tests put something else in the place of processes
            child.not_spawned()
            return
        output_fd = popen.stdout.fileno() if popen.stdout is not None else None
        self.begin(child, pid, spawn.program.executable, popen, output_fd)
        if self._handing.is_wanted:
            self._handing.is_wanted, self._handing.child = False, child
            return
        if popen.stdout is not None:
            popen.stdout = stamped(popen.stdout, child.stream(STDOUT))
        if popen.stderr is not None:
            popen.stderr = stamped(popen.stderr, child.stream(STDERR))

    def begin(
        self, child: HookedChild, pid: int, executable: str | None,
        popen: subprocess.Popen[Any] | None = None, output_fd: int | None = None,
    ) -> None:  # fmt: skip
        """It runs: watch it until all is known of it. Nobody has waited for it so far."""
        watched = watch(pid, executable)
        child.when_over(lambda: self._over(child, pid))
        self._children.add(child)
        self._reaping.track(pid, child)
        child.spawned(popen, watched, self._watcher, pid, output_fd)

    def _over(self, child: HookedChild, pid: int) -> None:
        self._children.discard(child)
        self._reaping.forget(pid, child)


_place: Any = subprocess


def _places_of_arguments(init: Any) -> dict[str, int]:
    """Where among its positional arguments (without `self`) each of those we need stands."""
    names = list(inspect.signature(init).parameters)
    return {name: names.index(name) - 1 for name in _WANTED}


def _program(args: Any, kwargs: Any, places: dict[str, int]) -> Program:
    def given(name: str) -> Any:
        place = places[name]
        return args[place] if place < len(args) else kwargs.get(name)

    return program_of(given("args"), shell=bool(given("shell")), executable=given("executable"))


hooks = SubprocessHooks()
"""Those of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=hooks.forget)
