"""The stack file, as it stands here or at a git revision."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import yaml

import settings
from ops.failures import RefusedError, UnclearError, UsageError
from ops.stack import pulumi_yaml
from ops.terminal import echo
from serving.pod import Situation
from serving.server import ServerSettings, situation


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack file that was read."""

    name: str
    region: str
    settings: settings.Settings
    tree: Mapping[str, Any]
    """What the settings were read from, keys as the stack file spells them: a change is tried on a copy of it."""

    def server(self, name: str) -> ServerSettings:
        """Return the settings of a server.

        Raises:
            UsageError: there is none of this name.
        """
        if name not in self.settings.servers:
            known = ", ".join(sorted(self.settings.servers)) or "none: it has no server at all"
            raise UsageError(f"--server {echo(name)}: not in Pulumi.{self.name}.yaml; expected one of {known}")
        return self.settings.servers[name]

    def situation(self, server: ServerSettings) -> Situation:
        """Return what techniques and predictions decide by, for one of its servers, also as a candidate makes it."""
        return situation(server, self.settings.pools[server.pool], self.region)


class _WrongError(Exception):
    """A stack file that is none, or none for this checkout. The message is the program's where it has one."""


def read(name: str) -> Stack:
    """Return the stack of the current folder.

    Raises:
        UsageError: there is none of this name, or nobody may read it.
        RefusedError: the file is wrong; one line per mistake, as the program says them.
    """
    path = Path(f"Pulumi.{name}.yaml")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        found = sorted(it.name.removeprefix("Pulumi.").removesuffix(".yaml") for it in Path().glob("Pulumi.*.yaml"))
        names = ", ".join(other for other in found if other != name) or "a folder with stack files"
        what = "is a link to nothing" if path.is_symlink() else "is not here"
        raise UsageError(f"--stack {echo(name)}: {echo(str(path))} {what}; expected {names}") from None
    except OSError as error:
        raise UsageError(f"--stack {echo(name)}: {error.strerror}") from None
    try:
        return _parsed(name, content)
    except _WrongError as error:
        raise RefusedError(f"{path}: {error}") from None


def at_revision(name: str, revision: str) -> Stack:
    """Return the stack as its file was at a git revision, read as this checkout reads it.

    Raises:
        UsageError: git knows no such revision, or no stack file in it.
        UnclearError: there is no git, or the file is not one that this checkout reads: nothing can be compared.
    """
    title = f"Pulumi.{name}.yaml at {revision}"
    try:
        return _parsed(name, _git("show", f"{_commit(revision)}:./Pulumi.{name}.yaml", asked=revision))
    except _WrongError as error:
        first, *more = [line for line in str(error).splitlines() if line.startswith("  ")] or [str(error)]
        count = f" and {len(more)} more" if more else ""
        raise UnclearError(
            f"cannot compare: {title} is not one that this checkout reads: {first.strip()}{count}"
        ) from None


def _commit(revision: str) -> str:
    """Return the commit of a revision: git itself takes ranges too, and shows nothing."""
    commit, remote = (
        _git("rev-parse", "--verify", "--quiet", f"{known}^{{commit}}", asked=revision).decode().strip()
        for known in (revision, f"origin/{revision}")
    )
    # of `^main` and `v1..v2` it makes other words than the name of one commit
    if not commit.isalnum():
        hint = f"; {echo(f'origin/{revision}')} is one" if remote.isalnum() else ""
        raise UsageError(f"--diff {echo(revision)}: not a revision that git knows{hint}")
    return commit


def _git(command: str, *arguments: str, asked: str) -> bytes:
    *options, last = arguments
    # `--end-of-options`: a revision is never an option of git's
    whole = ["git", command, *options, "--end-of-options", last]
    try:
        done = subprocess.run(whole, capture_output=True, check=False)  # noqa: S603 - git, with no shell in between
    except FileNotFoundError:
        raise UnclearError("--diff: git is not on PATH") from None
    except OSError as error:
        raise UsageError(f"--diff {echo(asked)}: {error.strerror}") from None
    if said := done.stderr.decode(errors="replace").strip() if done.returncode else "":
        raise UsageError(f"--diff {echo(asked)}: {said.removeprefix('fatal: ').splitlines()[0]}")
    return done.stdout


def _parsed(name: str, content: bytes) -> Stack:
    try:
        whole = pulumi_yaml.tree(content)
    except pulumi_yaml.UnreadableError as error:
        raise _WrongError(str(error)) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _WrongError(f"not YAML: {' '.join(str(error).split())}") from None
    config = whole.get("config") if isinstance(whole, dict) else None
    if not isinstance(config, dict):
        raise _WrongError("no mapping `config`")
    key = f"{settings.PROJECT}:{settings.KEY}"
    # Pulumi gives keys without a namespace the project's
    written = settings.KEY if settings.KEY in config else key
    if written not in config:
        raise _WrongError(f"{key}: missing; copy it from Pulumi.dev.yaml into this stack's file")
    region = str(config.get("aws:region", ""))
    tree = _plain(config[written])
    try:
        return Stack(name=name, region=region, settings=settings.parse(tree, region), tree=tree)
    except pulumi.RunError as error:
        raise _WrongError(str(error)) from None


def _plain(raw: Any) -> Any:
    """Return the tree also when `pulumi config set` wrote it as one text."""
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return raw
