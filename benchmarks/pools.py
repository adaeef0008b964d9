"""What a preview costs with 1, 5, 10 and 20 GPU pools, best of five, in turns. The aim: 8 ms a further resource.

Prints seconds, resources, and milliseconds a further resource. Machines are noisy: compare within one run.
"""

import copy
import shutil
import sys
import tempfile
import time
from pathlib import Path

import yaml

from rehearsal.preview import preview

ROOT = Path(__file__).parents[1]
COUNTS = (1, 5, 10, 20)
ROUNDS = 5
NOT_COPIED = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", ".hypothesis")


def stack_file(project: Path, count: int) -> None:
    """Write a dev stack with so many pools, the first of them its own; the others stay without servers."""
    stack = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    pools = stack["config"]["vllm-eks:settings"]["gpuPools"]
    one = copy.deepcopy(next(iter(pools.values())))
    pools |= {f"pool-{number}": one for number in range(1, count)}
    (project / "Pulumi.dev.yaml").write_text(yaml.safe_dump(stack, sort_keys=False))


def measured(project: Path, count: int) -> tuple[float, int]:
    """Preview a stack with so many pools; return (seconds, resources)."""
    stack_file(project, count)
    started = time.monotonic()
    plan = preview("dev", project=project)
    return time.monotonic() - started, len(plan.resources)


def main() -> None:
    """Print one line per number of pools."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(ROOT, project, ignore=NOT_COPIED)
        measured(project, COUNTS[0])  # the SDKs are loaded once, outside every measurement
        runs = [{count: measured(project, count) for count in COUNTS} for _ in range(ROUNDS)]
    found = {count: min(run[count] for run in runs) for count in COUNTS}
    seconds, resources = found[COUNTS[0]]
    for count, (taken, there) in found.items():
        more = (
            f"{1000 * (taken - seconds) / (there - resources):6.1f} ms a further resource" if there > resources else ""
        )
        print(f"{count:3} pools  {taken:5.2f} s  {there:4} resources  {more}")
    last, many = found[COUNTS[-1]]
    print(f"ratio {COUNTS[-1]} pools / 1 pool: {last / seconds:.2f} of time, {many / resources:.2f} of resources")


if __name__ == "__main__":
    sys.exit(main())
