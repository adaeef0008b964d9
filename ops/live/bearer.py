"""The token that a front proxy asks for: given, or out of the Secret that the proxy itself reads. Never shown."""

import base64
import binascii
import os
from pathlib import Path

from ops.cluster.api import Cluster, DeniedError
from ops.failures import RefusedError, UsageError
from ops.terminal import echo
from serving.front import TOKENS_KEY
from serving.front.tokens import tokens_of

VARIABLE = "VLLM_API_TOKEN"
OPTION = "--token-file"
_MOST = 65536
"""Signs of a file that are read. No server takes a header of so many."""

OTHERWISE = f"or give a token with {VARIABLE} or {OPTION}"


def given(file: Path | None) -> tuple[str, str] | None:
    """Return the token that was given and where, None when none was.

    Raises:
        UsageError: it cannot be a header's.
    """
    if file is not None:
        try:
            with file.open(encoding="utf-8") as opened:
                text = opened.read(_MOST)
            return _sound(text.strip(), f"{OPTION} {echo(str(file))}")
        except (OSError, UnicodeDecodeError):
            raise UsageError(f"{OPTION} {echo(str(file))}: cannot be read") from None
    if VARIABLE in os.environ:
        return _sound(os.environ[VARIABLE].strip(), f"${VARIABLE}")
    return None


def of_secret(cluster: Cluster, namespace: str, name: str) -> tuple[str, str]:
    """Return the first of the tokens in a Secret, and where it is from. It takes the right to get the Secret.

    Raises:
        RefusedError: it has none.
        DeniedError: whoever asks may not read it.
    """
    title = f"Secret {namespace}/{name}"
    try:
        found = cluster.find(f"/api/v1/namespaces/{namespace}/secrets/{name}")
    except DeniedError as denied:
        raise DeniedError(f"{title}: {denied}; get on secrets, {OTHERWISE}") from None
    try:
        text = base64.b64decode(((found or {}).get("data") or {})[TOKENS_KEY], validate=True).decode()
        return tokens_of(text)[0], title
    except (KeyError, IndexError, binascii.Error, UnicodeDecodeError):
        raise RefusedError(f"{title}: no token in {TOKENS_KEY}: pulumi up, {OTHERWISE}") from None


def _sound(token: str, source: str) -> tuple[str, str]:
    """Return both. A token with anything else in it would end the header, and the client's error would repeat it."""
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise UsageError(f"{source}: not a token; expected one word of printable ASCII")
    return token, source
