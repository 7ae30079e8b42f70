"""One run of a command in our own place: its terminal, its keys and its output are ours."""

from __future__ import annotations

from llmphases.analysis.repeats import Measured, repeats
from llmphases.capture.children.command import Command
from llmphases.capture.children.live import LiveRun
from llmphases.capture.children.pty_ends import Stdin, terminals_for
from llmphases.cli.run_signals import Signals
from llmphases.cli.terminal import tell


def measured(command: Command) -> Measured:
    """Run it to its end; raises `OSError` if it cannot be started."""
    with Signals() as signals:
        live = LiveRun(command, terminals_for(Stdin.OURS, signals.opened))
        signals.follow(lambda number: live.hold(lambda: signals.stop(number)))
        pass_on(live, signals)
    code = exit_status(live)
    calls = [live.run.call] if live.run.call is not None else []
    took_ns = calls[0].duration_ns if calls else 0
    return Measured(
        name=command.what.name,
        exit_code=code,
        alone=repeats(calls, workers=1, took_ns=took_ns),
        together=None,
        is_tapped=command.tap,
    )


def pass_on(live: LiveRun, signals: Signals) -> None:
    """From its start to its end; then our own line begins where a line begins."""
    live.start()
    signals.started(live.run)
    live.pass_on()
    signals.ended(live.run)
    if not live.ends_line:
        tell("")
    for complaint in live.complaints:
        tell(f"llmphases: {complaint}")


def exit_status(live: LiveRun) -> int:
    """The child's, as shells have it; output of it that was lost is no success."""
    return status_of(live.run.code) or int(bool(live.complaints))


def status_of(code: int | None) -> int:
    """An exit code as shells have it: 128+N for signal N."""
    if code is None:
        return 1
    return 128 - code if code < 0 else code
