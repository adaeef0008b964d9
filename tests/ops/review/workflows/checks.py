"""What every workflow here keeps to, as functions of its text: each yields a line for what is wrong."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import yaml

from tests.docs.commands import UnknownCommandError, check

PINNED = {
    "actions/cache": ("cdf6c1fa76f9f475f3d7449005a359c84ca0f306", "v5.0.3"),
    "actions/checkout": ("de0fac2e4500dabe0009e67214ff5f5447ce83dd", "v6.0.2"),
    "actions/download-artifact": ("3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c", "v8.0.1"),
    "actions/upload-artifact": ("043fb46d1a93c77aae656e7c1c64a875d1fc6a0a", "v7.0.1"),
    "aws-actions/configure-aws-credentials": ("8df5847569e6427dd6c4fb1cf565c83acfa8afa7", "v6.0.0"),
    "pulumi/actions": ("8e5e406f4007fca908480587cb9893c07090f58d", "v7.0.0"),
}
"""Commit and tag of each action, as many other repositories pin it too. Another one is looked up first."""

SAME_REPOSITORY = "github.event.pull_request.head.repo.full_name == github.repository"
_USES = re.compile(r"uses:\s*(\S+)@(\S+)(?:\s+#\s*(\S+))?\s*$", re.MULTILINE)
_OWN = re.compile(r"(?:\.venv/bin/python -m|\bmake) [^>|&;)\n]*")
_WHEN_SET = re.compile(r"\$\{\w+:\+([^}]*)\}")


def wrong(text: str) -> list[str]:
    whole = yaml.safe_load(text)
    checks = (_pins(text), _whole(text, whole), *(_job(name, it, whole) for name, it in whole["jobs"].items()))
    return [line for check in checks for line in check]


def _triggers(whole: dict[Any, Any]) -> dict[str, Any]:
    # YAML 1.1 reads the key `on` as true
    return whole[True] if isinstance(whole[True], dict) else dict.fromkeys([whole[True]])


def _pins(text: str) -> Iterator[str]:
    for action, commit, version in _USES.findall(text):
        if PINNED.get(action) != (commit, version):
            yield f"{action}@{commit} # {version}: not a pin that was looked up"


def _whole(text: str, whole: dict[Any, Any]) -> Iterator[str]:
    if whole.get("permissions") != {}:
        yield "permissions: not {} at the top"
    if "pull_request_target" in _triggers(whole):
        yield "on: pull_request_target runs with secrets over somebody else's code"
    if re.search(r"\bsecrets\s*[.\[]", text):
        yield "secrets: nothing here needs one"
    concurrency = whole.get("concurrency")
    if not isinstance(concurrency, dict) or "cancel-in-progress" not in concurrency:
        yield "concurrency: not said whether a newer run cancels this one"
    elif "pulumi up" in text and concurrency["cancel-in-progress"] is not False:
        yield "concurrency: an `up` may be cancelled"


def _job(name: str, job: dict[str, Any], whole: dict[Any, Any]) -> Iterator[str]:
    triggers, rights = _triggers(whole), job.get("permissions")
    if "timeout-minutes" not in job:
        yield f"{name}: no timeout-minutes"
    if not isinstance(rights, dict):
        yield f"{name}: no permissions of its own"
        rights = {}
    writes = {right for right, level in rights.items() if level == "write"}
    if "id-token" in writes and len(writes) > 1:
        yield f"{name}: it may write on GitHub and has a role in AWS"
    if "pull_request" in triggers:
        if writes - {"id-token"}:
            yield f"{name}: it runs a pull request's code and may write"
        if "id-token" in writes and SAME_REPOSITORY not in str(job.get("if", "")):
            yield f"{name}: a fork's code can ask for a role"
    for step in job["steps"]:
        yield from (f"{name}: {line}" for line in _step(step, triggers))


def _step(step: dict[str, Any], triggers: dict[str, Any]) -> Iterator[str]:
    given = step.get("with", {})
    if step.get("uses", "").startswith("actions/checkout@"):
        if given.get("persist-credentials") is not False:
            yield "checkout keeps its token on the disk"
        if "workflow_run" in triggers and given.get("ref") != "${{ github.event.repository.default_branch }}":
            yield "checkout of something else than the default branch, with a token that may write"
    run = step.get("run", "")
    if "${{" in run:
        yield "run: an expression becomes part of the script"
    yield from _commands(run)


def _commands(run: str) -> Iterator[str]:
    for given in _OWN.findall(_WHEN_SET.sub(r"\1", run)):
        try:
            check(tuple(shlex.split(given)))
        except UnknownCommandError as error:
            yield str(error)
