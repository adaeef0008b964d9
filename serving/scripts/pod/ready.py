"""Startup probe of the engine: `ready.py ROOT PORT`. Ready when /health on loopback answers 200; the mark goes then.

It must be the startup probe and no other: the mark says "died before it was ready", and only the first success ends it.
"""

import http.client
import sys
from pathlib import Path

import marks

TIMEOUT = 4
"""Seconds; below the probe's own, so that kubelet logs this program's line."""


def main(arguments: list[str]) -> int:
    """Return 0 when the engine is ready."""
    if len(arguments) != 2 or not arguments[1].isdecimal():
        sys.stderr.write("usage: ready.py ROOT PORT\n")
        return 2
    root, port = Path(arguments[0]), int(arguments[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"not ready: {type(error).__name__}: {error}\n")
        return 1
    finally:
        connection.close()
    if status != http.client.OK:
        sys.stderr.write(f"not ready: /health answers {status}\n")
        return 1
    marks.remove(marks.own(root))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
