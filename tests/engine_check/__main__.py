"""`make engine-check`: the rendered pod over the real vLLM on a CPU, and what the tests' stub assumes of vLLM.

Real: the engine's server, scheduler and shutdown, nginx, the agent, the wrapper, the programs of the probes, and every
command, argument, variable and file as rendered. Not: kubelet, images, users and other confinement, the GPU.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from rehearsal.toolchain.progress import clock
from tests.engine_check import environment
from tests.engine_check.pod.rendered import manifests
from tests.engine_check.run import PODS, Report, run

ROOT = Path(__file__).parents[2]
PASSED = Path(__file__).with_name("passed.txt")
"""The digest of everything that decides the outcome, at the last run in which all was well.

Checked in: CI runs the check when what it checks out has another digest."""

FILES = (
    *Path(__file__).parent.rglob("*"),
    *(ROOT / "ops/coldstart/log").rglob("*.py"),
    *(ROOT / "ops/live").rglob("*.py"),
    ROOT / "ops/cluster/tunnel.py",
    ROOT / "tests/serving/front/stub.py",
)


def digest() -> str:
    """Return that of what decides the outcome: what is rendered, not the program that renders it."""
    found = hashlib.sha256()
    for pod in PODS:
        found.update(json.dumps(manifests(*pod), sort_keys=True).encode())
    for path in sorted(path for path in FILES if path.is_file() and path != PASSED):
        if "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine_check", description=__doc__)
    parser.add_argument("--if-changed", action="store_true", help="do nothing when all is as it last passed")
    parser.add_argument("--keep", action="store_true", help="leave the scratch folder with all logs")
    asked = parser.parse_args()
    now = digest()
    if asked.if_changed and PASSED.exists() and PASSED.read_text().split() == [now]:
        print(f"engine-check: what it checks is that of the last pass ({now[:12]}): not run again")
        return 0
    if not shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"):
        print("engine-check: nginx is not on PATH: apt-get install nginx-light (.ci/run does)")
        return 1
    try:
        engine = environment.engine()
    except environment.EngineMissingError as missing:
        print(f"engine-check: {missing}")
        return 1
    # so that what was started is ended
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(1))
    began, report = time.monotonic(), Report()
    folder = Path(tempfile.mkdtemp(prefix="vllm-eks-engine-"))
    # nginx's workers are another user's when root starts it: they come through no private folder
    folder.chmod(0o755)
    try:
        run(folder, engine, report)
    finally:
        good = report.good
        if asked.keep or not good:
            print(f"engine-check: logs are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(
        f"engine-check: {'passed' if good else 'FAILED'}: {report.passed} of {report.total} checks"
        f" in {clock(time.monotonic() - began)}"
    )
    if good:
        PASSED.write_text(f"{now}\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
