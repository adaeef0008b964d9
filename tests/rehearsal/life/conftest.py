"""The dev stack, brought up once on the real engine; each test works on a copy of its state and cloud."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.life import destroy, up
from rehearsal.providers.journal import Call, Journal
from rehearsal.providers.store import FileStore
from tests.harness import ROOT


@pytest.fixture(scope="session")
def brought_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Call, ...]]:
    """The state folder of the dev stack after its first `up`, and the calls that made it."""
    state, journal = tmp_path_factory.mktemp("dev") / "state", Journal()
    up("dev", project=ROOT, state=state, journal=journal)
    return state, journal.calls


@pytest.fixture(scope="session")
def taken_down(brought_up: tuple[Path, tuple[Call, ...]], tmp_path_factory: pytest.TempPathFactory) -> tuple[Call, ...]:
    """The calls that destroyed it."""
    copy, journal = shutil.copytree(brought_up[0], tmp_path_factory.mktemp("down") / "state"), Journal()
    destroy("dev", project=ROOT, state=Path(copy), journal=journal)
    return journal.calls


@pytest.fixture
def state(brought_up: tuple[Path, tuple[Call, ...]], tmp_path: Path) -> Path:
    """A copy of the dev stack as its first `up` left it."""
    return Path(shutil.copytree(brought_up[0], tmp_path / "state"))


@pytest.fixture
def cloud() -> Callable[[Path], dict[tuple[str, str], dict[str, Any]]]:
    """Everything that the offline cloud of a state folder holds: (type, id) to outputs."""

    def read(state: Path) -> dict[tuple[str, str], dict[str, Any]]:
        with FileStore.opened(state / "cloud.sqlite") as store:
            return store.everything()

    return read


@pytest.fixture
def stack_file(tmp_path: Path) -> Callable[..., Path]:
    """`stack_file(settings)`: the project with other settings in its Pulumi.dev.yaml."""

    def write(settings: dict[str, Any], stack: str = "dev") -> Path:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        for name in ("infra", "serving", "__main__.py", "settings.py", "checks.py", "outputs.py", "Pulumi.yaml"):
            if not (folder / name).exists():
                (folder / name).symlink_to(ROOT / name)
        config = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())
        config["config"]["vllm-eks:settings"] = settings
        (folder / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump(config))
        return folder

    return write
