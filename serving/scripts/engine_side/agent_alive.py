"""Startup and liveness probe of the agent: `agent_alive.py PORT`. Asks its control port about itself, nothing else."""

import http.client
import sys

TIMEOUT = 4
"""Seconds; below the probe's own, so that kubelet logs this program's line."""


def main(arguments: list[str]) -> int:
    """Return 0 when it answers."""
    if len(arguments) != 1 or not arguments[0].isdecimal():
        sys.stderr.write("usage: agent_alive.py PORT\n")
        return 2
    connection = http.client.HTTPConnection("127.0.0.1", int(arguments[0]), timeout=TIMEOUT)
    try:
        connection.request("GET", "/alive")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"not alive: {type(error).__name__}: {error}\n")
        return 1
    finally:
        connection.close()
    return 0 if status == http.client.OK else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
