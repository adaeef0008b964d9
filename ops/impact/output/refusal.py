"""The comment when nothing can be compared: which revision is wrong, in its program's own words."""

from ops.markdown import code, fenced


def refusal(stack: str, why: str) -> str:
    """Return the Markdown of a refusal.

    Args:
        stack: its name.
        why: the whole message, which names the revision. Nothing in it can end the block that it stands in.
    """
    return "\n".join(
        [
            f"### What this change does to stack {code(stack)}",
            "",
            "**Not compared**, so nothing is known of this change:",
            "",
            *fenced(why),
            "",
        ]
    )
