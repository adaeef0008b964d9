"""Startup and liveness probe of an engine behind the front proxy: `engine_alive.py PORT [VERDICT]`.

It listens on loopback, where kubelet does not reach it. Fails when /health does not answer 200, and when the file
VERDICT holds a fresh word of the agent that the engine does not wake.
"""

import sys
from pathlib import Path

import health
import verdict

TIMEOUT = 4
"""Seconds; below the probe's own, so that kubelet logs this program's line."""


def main(arguments: list[str]) -> int:
    """Return 0 when the engine is alive."""
    if len(arguments) not in (1, 2) or not arguments[0].isdecimal():
        sys.stderr.write("usage: engine_alive.py PORT [VERDICT]\n")
        return 2
    problem = health.problem(int(arguments[0]), TIMEOUT)
    if not problem and len(arguments) > 1:
        problem = verdict.read(Path(arguments[1]))
    if problem:
        sys.stderr.write(f"not alive: {problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
