"""The comment in its place: one of a pull request, found again by its marker and its author, and updated."""

from typing import Any

from ops.failures import RefusedError
from ops.review.body import MARKER
from ops.review.github.client import GitHub, NoAnswerError
from ops.terminal import echo

AUTHOR = "github-actions[bot]"
"""Who a workflow's own token writes as. No person can take a name with brackets."""

_MAKINGS = 3


def post(github: GitHub, number: int, text: str, *, author: str, head: str = "") -> str:
    """Update the comment of a pull request, or make it, and return what was done in a line.

    Args:
        github: the repository.
        number: of the pull request.
        text: the comment, marker first.
        author: whose comment may be updated: a marker in somebody else's is only text.
        head: commit that the pull request must have; empty: any.

    Raises:
        RefusedError: no such pull request, or it has another head.
        UnclearError: GitHub does not let us, or does not answer.
    """
    if not text.startswith(MARKER):
        raise RefusedError(f"the text does not begin with {MARKER}: it would never be found again")
    if head:
        _require(github.get(f"pulls/{number}"), number, head)
    last = NoAnswerError("never asked")
    for _ in range(_MAKINGS):
        if (there := _own(github, number, author)) is not None:
            return _updated(github, there, text)
        try:
            made = github.make(f"issues/{number}/comments", {"body": text})
        except NoAnswerError as why:
            # looked for again: a second comment would stay for ever
            last = why
            continue
        return _made(made, author)
    raise last


def _require(pull_request: Any, number: int, head: str) -> None:
    now = pull_request.get("head", {}).get("sha", "") if isinstance(pull_request, dict) else ""
    if now != head:
        raise RefusedError(
            f"pull request {number} is at {echo(str(now))}, the results are of {head}: newer commits came, or the"
            " results are another pull request's; nothing was posted"
        )


def _own(github: GitHub, number: int, author: str) -> dict[str, Any] | None:
    for it in github.pages(f"issues/{number}/comments"):
        if str(it.get("body", "")).startswith(MARKER) and written_by(it) == author:
            return it
    return None


def written_by(comment: dict[str, Any]) -> str:
    """Return the login of whoever wrote a comment or an issue; empty: not said."""
    user = comment.get("user")
    return str(user.get("login", "")) if isinstance(user, dict) else ""


def _updated(github: GitHub, there: dict[str, Any], text: str) -> str:
    if there["body"] == text:
        return f"as it was: {there.get('html_url', '')}"
    github.change(f"issues/comments/{int(there['id'])}", {"body": text})
    return f"updated: {there.get('html_url', '')}"


def _made(comment: Any, author: str) -> str:
    if (wrote := written_by(comment)) != author:
        raise RefusedError(
            f"the comment was made as {echo(wrote)}, and one of {author} was looked for: the next run would make"
            f" another one; pass --author {echo(wrote)}"
        )
    return f"made: {comment.get('html_url', '')}"
