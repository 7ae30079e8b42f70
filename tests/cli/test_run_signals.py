"""Keys, windows and signals: the command behaves as it does without us, in a real terminal."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from capture.children.tools_of_ours import tool
from cli.screens import screen

RUN = [sys.executable, "-m", "llmphases", "run", "--"]
WITH_AND_WITHOUT = pytest.mark.parametrize("us", [[], RUN], ids=["without", "with"])

pytestmark = pytest.mark.slow

# Python runs its handlers only between two steps, and not while a step waits: so none of these
# programs waits long.
FOREVER = "while True: time.sleep(0.02)"
LINE = """
import select
def line():
    while not select.select([0], [], [], 0.02)[0]: pass
    return input()
"""

# --- what a command sees of a terminal ----------------------------------------------------------


@WITH_AND_WITHOUT
def test_it_sees_a_terminal_on_all_three_and_is_in_its_foreground(us):
    program = (
        "print([os.isatty(fd) for fd in (0, 1, 2)], os.tcgetpgrp(0) == os.getpgrp())\n"
        "print([tuple(os.get_terminal_size(fd)) for fd in (0, 1, 2)])"
    )
    with screen([*us, *tool(program)], size=(33, 77)) as shown:
        shown.expect(r"\[True, True, True\] True\r\n")
        shown.expect(r"\[\(77, 33\), \(77, 33\), \(77, 33\)\]\r\n")
        assert shown.status() == 0


@WITH_AND_WITHOUT
@pytest.mark.parametrize(
    ("to", "terminals"),
    [
        ("> out", [True, False, True]),
        ("2> out", [True, True, False]),
        ("< /dev/null", [False, True, True]),
    ],
)
def test_what_is_no_terminal_for_us_is_none_for_it(us, to, terminals, tmp_path):
    program = "open('seen', 'w').write(str([os.isatty(fd) for fd in (0, 1, 2)]))"
    line = f'cd "$0" && "$@" {to}'
    with screen(["sh", "-c", line, str(tmp_path), *us, *tool(program)]) as shown:
        assert shown.status() == 0
    assert (tmp_path / "seen").read_text() == str(terminals)


@WITH_AND_WITHOUT
def test_colours_and_movements_go_through_as_they_are(us):
    program = tool(r"out(b'\x1b[1;31mred\x1b[0m\x1b]0;title\x07\r\x1b[2K\xe2\x9c\x93\ttab\nend\n')")
    with screen([*us, *program]) as shown:
        shown.expect(r"\x1b\[1;31mred\x1b\[0m\x1b\]0;title\x07\r\x1b\[2K✓\ttab\r\nend\r\n")
        assert shown.status() == 0


@WITH_AND_WITHOUT
def test_what_is_typed_is_the_commands(us):
    program = tool("print('got', input('name? '))")
    with screen([*us, *program]) as shown:
        shown.expect(r"name\? ")
        shown.type("it\n")
        shown.expect(r"it\r\ngot it\r\n")
        assert shown.status() == 0


@WITH_AND_WITHOUT
@pytest.mark.parametrize("fd", [0, 1, 2])
def test_single_keys_reach_a_command_that_asks_for_them(us, fd):
    """By whichever of its descriptors: curses asks by stdout."""
    program = tool(
        "import tty, termios\n"
        f"before = termios.tcgetattr({fd})\n"
        f"tty.setcbreak({fd}); out('ready'); key = os.read(0, 1); out(b'<' + key + b'>')\n"
        f"termios.tcsetattr({fd}, termios.TCSANOW, before)"
    )
    with screen([*us, *program]) as shown:
        normal = shown.mode()
        shown.expect("ready")
        shown.type("k")
        assert shown.expect(r"(.*)<k>")[1] == b""
        assert shown.status() == 0
        assert shown.mode() == normal


PAGER = """
import tty, termios
terminal = os.open(os.ttyname(2), os.O_RDONLY)
before = termios.tcgetattr(terminal)
tty.setcbreak(terminal); out('ready')
for _ in range(3): out(b'<' + os.read(terminal, 1) + b'>')
termios.tcsetattr(terminal, termios.TCSADRAIN, before); os.close(terminal)
"""
"""It reads its keys where `less` does."""


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="nothing tells who reads")
@WITH_AND_WITHOUT
@pytest.mark.parametrize("given", ["", "echo text |"], ids=["alone", "in a pipe"])
def test_keys_reach_a_pager_and_what_comes_after_it_its_own(us, given):
    program = "err('after'); print('got', open('/dev/tty').readline())"
    line = f'{given} "$@"'
    with screen(["sh", "-c", line, "sh", *us, *tool(PAGER + program)]) as shown:
        normal = shown.mode()
        shown.expect("ready")
        for key in "jkq":
            shown.type(key)
            assert shown.expect(f"(.*)<{key}>")[1] == b""
        shown.expect("after")
        shown.type("it\n")
        shown.expect("got it")
        assert shown.status() == 0
        assert shown.mode() == normal


@WITH_AND_WITHOUT
def test_the_size_of_the_window_is_told_to_the_command_and_to_what_it_starts(us):
    program = (
        # no print: a second signal may come in the middle of it, and it does not bear that
        "def told(*_):\n"
        "    sizes = [tuple(os.get_terminal_size(fd)) for fd in (0, 1, 2)]\n"
        "    os.write(1, f'{sizes}\\n'.encode())\n"
        "signal.signal(signal.SIGWINCH, told); print('ready', flush=True)\n"
        "while True: time.sleep(0.02)"
    )
    starts = tool(f"sys.exit(subprocess.run({tool(program)!r}).returncode)")
    with screen([*us, *starts]) as shown:
        shown.expect("ready")
        for rows, columns in ((40, 132), (10, 20)):
            shown.resize(rows, columns)
            shown.expect(rf"\[\({columns}, {rows}\), \({columns}, {rows}\), \({columns}, {rows}\)")
        shown.type("\x1c")
        shown.status()


# --- keys that are signals ----------------------------------------------------------------------


@WITH_AND_WITHOUT
def test_control_c_ends_a_command_that_does_not_mind(us):
    with screen([*us, *tool("print('ready', flush=True)\n" + FOREVER)]) as shown:
        shown.expect("ready")
        shown.type("\x03")
        shown.expect("KeyboardInterrupt")
        assert shown.status() == 130


@WITH_AND_WITHOUT
def test_control_c_is_the_commands_to_decide_on_each_time(us):
    program = (
        "signal.signal(signal.SIGINT, lambda *_: print('not yet', flush=True))\n"
        "print('ready', flush=True); line(); sys.exit(7)"
    )
    with screen([*us, *tool(LINE + program)]) as shown:
        shown.expect("ready")
        for _ in range(2):
            shown.type("\x03")
            shown.expect("not yet")
        shown.type("\n")
        assert shown.status() == 7
        assert shown.seen.count(b"not yet") == 2


def test_after_control_c_the_times_are_told():
    with screen([*RUN, *tool("print('ready', flush=True)\n" + FOREVER)]) as shown:
        shown.expect("ready")
        shown.type("\x03")
        shown.expect("exit 130")
        shown.expect("start-up")
        shown.status()


@WITH_AND_WITHOUT
def test_control_z_and_fg(us):
    program = "print('ready', flush=True); print('got', line())"
    with screen([*us, *tool(LINE + program)]) as shown:
        shown.expect("ready")
        for _ in range(2):
            shown.type("\x1a")
            assert int(shown.expect(r"\[stopped (\d+)\]")[1]) == signal.SIGTSTP
            shown.type("fg\n")
            shown.expect(r"\[continued\]")
        shown.type("it\n")
        shown.expect("got it")
        assert shown.status() == 0


@WITH_AND_WITHOUT
def test_what_a_command_says_before_it_stops_is_seen_before(us):
    """As full-screen programs do, which put the terminal in order first."""
    program = (
        "def stop(*_):\n"
        "    print('in order', flush=True); os.kill(os.getpid(), signal.SIGSTOP)\n"
        "    print('back', flush=True)\n"
        "signal.signal(signal.SIGTSTP, stop); print('ready', flush=True); print('got', line())"
    )
    with screen([*us, *tool(LINE + program)]) as shown:
        shown.expect("ready")
        shown.type("\x1a")
        shown.expect("in order")
        assert int(shown.expect(r"\[stopped (\d+)\]")[1]) == signal.SIGSTOP
        shown.type("fg\n")
        shown.expect("back")
        shown.type("it\n")
        shown.expect("got it")
        assert shown.status() == 0


@WITH_AND_WITHOUT
def test_a_command_that_does_not_want_to_stop_goes_on(us):
    program = (
        "signal.signal(signal.SIGTSTP, lambda *_: print('no', flush=True))\n"
        "print('ready', flush=True); print('got', line())"
    )
    with screen([*us, *tool(LINE + program)]) as shown:
        shown.expect("ready")
        shown.type("\x1a")
        shown.expect("no\r\n")
        shown.type("it\n")
        shown.expect("got it")
        assert shown.status() == 0
        assert b"stopped" not in shown.seen


# --- signals that are sent ----------------------------------------------------------------------

ANSWERS = """
def answer(number, frame):
    out(signal.Signals(number).name); os._exit(9)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
    signal.signal(number, answer)
out('ready\\n')
while True: time.sleep(0.02)
"""


@WITH_AND_WITHOUT
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1"])
def test_a_signal_that_is_sent_to_us_alone_reaches_the_command(us, name):
    with subprocess.Popen(
        [*us, *tool(ANSWERS)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.Signals[name])
        assert process.stdout.read() == name.encode()
        assert process.wait(120) == 9


def test_a_command_that_was_terminated_is_told_of_and_its_trace_is_kept(tmp_path):
    words = [*RUN[:-1], "--save", "t.jsonl", "--", *tool("out('ready\\n'); time.sleep(60)")]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert b"exit 143" in process.stderr.read()
        assert process.wait(120) == 143
    assert "SIGTERM" in (tmp_path / "t.jsonl").read_text()


@WITH_AND_WITHOUT
def test_what_is_ignored_stays_ignored(us):
    """As `nohup` does."""
    program = "out(str(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN))"
    result = subprocess.run(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *us, *tool(program)],
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert result.stdout == b"True"
