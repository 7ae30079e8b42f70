"""One run of a command: spawned, watched, pumped, reaped, and told to the trace."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from llmphases.calls import Call, Ended, ProcessUse
from llmphases.capture.children.command import Command
from llmphases.capture.children.ends import Ends
from llmphases.capture.children.environment import child_environment
from llmphases.capture.children.exit_watch import ExitWatch
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.capture.children.pump import Pump
from llmphases.capture.children.sampler import watch
from llmphases.capture.children.tap.contract import View
from llmphases.capture.children.tap.moments import TapMoments
from llmphases.capture.children.trace import CommandTrace
from llmphases.capture.children.watched import Watched

if TYPE_CHECKING:
    from llmphases.capture.children.tap.tap import Tap


class OwnChild(subprocess.Popen[bytes]):
    """A child of our runner: hooks of `subprocess` leave it alone."""


class Sink(Protocol):
    """Who gets the output."""

    def output(self, stream: int, data: bytes) -> None:
        """These bytes arrived; in the thread that pumps."""
        ...

    def has_room(self, stream: int) -> bool:
        """Whether more of a stream is welcome now."""
        ...

    def so_far(self) -> tuple[bytes, bytes]:
        """What is left of stdout and stderr, for an exception that is to carry them."""
        ...


Connect = Callable[[Command], Ends]
"""Opens what a child's output goes through."""


def pipes_for(command: Command) -> Ends:
    """Pipes, and on stdin no more than it is given."""
    return Ends(with_stdin=command.given is not None)


class CommandRun:
    """`start`, then `complete` in whatever thread, then `end`; `stop` from any other thread."""

    def __init__(self, command: Command, sink: Sink, connect: Connect = pipes_for) -> None:
        self._command = command
        self._sink = sink
        self._connect = connect
        self._trace: CommandTrace | None = None
        self._tap: Tap | None = None
        self._child: OwnChild | None = None
        self._watched: Watched | None = None
        self._pump: Pump | None = None
        self._watch: ExitWatch | None = None
        self._spawned_ns = 0
        self.code: int | None = None
        """The exit code, once it is gone."""
        self.use: ProcessUse | None = None
        """What it has used, likewise."""

    # --- its steps -------------------------------------------------------------------------

    def start(self) -> None:
        """Spawn it; raises what `subprocess.Popen` raises."""
        if self._command.tap:
            self._open_tap()
        trace = self._trace = CommandTrace(self._command, self._moments)
        try:
            self._spawn(trace)
        except BaseException:
            self._close_tap()
            trace.not_spawned()
            raise

    def _open_tap(self) -> None:
        from llmphases.capture.children.tap.opening import open_tap  # noqa: PLC0415  # loads asyncio

        self._tap = open_tap(self._command)

    def _close_tap(self) -> None:
        if self._tap is not None:
            self._tap.close()

    def _spawn(self, trace: CommandTrace) -> None:
        command = self._command
        env = child_environment(command.env, trace.headers(), inherit_otel=command.inherit_otel)
        argv = command.argv
        if self._tap is not None:
            argv, env = self._tap.steer(argv, env)
        ends = self._connect(command)
        try:
            self._spawned_ns = trace.now()
            self._child = OwnChild(
                argv, stdin=ends.theirs_in, stdout=ends.theirs[STDOUT],
                stderr=ends.theirs[STDERR], cwd=command.cwd, env=env,
                close_fds=not ends.hands_down,
            )  # fmt: skip
        except BaseException:
            ends.close_ours()
            raise
        finally:
            ends.close_theirs()
        self._attach(trace, ends)

    def _attach(self, trace: CommandTrace, ends: Ends) -> None:
        assert self._child is not None
        try:
            if trace.is_on:
                self._watched = watch(self._child.pid, self._command.executable)
            self._watch = ExitWatch(self._child.pid, trace.now)
            self._pump = Pump(
                self._watch, self, trace.now, outputs=ends.ours, stdin=ends.ours_in,
                given=self._command.given or b"", timeout_ns=self._command.timeout_ns,
                grace_ns=self._command.grace_ns,
            )  # fmt: skip
        except BaseException:  # no descriptors left, or an interrupt: nobody will read it
            self._child.kill()
            self._child.wait()
            ends.close_ours()
            if self._watch is not None:
                self._watch.close()
            raise

    def complete(self) -> None:
        """Until it is gone; an interrupt ends it first."""
        assert self._pump is not None
        assert self._watch is not None
        try:
            self._pump.run()
        except BaseException:
            self._end_now()
            raise
        finally:
            self._settle()

    def _end_now(self) -> None:
        assert self._pump is not None
        assert self._watch is not None
        self._pump.stop("interrupted")
        try:
            self._pump.run()
        finally:  # interrupted once more
            self._watch.send(signal.SIGKILL)

    def _settle(self) -> None:
        assert self._trace is not None
        assert self._child is not None
        assert self._pump is not None
        assert self._watch is not None
        if self._watched is not None:
            self._watched.look()
        code, rusage = self._watch.reap()
        self._watch.close()
        self.code = self._child.returncode = code
        at_ns = self._pump.exit_ns
        self._pump.close()
        if self._watched is not None:
            wall_ns = None if at_ns is None else at_ns - self._spawned_ns
            self.use = self._watched.reaped(rusage, exit_code=code, wall_ns=wall_ns)
        self._kill_survivors()
        self._close_tap()
        self._trace.exited(at_ns, code, self.use, self._pump.why)

    def _kill_survivors(self) -> None:
        if self._command.kill_survivors and self._watched is not None:
            for pid in self._watched.survivors():
                try:
                    os.kill(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    continue

    def failure(self) -> subprocess.SubprocessError | None:
        """What `subprocess` would raise of it; None if all is well."""
        assert self._pump is not None
        assert self.code is not None
        command = self._command
        is_late = self._pump.why == "timeout"
        if not is_late and not (command.check and self.code):
            return None
        stdout, stderr = map(command.decoded, self._sink.so_far())
        if is_late:
            assert command.timeout is not None
            return subprocess.TimeoutExpired(command.argv, command.timeout, stdout, stderr)
        return subprocess.CalledProcessError(self.code, command.argv, stdout, stderr)

    def end(self, error: BaseException | None = None, ended: Ended | None = None) -> None:
        """A call of its own is over."""
        if self._trace is not None:
            meant = self._pump is not None and self._pump.why == "closed"
            self._trace.end(error, ended, meant=meant)

    @property
    def call(self) -> Call | None:
        """The call of its own, once it has ended."""
        return self._trace.call if self._trace is not None else None

    @property
    def _moments(self) -> TapMoments | None:
        return None if self._tap is None else self._tap.moments

    @property
    def tap_view(self) -> View | None:
        """What a tap could see, once all is over."""
        return None if self._moments is None else self._moments.view

    @property
    def was_closed(self) -> bool:
        """Whether it was ended because nobody wants the rest."""
        return self._pump is not None and self._pump.why == "closed"

    # --- from other threads ----------------------------------------------------------------

    def stop(self, why: str) -> None:
        """Have it ended: `closed`, `cancelled`."""
        if self._pump is not None:
            self._pump.stop(why)

    def kill(self) -> None:
        """End it at once."""
        if self._watch is not None and self.code is None:
            self._watch.send(signal.SIGKILL)

    def wake(self) -> None:
        """There may be room again."""
        if self._pump is not None:
            self._pump.wake()

    def send(self, number: int) -> None:
        """Pass a signal on to it, if it is still there."""
        if self._watch is not None and self.code is None:
            self._watch.send(number)

    def shut(self, stream: int) -> None:
        """Nobody takes a stream of its output any more: it is to find that out when it writes."""
        if self._pump is not None:
            self._pump.shut(stream)

    @property
    def pid(self) -> int | None:
        """Its process; None before it is spawned."""
        return self._child.pid if self._child is not None else None

    # --- what the pump tells ---------------------------------------------------------------

    def output(self, stream: int, data: bytes, at_ns: int) -> None:
        """These bytes arrived."""
        assert self._trace is not None
        self._trace.output(stream, data, at_ns)
        self._sink.output(stream, data)

    def closed(self, stream: int) -> None:
        """No more will come of a stream."""
        assert self._trace is not None
        self._trace.closed(stream)

    def has_room(self, stream: int) -> bool:
        """Whether more of a stream can be taken now."""
        return self._sink.has_room(stream)

    def going(self) -> None:
        """Its descendants are still known by it; soon they are not."""
        if self._watched is not None:
            self._watched.look()
