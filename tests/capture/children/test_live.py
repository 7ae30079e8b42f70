"""Output that goes on to our own stdout and stderr; as a whole: cli/test_run.py."""

from __future__ import annotations

import errno
import os
import threading

import pytest

from capture.children.tools_of_ours import tool
from llmphases.capture.children import live
from llmphases.capture.children.command import command_of
from llmphases.capture.children.live import LiveRun, Relay, write_all
from llmphases.capture.children.run import pipes_for


def test_a_relay_gives_what_came_in_its_order_and_then_its_end():
    relay = Relay()
    relay.output(1, b"a")
    relay.output(2, b"b")
    relay.over()
    assert [relay.take(), relay.take(), relay.take()] == [(1, b"a"), (2, b"b"), None]


def test_a_relay_has_room_until_its_reader_is_too_far_behind():
    relay = Relay()
    data = bytes(live.MOST_WAITING)
    assert relay.has_room(1)
    relay.output(1, data)
    relay.output(1, b"abc")
    assert not relay.has_room(1)
    assert not relay.has_room(2)
    assert relay.taken(b"abc") is False
    assert relay.taken(data) is True
    assert relay.has_room(1)
    relay.output(1, b"abc")
    assert relay.taken(b"abc") is False


def test_a_pump_that_found_no_room_is_woken_whatever_was_seen_before():
    """It fills up between two looks of the writer, and is emptied below the mark at once."""
    relay = Relay()
    piece = bytes(live.MOST_WAITING // 2)
    relay.output(1, piece)
    relay.output(1, piece)
    assert not relay.has_room(1)
    assert relay.taken(piece) is True
    assert relay.taken(piece) is False


def command(program):
    return command_of("test", tool(program), {}, text=False)


def test_a_run_is_passed_on_and_told(capfdbinary, calls):
    run = LiveRun(command("out('answer'); err('note'); sys.exit(3)"), pipes_for)
    run.start()
    assert run.pass_on() is calls[0]
    assert capfdbinary.readouterr() == (b"answer", b"note")
    assert run.run.code == 3
    assert run.complaints == []


def test_what_cannot_be_started_is_raised_and_told(calls, tmp_path):
    run = LiveRun(command_of("test", [str(tmp_path / "absent")], {}, text=False), pipes_for)
    with pytest.raises(FileNotFoundError):
        run.start()
    assert calls[0].error_type == "FileNotFoundError"


def test_whoever_holds_it_is_told_between_what_came_and_what_will(capfdbinary, calls, tmp_path):
    go = tmp_path / "go"
    held = []

    def hold():
        held.append(capfdbinary.readouterr().out)
        go.touch()

    wait = f"while not os.path.exists({str(go)!r}): time.sleep(0.01)"
    run = LiveRun(command(f"out('before')\n{wait}\nout('after')"), pipes_for)
    run.start()
    run.hold(hold)
    run.pass_on()
    assert len(held) == 1
    assert held[0] in {b"", b"before"}
    assert held[0] + capfdbinary.readouterr().out == b"beforeafter"


@pytest.mark.parametrize(
    ("error", "complaints"),
    [
        (errno.EPIPE, []),
        (errno.EIO, []),
        (errno.ENOSPC, ["cannot write to stdout: No space left on device"]),
    ],
)
def test_a_stream_that_nobody_takes_is_closed_for_the_child(error, complaints, monkeypatch, calls):
    def refuse(fd, data):
        if fd == 1:
            raise OSError(error, os.strerror(error))

    monkeypatch.setattr(live, "write_all", refuse)
    run = LiveRun(command("while True: out('x' * 1000)"), pipes_for)
    run.start()
    call = run.pass_on()
    assert run.run.code != 0
    assert call.error_type is not None
    assert run.complaints == complaints


def test_a_descriptor_that_somebody_made_non_blocking_is_written_to_all_the_same():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data = os.urandom(1_000_000)
    thread = threading.Thread(target=write_all, args=(writing, data))
    thread.start()
    got = b""
    while len(got) < len(data):
        got += os.read(reading, 65536)
    thread.join()
    assert got == data
    os.close(reading)
    os.close(writing)
