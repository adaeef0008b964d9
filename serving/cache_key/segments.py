"""Names as one segment of an S3 key: letters, digits, `.`, `-` and `_`, so that no tool, URL or IAM pattern reads more.

`docker.io/vllm/vllm-openai:v0.26.0` is `docker.io_svllm_svllm-openai_cv0.26.0`.
"""

import hashlib
import re

LONGEST = 200
"""Characters of a segment. Three of them and the archive's name stay far below S3's 1,024 bytes."""

_ESCAPES = {"_": "__", "/": "_s", ":": "_c", "@": "_a"}
_DOTS = "_d"
"""A dot after a dot: `..` is a step up for whatever takes a key for a path."""

_HASHED = "_h"
_PLAIN = re.compile(r"[A-Za-z0-9.-]", re.ASCII)


def segment(name: str) -> str:
    """Return the name as a segment. Two names never have the same one.

    Read from the left, an underscore always begins an escape, and `_h` and `_x` are none of a character: so a name that
    is cut (and carries 128 bits of its hash) cannot look like one that is not.

    Raises:
        ValueError: a character that no image reference, GPU product or model folder may have, or an empty name.
    """
    parts = [_escaped(name, at) for at in range(len(name))]
    if not parts:
        raise ValueError("an empty name is no segment of a key")
    # a leading `-` or `_` would make a file name that tools take for an option, a leading dot one that they hide
    lead = "" if parts[0].isalnum() else "0_x"
    whole = "".join([lead, *parts])
    if len(whole) <= LONGEST:
        return whole
    tail = _HASHED + hashlib.sha256(name.encode()).hexdigest()[:32]
    head = lead
    for part in parts:
        if len(head) + len(part) + len(tail) > LONGEST:
            break
        head += part
    return head + tail


def _escaped(name: str, at: int) -> str:
    sign = name[at]
    if sign == "." and name[at - 1 : at] == ".":
        return _DOTS
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if not _PLAIN.fullmatch(sign):
        raise ValueError(f"{name!a} has a character that no segment of a key may have: {sign!a}")
    return sign
