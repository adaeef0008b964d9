"""preStop of the engine: `agent_stop.py PORT SECONDS`. Tells the agent that the engine is stopped, then waits.

Sidecars get SIGTERM only when the engine has ended, so nothing else tells the agent. The wait is what a preStop without
an agent would be: what is still routed to the pod arrives before the engine's port closes. It never fails: the agent
may be gone.
"""

import http.client
import sys
import time

TIMEOUT = 2
"""Seconds for the agent's answer. They count as part of the wait."""


def main(arguments: list[str]) -> int:
    """Return 0."""
    if len(arguments) != 2 or not all(argument.isdecimal() for argument in arguments):
        sys.stderr.write("usage: agent_stop.py PORT SECONDS\n")
        return 2
    end = time.monotonic() + int(arguments[1])
    connection = http.client.HTTPConnection("127.0.0.1", int(arguments[0]), timeout=TIMEOUT)
    try:
        connection.request("POST", "/stop", headers={"Content-Length": "0"})
        connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"the agent was not told: {type(error).__name__}: {error}\n")
    finally:
        connection.close()
    time.sleep(max(0.0, end - time.monotonic()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
