"""Startup probe of the engine: `ready.py ROOT PORT`. Ready when /health on loopback answers 200; that is marked then.

It must be the startup probe and no other: the mark says "died before it was ready", and only the first success ends it.
"""

import sys
from pathlib import Path

import health
import marks

TIMEOUT = 4
"""Seconds; below the probe's own, so that kubelet logs this program's line."""


def main(arguments: list[str]) -> int:
    """Return 0 when the engine is ready."""
    if len(arguments) != 2 or not arguments[1].isdecimal():
        sys.stderr.write("usage: ready.py ROOT PORT\n")
        return 2
    root, port = Path(arguments[0]), int(arguments[1])
    if problem := health.problem(port, TIMEOUT):
        sys.stderr.write(f"not ready: {problem}\n")
        return 1
    marks.ready(root)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
