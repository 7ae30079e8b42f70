"""What an interactive shell does with one job, in a terminal of its own: `python job_shell.py CMD`.

It says `[stopped N]` when the job has been stopped, continues it in the foreground on a line from
its input and says `[continued]`, and `[status N]` at the end.
"""

from __future__ import annotations

import os
import signal
import sys

_KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


def main(argv: list[str]) -> None:
    for number in _KEYS:
        signal.signal(number, signal.SIG_IGN)
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgrp())
        for number in _KEYS:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            code = os.waitstatus_to_exitcode(status)
            print(f"[status {128 - code if code < 0 else code}]", flush=True)
            return
        print(f"[stopped {os.WSTOPSIG(status)}]", flush=True)
        sys.stdin.readline()
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
        print("[continued]", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
