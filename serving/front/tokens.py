"""The file of valid bearer tokens, as nginx reads it: one line of a `map` for each.

nginx compares the plain strings of a map without regard to case (ngx_http_map_module), so each line is a regular
expression, which does not. None of its comparisons takes the same time for every wrong token: a token has to be long
enough that its bytes cannot be found out one by one over a network (24 characters at least).
"""

import re
from collections.abc import Iterable

SHORTEST, LONGEST = 24, 1024
LARGEST = 1024 * 1024
"""Bytes that Kubernetes lets a Secret hold."""
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 6750, b64token. Nothing in it means anything to nginx but what `_escaped` takes care of."""

_LINE = re.compile(r'^"~\^\(\?i:bearer\) \+(\S+)\$" 1;$', re.MULTILINE)
"""Of `_lines`, with the token as it is escaped there."""


class BadTokenError(Exception):
    """A token that cannot stand in the file. The message never repeats it."""


def token_map(tokens: Iterable[str]) -> str:
    """Return the text of the file. Several tokens are valid beside each other, so that one can follow another.

    Raises:
        BadTokenError: none at all, one twice, one that a header or the file cannot hold, or more than a Secret holds.
    """
    found = list(tokens)
    if not found:
        raise BadTokenError("no token: nobody could call the server")
    for place, token in enumerate(found, 1):
        if not _TOKEN.fullmatch(token):
            raise BadTokenError(
                f"token {place}: expected letters, digits and -._~+/ with = at the end (RFC 6750); white space, nothing"
                " else, separates tokens"
            )
        if not SHORTEST <= len(token) <= LONGEST:
            raise BadTokenError(f"token {place}: {len(token)} characters; expected {SHORTEST} to {LONGEST}")
        if token in found[: place - 1]:
            raise BadTokenError(f"token {place}: stands there twice")
    text = _lines(found)
    if len(text) > LARGEST:
        raise BadTokenError(f"{len(found)} tokens make {len(text)} bytes > {LARGEST} bytes, which a Secret holds")
    return text


def tokens_of(text: str) -> list[str]:
    """Return the tokens of such a file, the other way round; none, when it is not one."""
    return [re.sub(r"\[([.+])\]", r"\1", escaped) for escaped in _LINE.findall(text)]


def _lines(found: Iterable[str]) -> str:
    return "".join(f'"~^(?i:bearer) +{_escaped(token)}$" 1;\n' for token in found)


def _escaped(token: str) -> str:
    """Return the token as a regular expression. In brackets, not behind backslashes: nginx reads those first."""
    return re.sub(r"[.+]", lambda sign: f"[{sign[0]}]", token)
