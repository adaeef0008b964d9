"""The predicted starts of the ladder beside what article 000 measured, and of the dev stack's own server.

No measurement: the predictions come from the article's own phases, one change a technique. What is shown is how far
they are from the figures that the article gives for whole starts.
"""

import sys
from pathlib import Path

import yaml

from infra.gpu_pools import GpuPool
from serving.budget.predict import in_force, predicted
from serving.budget.report import report
from serving.budget.timeline import PHASES, Start, total
from serving.ladder import PRESETS
from serving.pod import Situation
from serving.server import ServerSettings, situation

ROOT = Path(__file__).parents[1]

MEASURED: dict[tuple[str, Start], float] = {
    ("step-0", "fresh node"): 428,
    ("step-2", "fresh node"): 306,
    ("step-3", "fresh node"): 258,
    ("step-4", "fresh node"): 226,
    ("step-0", "restart"): 314,
    ("step-1", "restart"): 204,
    ("step-2", "restart"): 133,
    ("step-5", "wake"): 0.97,
}
"""Article 000, seconds. 258 is its own estimate: 226 s with the pull of a standard node. Step 5 was measured without a
sleep before the first request."""


def servers() -> tuple[Situation, Situation]:
    """Return the article's server and the dev stack's."""
    raw = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]["vllm-eks:settings"]
    server, (pool,) = raw["servers"]["gemma"], raw["gpuPools"].values()
    articles = {**server, "engine": {**server["engine"], "version": "0.26.0"}}
    one_type = {**pool, "instanceTypes": ["g7e.2xlarge"]}
    return (
        situation(ServerSettings.model_validate(articles), GpuPool.model_validate(one_type), "us-west-2"),
        situation(ServerSettings.model_validate(server), GpuPool.model_validate(pool), "us-west-2"),
    )


def main() -> None:
    """Print one table per kind of start, then the dev stack's own."""
    articles, own = servers()
    steps = [name for name in PRESETS if name.startswith("step-")] + ["frontier"]
    for start in ("fresh node", "restart", "wake"):
        found = {step: predicted(articles, PRESETS[step].techniques, start, articles.pool.types[0]) for step in steps}
        print(f"{start:18}" + "".join(f"{step:>10}" for step in steps))
        for phase in PHASES:
            if any(phase in timeline for timeline in found.values()):
                cells = [timeline.get(phase) for timeline in found.values()]
                print(f"  {phase:16}" + "".join(f"{cell.value if cell else 0:10.1f}" for cell in cells))
        beside = [(total(timeline), MEASURED.get((step, start))) for step, timeline in found.items()]
        print(f"  {'predicted':16}" + "".join(f"{mine:10.1f}" for mine, _ in beside))
        print(f"  {'article 000':16}" + "".join(f"{its or '-':>10}" for _, its in beside))
        print(
            f"  {'difference':16}" + "".join(f"{f'{mine / its - 1:+.1%}' if its else '-':>10}" for mine, its in beside)
        )
        print()
    print(report("dev stack's gemma, frontier", own, in_force(own, PRESETS["frontier"].techniques)))


if __name__ == "__main__":
    sys.exit(main())
