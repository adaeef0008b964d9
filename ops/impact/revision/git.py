"""Revisions: which commit a name stands for, and its files in a folder that goes again."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ops.failures import UnclearError, UsageError
from ops.terminal import echo

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
"""A user's hook for checkouts is not asked: it may install packages, or refuse."""

_NOT_INHERITED = frozenset({"GIT_INDEX_FILE"})
"""In a hook it is the index of the commit that is being made: the checkout would overwrite what is committed."""


def commit(revision: str, option: str) -> str:
    """Return the commit of a revision.

    Args:
        revision: a branch, tag or commit.
        option: that it was given with, for the message.

    Raises:
        UsageError: git knows no such revision, or this folder is in no repository.
        UnclearError: there is no git.
    """
    found, remote = (
        _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", asked=f"{option} {revision}")
        for name in (revision, f"origin/{revision}")
    )
    # of `^main` and `v1..v2` git makes other words than the name of one commit
    if found.isalnum():
        return found
    shallow = _git("rev-parse", "--is-shallow-repository", asked=option) == "true"
    hint = f"; {echo(f'origin/{revision}')} is one" if remote.isalnum() else ""
    hint = hint or ("; this clone is shallow: git fetch --unshallow" if shallow else "")
    raise UsageError(f"{option} {echo(revision)}: not a revision that git knows{hint}")


def holds(of: str, file: str) -> bool:
    """Return whether a commit has a file, as seen from the current folder."""
    return bool(_git("rev-parse", "--verify", "--quiet", f"{of}:./{file}", asked=file))


@contextmanager
def checked_out(of: str, option: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder, and return what there is the current folder.

    The folder, and what git notes of it in the repository, is gone in the end, whatever happened.

    Raises:
        UnclearError: git cannot check it out.
    """
    inside = _git("rev-parse", "--show-prefix", asked=option)
    with tempfile.TemporaryDirectory(prefix="vllm-eks-impact-", ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "checkout"
        try:
            _git(*_NO_HOOKS, "worktree", "add", "--quiet", "--detach", str(place), of, asked=option, must=True)
            yield place / inside
        finally:
            # twice: it may hold files that git does not know, and may have been locked in the middle of the making
            _git("worktree", "remove", "--force", "--force", str(place), asked=option)


def _git(*arguments: str, asked: str, must: bool = False) -> str:
    """Return what git answers; nothing when it refuses, unless it `must`."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            ["git", *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
            errors="replace",
            env=environment,
        )
    except FileNotFoundError:
        raise UnclearError(f"{asked}: git is not on PATH") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in it
        raise UsageError(f"{echo(asked)}: {error}") from None
    said = done.stderr.strip().removeprefix("fatal: ").splitlines()
    if done.returncode and "not a git repository" in done.stderr:
        raise UsageError(f"{echo(asked)}: {said[0]}")
    if done.returncode and must:
        raise UnclearError(f"{echo(asked)}: git cannot check it out: {said[-1] if said else done.returncode}")
    return done.stdout.strip()
