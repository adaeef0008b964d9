"""The scratch folder of one rehearsal, and the environment that points everything into it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rehearsal.engine.stackfile import rehearsable

# The rest of the user's environment stays outside: AWS_*, KUBECONFIG, PULUMI_*, XDG_* and the
# like would make the same stack file give another plan on another desk.
_KEPT = frozenset({"PATH", "LANG", "LANGUAGE", "TERM", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SYSTEMROOT"})
_KEPT_PREFIXES = ("LC_", "PYTHON")


@dataclass(frozen=True, kw_only=True)
class Scratch:
    """Paths below one folder: a temporary one, or the one in which the rehearsal's state lives on."""

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

    @property
    def cloud(self) -> Path:
        """What the offline cloud remembers, when the rehearsal's state lives on."""
        return self.root / "cloud.sqlite"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the run."""
        return self.root / "tmp"

    def environment(self, ambient: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of the run: what is safe of `ambient`, and paths in here."""
        kept = {key: value for key, value in ambient.items() if key in _KEPT or key.startswith(_KEPT_PREFIXES)}
        return {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PULUMI_HOME": str(self.home / ".pulumi"),
            # Without the files that hold only HTTP headers: a kill leaves one empty, and then the state cannot be read.
            "PULUMI_BACKEND_URL": f"{self.state.as_uri()}?metadata=skip",
            # Guards nothing: `--state` folders are readable for their owner alone instead.
            "PULUMI_CONFIG_PASSPHRASE": "rehearsal",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            # An f-string on an output must fail here, not put its repr into a resource.
            "PULUMI_ERROR_OUTPUT_STRING": "1",
            "NO_COLOR": "1",
        }


class StateRefusedError(Exception):
    """The folder cannot hold this rehearsal's state; the message is one line."""


@contextmanager
def scratch(*, state: Path | None = None, standing: bool = False) -> Iterator[Scratch]:
    """A fresh scratch folder, removed at the end; or `state`, which stays and is gone on from.

    `standing`: it must be there. Raises StateRefusedError when `state` holds something else or another
    rehearsal is at work in it.
    """
    if state is None:
        with tempfile.TemporaryDirectory(prefix="vllm-eks-rehearsal-", ignore_cleanup_errors=True) as folder:
            yield _laid_out(Scratch(root=Path(folder)))
        return
    place = Scratch(root=state.resolve())
    with _owned(place.root, standing=standing):
        for old in (place.work, place.temporary, place.home / ".pulumi" / "logs"):
            shutil.rmtree(old, ignore_errors=True)
        yield _laid_out(place)


def _laid_out(place: Scratch) -> Scratch:
    for folder in (place.work, place.home, place.state, place.temporary):
        folder.mkdir(exist_ok=True)
    return place


@contextmanager
def _owned(folder: Path, *, standing: bool) -> Iterator[None]:
    mark = folder / "rehearsal.lock"
    try:
        if standing and not mark.exists():
            raise StateRefusedError(f"{folder} holds no rehearsal")
        # Only for its owner: the cloud in it holds secrets as they are.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not mark.exists() and any(folder.iterdir()):
            raise StateRefusedError(f"{folder} holds something else: --state wants a new folder, or one of a rehearsal")
        handle = mark.open("w")
    except OSError as failure:
        raise StateRefusedError(f"--state {folder}: {failure.strerror}") from failure
    with handle:
        try:
            # The kernel drops the lock when its process dies, so a killed rehearsal blocks nobody.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateRefusedError(f"{folder} is in use by another rehearsal") from None
        yield


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
