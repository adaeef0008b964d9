"""The last words of a program, where kubelet keeps them: in the status of its pod, as long as the pod object is there.

So whoever started a Job learns how it ended with the right to read pods alone, also when its node and logs are gone.
"""

import os
from collections.abc import Mapping
from contextlib import suppress

VARIABLE = "TERMINATION_LOG"
"""Names another file, for tests."""

FILE = "/dev/termination-log"
"""The container's `terminationMessagePath`: kubelet mounts it writable for everybody, also below a read-only root."""

LIMIT = 4096
"""Bytes that kubelet keeps of it."""


def say(text: str, env: Mapping[str, str] = os.environ) -> None:
    """Write the text there. Outside of a pod there is no such file, and none is made."""
    with suppress(OSError):
        file = os.open(env.get(VARIABLE) or FILE, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(file, text.encode(errors="replace")[:LIMIT])
        finally:
            os.close(file)
