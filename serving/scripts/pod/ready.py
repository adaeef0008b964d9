"""Startup probe of the engine: `ready.py ROOT PORT [MODEL]`. Ready when /health on loopback answers 200; marked then.

With a model's name it then asks for one token, so that what the engine builds on its first request is built before the
pod takes traffic. Whatever the answer is, the engine is ready: it has answered.

It must be the startup probe and no other: the mark says "died before it was ready", and only the first success ends it.
"""

import http.client
import json
import sys
from pathlib import Path

import health
import marks

TIMEOUT = 4
"""Seconds; below the probe's own, so that kubelet logs this program's line."""

FIRST_REQUEST = 55
"""Seconds for the first token; below the probe's own with it (serving.techniques.readiness)."""


def main(arguments: list[str]) -> int:
    """Return 0 when the engine is ready."""
    if len(arguments) not in {2, 3} or not arguments[1].isdecimal():
        sys.stderr.write("usage: ready.py ROOT PORT [MODEL]\n")
        return 2
    root, port = Path(arguments[0]), int(arguments[1])
    if problem := health.problem(port, TIMEOUT):
        sys.stderr.write(f"not ready: {problem}\n")
        return 1
    if len(arguments) == 3:
        sys.stdout.write(f"first request: {first_request(port, arguments[2], FIRST_REQUEST)}\n")
    marks.ready(root)
    return 0


def first_request(port: int, model: str, seconds: float) -> str:
    """Ask for one token. Returns what came of it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    body = json.dumps({"model": model, "prompt": "a", "max_tokens": 1})
    try:
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        return str(connection.getresponse().status)
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
