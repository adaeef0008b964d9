"""A real API server and a kwok node with one pod, whose port is a real engine's: what `ops` asks of a cluster."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rehearsal.control_plane.kubelets import kubelets
from rehearsal.control_plane.server import control_plane
from serving.engine import PORT
from tests.ops.live.stand import Stand
from tests.ops.players import Players

ROOT = Path(__file__).parents[2]
SERVER = "gemma"


@dataclass(frozen=True)
class Cluster:
    """Of the dev stack, as far as `ops` looks."""

    folder: Path
    """With the stack file."""
    stand: Stand

    def ops(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of `ops` as people do."""
        where = ("--kubeconfig", self.stand.players.kubeconfig)
        command = [sys.executable, "-m", "ops", *arguments, "--server", SERVER, *where]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)


@contextmanager
def cluster(folder: Path, port: int, model: str) -> Iterator[Cluster]:
    """One whose pod's port is this one on loopback, and whose stack file says that it serves this model."""
    folder.mkdir(parents=True)
    file = folder / "Pulumi.dev.yaml"
    file.write_text((ROOT / "Pulumi.dev.yaml").read_text())

    def edit(change: Callable[[dict[str, Any]], object]) -> None:
        whole = yaml.safe_load(file.read_text())
        settings = whole["config"]["vllm-eks:settings"]
        change(settings)
        settings["servers"][SERVER]["model"]["servedName"] = model
        settings["servers"][SERVER]["techniques"] = []
        file.write_text(yaml.safe_dump(whole, sort_keys=False))

    with control_plane(folder / "control-plane") as api, kubelets(api, folder / "kwok") as nodes:
        stand = Stand(Players.in_new_namespace(api, folder, edit), nodes)
        stand.pod(f"{SERVER}-0", {PORT: port})
        yield Cluster(folder, stand)
