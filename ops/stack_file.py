"""The stack file, as it stands here or at a git revision."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import yaml

import settings
from ops.failures import RefusedError, UnclearError, UsageError
from serving.server import ServerSettings


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack file that was read."""

    name: str
    region: str
    settings: settings.Settings

    def server(self, name: str) -> ServerSettings:
        """Return the settings of a server.

        Raises:
            UsageError: there is none of this name.
        """
        if name not in self.settings.servers:
            known = ", ".join(sorted(self.settings.servers)) or "no server at all"
            raise UsageError(f"--server {name}: Pulumi.{self.name}.yaml has {known}")
        return self.settings.servers[name]


def read(name: str) -> Stack:
    """Return the stack of the current folder.

    Raises:
        UsageError: there is none of this name.
        RefusedError: the file is wrong; one line per mistake, as the program says them.
    """
    path = Path(f"Pulumi.{name}.yaml")
    if not path.is_file():
        names = sorted(it.name.removeprefix("Pulumi.").removesuffix(".yaml") for it in Path().glob("Pulumi.*.yaml"))
        raise UsageError(f"--stack {name}: no {path} here; expected {', '.join(names) or 'a folder with stack files'}")
    return _parsed(name, path.read_bytes(), str(path))


def at_revision(name: str, revision: str) -> Stack:
    """Return the stack as its file was at a git revision, read as this checkout reads it.

    Raises:
        UsageError: git knows no such revision, or no stack file in it.
        RefusedError: the file is wrong.
        UnclearError: there is no git.
    """
    path = f"Pulumi.{name}.yaml"
    # `--end-of-options`: a revision is never an option of git's
    command = ["git", "show", "--end-of-options", f"{revision}:./{path}"]
    try:
        shown = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - git, with no shell in between
    except FileNotFoundError:
        raise UnclearError("--diff: git is not on PATH") from None
    if shown.returncode != 0:
        said = shown.stderr.decode(errors="replace").strip().removeprefix("fatal: ").splitlines()
        raise UsageError(f"--diff {revision}: {said[0] if said else 'git show failed'}")
    return _parsed(name, shown.stdout, f"{path} at {revision}")


def _parsed(name: str, content: bytes, title: str) -> Stack:
    try:
        whole = yaml.load(content, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RefusedError(f"{title} is not YAML: {' '.join(str(error).split())}") from None
    config = whole.get("config") if isinstance(whole, dict) else None
    if not isinstance(config, dict):
        raise RefusedError(f"{title}: no mapping `config`")
    key = f"{settings.PROJECT}:{settings.KEY}"
    if key not in config:
        raise RefusedError(f"{title}: {key}: missing; copy it from Pulumi.dev.yaml into this stack's file")
    region = str(config.get("aws:region", ""))
    try:
        return Stack(name=name, region=region, settings=settings.parse(_plain(config[key]), region))
    except pulumi.RunError as error:
        raise RefusedError(f"{title}: {error}") from None


def _plain(raw: Any) -> Any:
    """Return the tree also when `pulumi config set` wrote it as one text."""
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw


class _Loader(yaml.SafeLoader):
    """Takes scalars as Pulumi's own reader does (go-yaml): `no`, `12:30` and dates are text, `1e3` is a number.

    Otherwise `ops` would compute another cache key than the program does.
    """


_Loader.yaml_implicit_resolvers = {}

_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"

for _tag, _form, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)", list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_form})$"), _first)
