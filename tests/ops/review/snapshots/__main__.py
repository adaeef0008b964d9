"""Make the snapshots anew; see the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.harness import ROOT, SECRETS
from tests.ops.impact.conftest import PROGRAM, committed, edit, git

HERE = Path(__file__).parent
FILES = (
    *("Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.staging.yaml", "Pulumi.prod.yaml", "requirements.in"),
    *PROGRAM,
    "policies",
)
STACKS = ("dev", "staging", "prod")


def dev(settings: Any) -> None:
    """A flag, an image of nodes, more GPUs, larger system nodes."""
    settings["servers"]["gemma"]["engine"]["maxNumSeqs"] = 512
    settings["gpuPools"]["rtx-pro-6000"] |= {"ami": "al2023@v20260801", "maxGpus": 4}
    settings["cluster"]["systemNodes"]["instanceTypes"] = ["m7i.xlarge"]


def staging(settings: Any) -> None:
    """A mistake that the program refuses."""
    settings["servers"]["gemma"]["engine"]["maxNumSeqs"] = 0


def prod(settings: Any) -> None:
    """A tag that the policy pack wants is gone."""
    del settings["tags"]["environment"]


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        repository = folder / "checkout"
        repository.mkdir()
        for name in FILES:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, repository / name)
        (repository / ".gitignore").write_text("__pycache__/\n")
        git(repository, "init", "--quiet", "--initial-branch", "main")
        committed(repository)
        for stack, change in zip(STACKS, (dev, staging, prod), strict=True):
            edit(repository, change, stack)
        secret = "=".join(SECRETS[0])
        for stack in STACKS:
            command = [sys.executable, "-m", "ops", "review", "rehearse", "--stack", stack, "--base", "HEAD"]
            more = ["--secret", secret, "--fail-on", "cold-compile", "--output", str(folder)]
            subprocess.run([*command, *more], cwd=repository, check=False, env={**os.environ, "PYTHONPATH": ""})
            file = f"{stack}.rehearsed.json"
            (HERE / file).write_text(_steady((folder / file).read_text()))


def _steady(text: str) -> str:
    """What is another one each time: commits, seconds of progress."""
    text = re.sub(r"HEAD \([0-9a-f]{8}\)", "HEAD (1290f705)", text)
    return re.sub(r"\((\d+) s\)", "(15 s)", text)


if __name__ == "__main__":
    main()
