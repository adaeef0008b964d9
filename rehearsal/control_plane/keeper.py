"""Runs one command and ends it when the process that asked is gone, however it went: no orphan after SIGKILL.

`python -I -S keeper.py -- COMMAND...`, as the leader of a process group, standard input a pipe whose other end only
the asking process holds. Exits with the command's code, 128 + the number of the signal that ended it, or 126 when it
cannot be started. Standard library only, and few modules: it starts in 20 ms and stays as long as the command.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from types import FrameType

_USAGE, _CANNOT_START = 2, 126


def _main() -> int:
    if sys.argv[1:2] != ["--"] or len(sys.argv) < 3 or os.getpgrp() != os.getpid():
        sys.stderr.write("usage: keeper.py -- COMMAND..., as the leader of a process group\n")
        return _USAGE
    try:
        child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)  # noqa: S603 - the asking process chose it
    except OSError as failure:
        sys.stderr.write(f"{sys.argv[2]} cannot be started: {failure.strerror}\n")
        return _CANNOT_START
    asked_to_end = threading.Event()

    def end(_number: int = 0, _frame: FrameType | None = None) -> None:
        asked_to_end.set()
        child.kill()

    def watch_pipe() -> None:
        while os.read(0, 1024):
            pass
        end()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    threading.Thread(target=watch_pipe, daemon=True).start()
    # Wait also after a kill: where no init collects the dead, they would stay as zombies.
    code = child.wait()
    if asked_to_end.is_set():
        # What the command started, and this process.
        os.killpg(0, signal.SIGKILL)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    # Not sys.exit: the thread may hold the pipe.
    os._exit(_main())
