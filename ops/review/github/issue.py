"""What stands and is not as the default branch says: one issue for each stack, open as long as it is so.

A run that fails tells only whoever wrote the schedule last. An issue is where people look, and it ends by itself.
"""

from typing import Any

from ops.markdown import code
from ops.review.github.client import GitHub
from ops.review.github.comment import written_by
from ops.review.points import points
from ops.review.results import Found
from ops.review.sections import Section, sections

_LONGEST = 60_000
"""Characters of an issue; see body.py."""


def marker(stack: str) -> str:
    """Return the first line of a stack's issue."""
    return f"<!-- vllm-eks: drift of {stack} -->"


def text(found: Found, run: str = "") -> str:
    """Return what is not as it should be, as Markdown.

    Args:
        found: of one stack.
        run: address of the workflow's run; empty: not said.
    """
    said = "; ".join(it.text for it in points(found)) or "as the default branch says"
    made = ["", f"Seen in [this run]({run})."] if run else []
    lines = [f"**{code(found.stack)}**: {said}", ""]
    for part in sections(found):
        lines += _bounded(part, _LONGEST - sum(len(it) + 1 for it in lines))
    return "\n".join([marker(found.stack), *lines, *made, ""])


def _bounded(part: Section, room: int) -> list[str]:
    shown: list[str] = []
    for line in part.lines:
        if sum(len(it) + 1 for it in shown) + len(line) > room - 500:
            break
        shown.append(line)
    rest = len(part.lines) - len(shown)
    cut = [f"- {rest} more cut: an issue takes no more"] if rest else []
    return [f"**{part.title}**", "", *shown, *cut, ""]


def keep(github: GitHub, found: Found, body: str, *, author: str) -> str:
    """Open, update or close the issue of a stack, and return what was done in a line.

    A stack of which nothing is known keeps its issue as it is: no answer is no all-clear.
    """
    there = _open(github, marker(found.stack), author)
    drifted = found.aws is not None and bool(found.aws.changes)
    if found.aws is None or (found.aws.exit_code and not drifted):
        return f"{found.stack}: cannot be told; its issue stays as it is"
    if drifted and there is None:
        made = github.make("issues", {"title": f"Drift: {found.stack}", "body": body})
        return f"{found.stack}: opened {made.get('html_url', '')}"
    if drifted and there is not None:
        if there["body"] != body:
            github.change(f"issues/{int(there['number'])}", {"body": body})
        return f"{found.stack}: still there {there.get('html_url', '')}"
    if there is not None:
        github.change(f"issues/{int(there['number'])}", {"state": "closed", "state_reason": "completed"})
        return f"{found.stack}: closed {there.get('html_url', '')}"
    return f"{found.stack}: nothing has drifted"


def _open(github: GitHub, mark: str, author: str) -> dict[str, Any] | None:
    for it in github.pages("issues?state=open"):
        # the list has pull requests too
        if "pull_request" not in it and str(it.get("body") or "").startswith(mark) and written_by(it) == author:
            return it
    return None
