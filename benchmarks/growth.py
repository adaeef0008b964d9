"""What a preview costs with more GPU pools and with more servers, best of three, in turns.

The aims: 8 ms a further resource of a pool; 5 ms a further resource from 10 servers to 50. Prints seconds, resources,
and milliseconds a further resource against the count before. `roles`: a program that makes so many roles and nothing
else, which is what SDK, engine and offline provider take for themselves. Machines are noisy: compare within one run.
"""

import copy
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from rehearsal.preview import preview

ROOT = Path(__file__).parents[1]
ROUNDS = 3
NOT_COPIED = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", ".hypothesis")


def with_pools(settings: dict[str, Any], count: int) -> None:
    """Give the settings so many pools, the first of them their own; the others stay without servers."""
    pools = settings["gpuPools"]
    one = copy.deepcopy(next(iter(pools.values())))
    pools |= {f"pool-{number}": one for number in range(1, count)}


def with_servers(settings: dict[str, Any], count: int) -> None:
    """Give the settings so many servers of one pool, the first of them their own."""
    (pool,), servers = settings["gpuPools"].values(), settings["servers"]
    pool["maxGpus"] = count
    one = copy.deepcopy(next(iter(servers.values())))
    servers |= {f"server-{number}": one for number in range(1, count)}


BARE = """import asyncio, pulumi, pulumi_aws as aws
async def begun():  # as outputs.py; without it the SDK takes the square of the number
    await asyncio.sleep(0)
pulumi.run(begun)
for number in range(pulumi.Config().require_int("count")):
    aws.iam.Role(f"role-{number}", name=f"role-{number}", assume_role_policy="{}", tags={"number": str(number)})
"""


def bare(folder: Path, count: int) -> tuple[float, int]:
    """Preview a program of so many roles; return (seconds, resources)."""
    folder.mkdir(exist_ok=True)
    (folder / "Pulumi.yaml").write_text("name: bare\nruntime: python\n")
    (folder / "Pulumi.dev.yaml").write_text(f"config:\n  aws:region: us-west-2\n  bare:count: {count}\n")
    (folder / "__main__.py").write_text(BARE)
    return timed(folder)


GROWTH: dict[str, tuple[Callable[[dict[str, Any], int], None], tuple[int, ...]]] = {
    "pools": (with_pools, (1, 5, 10, 20)),
    "servers": (with_servers, (1, 10, 50)),
}


def measured(project: Path, grow: Callable[[dict[str, Any], int], None], count: int) -> tuple[float, int]:
    """Preview the dev stack with so many; return (seconds, resources)."""
    stack = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    grow(stack["config"]["vllm-eks:settings"], count)
    (project / "Pulumi.dev.yaml").write_text(yaml.safe_dump(stack, sort_keys=False))
    return timed(project)


def timed(project: Path) -> tuple[float, int]:
    """Preview; return (seconds, resources)."""
    started = time.monotonic()
    plan = preview("dev", project=project)
    return time.monotonic() - started, len(plan.resources)


def main() -> None:
    """Print one line per count."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(ROOT, project, ignore=NOT_COPIED)
        measured(project, with_pools, 1)  # the SDKs are loaded once, outside every measurement
        series = {
            **{what: (partial(measured, project, grow), counts) for what, (grow, counts) in GROWTH.items()},
            "roles": (partial(bare, Path(folder) / "bare"), (1, 250, 900)),
        }
        for what, (cost, counts) in series.items():
            runs = [{count: cost(count) for count in counts} for _ in range(ROUNDS)]
            best = [(count, *min(run[count] for run in runs)) for count in counts]
            for (_, before, had), (count, seconds, resources) in pairwise([(0, 0.0, 0), *best]):
                each = 1000 * (seconds - before) / (resources - had)
                print(f"{count:3} {what:8} {seconds:6.2f} s {resources:5} resources {each:6.1f} ms a further one")
            last, least = f"{counts[-1]} / {counts[0]} {what}", best[0]
            print(f"ratio {last}: {best[-1][1] / least[1]:.2f} of time, {best[-1][2] / least[2]:.2f} of resources")


if __name__ == "__main__":
    sys.exit(main())
