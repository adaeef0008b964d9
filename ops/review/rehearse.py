"""One stack of a pull request, as a job without any credentials looks at it.

A preview with the policies, and what the change does to what stands: both are processes of their own, so that one that
fails leaves the other's word.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ops.failures import FAILED_CHECK, OK, UNCLEAR, USAGE, UsageError
from ops.impact.revision.git import commit, holds
from ops.review.results import SUFFIXES, is_name
from ops.terminal import echo


def rehearse(stack: str, base: str, folder: Path, secrets: Sequence[str], fail_on: Sequence[str]) -> int:
    """Write `<stack>.rehearsed.json`, and return the exit code of the worse of both commands.

    Args:
        stack: its name.
        base: the revision that stands.
        folder: for the result; made when it is not there.
        secrets: `path=value` each, which the rehearsals need; no result holds them.
        fail_on: limits of `ops impact`.

    Raises:
        UsageError: no such revision, or a name of a stack that no file has.
    """
    file = result_file(stack, folder, "rehearsed")
    standing = commit(base, "--base")
    given = [it for secret in secrets for it in ("--secret", secret)]
    preview = _previewed(stack, given)
    impact = _compared(stack, base, given, fail_on) if holds(standing, f"Pulumi.{stack}.yaml") else None
    write(file, {"preview": preview, "impact": impact})
    return worst(it["exitCode"] for it in (preview, impact) if it is not None)


def result_file(stack: str, folder: Path, kind: str) -> Path:
    """Return where a result of a stack is written.

    Raises:
        UsageError: its name is none that a file of results has.
    """
    if not is_name(stack):
        raise UsageError(f"--stack {echo(stack)}: expected letters, digits, - and _, at most 40")
    return folder / f"{stack}{SUFFIXES[kind]}"


def write(file: Path, result: Mapping[str, Any]) -> None:
    """Write a result."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def worst(codes: Iterable[int]) -> int:
    """Return 1 when a command failed, else 2 or 3 when one could not be asked or told, else 0."""
    seen = set(codes)
    return next((it for it in (FAILED_CHECK, USAGE, UNCLEAR) if it in seen), FAILED_CHECK if seen - {OK} else OK)


def _previewed(stack: str, given: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as temporary:
        plan = Path(temporary) / "plan.json"
        done = _python("rehearsal", "preview", "--stack", stack, "--policies", "--json", str(plan), *given)
        told = json.loads(plan.read_text(encoding="utf-8")) if plan.is_file() else {}
    # a fresh preview creates everything: what the comparison is not there for is only the size of a new stack
    counts = Counter(it["action"] for it in told.get("resources", ()) if it["custom"])
    return {
        "exitCode": done.returncode,
        "said": done.stderr,
        "findings": told.get("findings"),
        "counts": dict(counts),
    }


def _compared(stack: str, base: str, given: Sequence[str], fail_on: Sequence[str]) -> dict[str, Any]:
    limits = [it for limit in fail_on for it in ("--fail-on", limit)]
    done = _python("ops", "impact", "--base", base, "--stack", stack, "--json", *limits, *given)
    return {
        "exitCode": done.returncode,
        "said": done.stderr,
        "told": json.loads(done.stdout) if done.stdout.strip() else None,
    }


def _python(*arguments: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(  # noqa: S603 - this Python, with no shell in between
        [sys.executable, "-m", *arguments], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    # whoever reads the log of the job sees it too
    sys.stderr.write(done.stderr)
    return done
