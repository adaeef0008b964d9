"""The comment when nothing can be compared: which revision is wrong, in its program's own words."""

import re

from ops.impact.output.words import code

_TICKS = re.compile("`+")


def refusal(stack: str, why: str) -> str:
    """Return the Markdown of a refusal.

    Args:
        stack: its name.
        why: the whole message, which names the revision. Nothing in it can end the block that it stands in.
    """
    fence = "`" * max(3, 1 + max((len(it) for it in _TICKS.findall(why)), default=0))
    lines = ["".join(sign if sign.isprintable() else " " for sign in line) for line in why.splitlines()]
    return "\n".join(
        [
            f"### What this change does to stack {code(stack)}",
            "",
            "**Not compared**, so nothing is known of this change:",
            "",
            f"{fence}text",
            *lines,
            fence,
            "",
        ]
    )
