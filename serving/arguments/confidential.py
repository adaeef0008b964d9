"""What no argument may hold: command lines are in the pod spec, in the engine's log and in the stack's state.

What is said of it never repeats the value.
"""

import json
import re
from collections.abc import Iterator, Mapping

_WHY = "arguments are in the pod spec and in the log"

_USERINFO = re.compile(r"://[^\s/?#]*@")
"""A URL with a user in it (RFC 3986, 3.2.1)."""

_NAMES = re.compile(r"secret|passwd|password|access_?key|api_?key")
_SPECIAL_TOKENS = "".join(
    f"(?<!{of}_)" for of in ("[be]o[a-z]", "pad", "unk", "sep", "cls", "mask", "image", "audio", "video")
)
_TOKEN = re.compile(rf"(?:^|_){_SPECIAL_TOKENS}token$")
"""The name of one that lets somebody in. Those of a tokenizer, and numbers of tokens, are no secret."""

_KEY = re.compile(r"""([\w.-]{1,64})["']?\s{0,9}:""")
"""Of something like JSON that does not parse, and would be repeated for that. Bounded: a text may be long."""


def confidential(flag: str, value: object) -> str | None:
    """Return why a flag may not hold its value, or None. Nothing needs to be right about either."""
    return next(_found(value, flag, ""), None)


def _found(value: object, name: str, at: str) -> Iterator[str]:
    if _lets_in(name, value):
        yield f"{f'{at}: ' if at else ''}by its name it is a secret; {_WHY}"
    if isinstance(value, str):
        if _USERINFO.search(value):
            yield f"{f'{at}: ' if at else ''}a URL with a user or a password in it; {_WHY}"
        elif re.match(r"\s*['\"]?\s*(\{(?![{%#])|\[)", value):  # not a Jinja template
            yield from _in_text(value, at)
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        yield from _found(inner, str(key), f"{at}.{key}" if at else str(key))
    for index, item in enumerate(value) if isinstance(value, list) else ():
        yield from _found(item, "", f"{at}[{index}]")


def _in_text(text: str, at: str) -> Iterator[str]:
    try:
        yield from _found(json.loads(text), "", at)
    except json.JSONDecodeError:
        for key in _KEY.findall(text):
            yield from _found(text[:1], key, f"{at}.{key}" if at else key)


def _lets_in(name: str, value: object) -> bool:
    """Whether a value is a secret by its name. A switch that says whether there is one, and nothing, are none."""
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-|\.", "_", name).lower()
    if value is None or isinstance(value, bool) or value == "":
        return False
    return bool(_NAMES.search(spelled)) or (isinstance(value, str) and bool(_TOKEN.search(spelled)))
