"""Whether the engine in this container is ready: its /health on loopback."""

import http.client


def problem(port: int, seconds: float) -> str | None:
    """Return why it is not ready; None when it is. Waits at most `seconds` for each byte."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    return None if status == http.client.OK else f"/health answers {status}"
