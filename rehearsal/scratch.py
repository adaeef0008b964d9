"""The scratch folder of one rehearsal, and the environment that points everything into it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# The rest of the user's environment stays outside: AWS_*, KUBECONFIG, PULUMI_*, XDG_* and the
# like would make the same stack file give another plan on another desk.
_KEPT = frozenset({"PATH", "LANG", "LANGUAGE", "TERM", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SYSTEMROOT"})
_KEPT_PREFIXES = ("LC_", "PYTHON")


# These belong to the real backend's encryption; the scratch copy has a passphrase of its own.
_FOREIGN = ("encryptionsalt", "secretsprovider", "encryptedkey")


class UnreadableStackError(Exception):
    """The stack file is no YAML, or holds a value that only its owner can decrypt."""


@dataclass(frozen=True, kw_only=True)
class Scratch:
    """Paths below one temporary folder."""

    root: Path

    @property
    def work(self) -> Path:
        """Pulumi.yaml and the copied stack file; the engine's working directory."""
        return self.root / "work"

    @property
    def home(self) -> Path:
        """HOME of the run."""
        return self.root / "home"

    @property
    def state(self) -> Path:
        """The file backend."""
        return self.root / "state"

    def environment(self, ambient: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of the run: what is safe of `ambient`, and paths in here."""
        kept = {key: value for key, value in ambient.items() if key in _KEPT or key.startswith(_KEPT_PREFIXES)}
        return {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "PULUMI_HOME": str(self.home / ".pulumi"),
            "PULUMI_BACKEND_URL": self.state.as_uri(),
            # Guards nothing: the state lives as long as the run.
            "PULUMI_CONFIG_PASSPHRASE": "rehearsal",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_SKIP_CONFIRMATIONS": "true",
            # An f-string on an output must fail here, not put its repr into a resource.
            "PULUMI_ERROR_OUTPUT_STRING": "1",
            "NO_COLOR": "1",
        }


@contextmanager
def scratch(*, keep: Path | None = None) -> Iterator[Scratch]:
    """A fresh scratch folder, removed at the end; `keep` is used instead, and stays.

    Raises FileExistsError when `keep` exists.
    """
    if keep is not None:
        if keep.exists():
            raise FileExistsError(f"{keep} exists already: --keep wants a new folder")
        keep.mkdir(parents=True)
    place = Scratch(root=keep or Path(tempfile.mkdtemp(prefix="vllm-eks-rehearsal-")))
    try:
        for folder in (place.work, place.home, place.state, place.root / "tmp"):
            folder.mkdir()
        yield place
    finally:
        if keep is None:
            shutil.rmtree(place.root, ignore_errors=True)


@contextmanager
def only_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Replace this process's environment: the program runs in it and would see the user's."""
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(environment)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def copy_stack(stack: str, project: Path, place: Scratch, secrets: Sequence[str]) -> None:
    """Copy Pulumi.yaml and the stack file, byte for byte unless it holds encrypted values.

    Those give way to the configuration paths in `secrets`. Raises UnreadableStackError for an
    encrypted value that no secret replaces, and for a file that is not YAML.
    """
    name = f"Pulumi.{stack}.yaml"
    (place.work / "Pulumi.yaml").write_bytes((project / "Pulumi.yaml").read_bytes())
    content = (project / name).read_bytes()
    try:
        settings = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise UnreadableStackError(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    if isinstance(settings, dict):
        missing = [path for path in _drop_encrypted(settings.get("config"), "") if path not in secrets]
        if missing:
            raise UnreadableStackError(
                "\n".join(
                    f"{name}: {path} is encrypted and a rehearsal cannot read it: pass --secret {path}=VALUE"
                    for path in missing
                )
            )
        for key in _FOREIGN:
            settings.pop(key, None)
        if settings != yaml.safe_load(content):
            content = yaml.safe_dump(settings, sort_keys=False).encode()
    (place.work / name).write_bytes(content)


def _drop_encrypted(value: Any, path: str) -> Iterator[str]:
    """Remove every `{secure: ...}` below `value`; yields their paths as `pulumi config set --path` takes them."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        below = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else str(key)
        if isinstance(item, dict) and "secure" in item:
            # A list keeps the place, or the items behind it would move.
            value[key] = ""
            if isinstance(value, dict):
                del value[key]
            yield below
        else:
            yield from _drop_encrypted(item, below)
