"""The scratch folder of one rehearsal, and the environment that points everything into it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rehearsal.stackfile import rehearsable

# The rest of the user's environment stays outside: AWS_*, KUBECONFIG, PULUMI_*, XDG_* and the
# like would make the same stack file give another plan on another desk.
_KEPT = frozenset({"PATH", "LANG", "LANGUAGE", "TERM", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SYSTEMROOT"})
_KEPT_PREFIXES = ("LC_", "PYTHON")


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
        keep = keep.resolve()
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

    Those give way to the configuration paths in `secrets`. Raises UnreadableStackError.
    """
    name = f"Pulumi.{stack}.yaml"
    (place.work / "Pulumi.yaml").write_bytes((project / "Pulumi.yaml").read_bytes())
    (place.work / name).write_bytes(rehearsable(name, (project / name).read_bytes(), secrets))
