"""Every preset, on every engine version and on four instance types, as the servers of one stack."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from infra.instances import catalogue
from serving.arguments import ENGINES
from serving.ladder import PRESETS
from serving.techniques import asked_of_nodes
from tests.harness import stack_settings

TYPES = ("g6e.2xlarge", "g7e.2xlarge", "g7e.4xlarge", "p5.48xlarge")


def combinations(engine: str) -> Iterator[tuple[str, str]]:
    """Yield (preset, instance type) of what each engine version is put on."""
    assert engine in ENGINES
    yield from product(PRESETS, TYPES)


def server_name(preset: str, engine: str, kind: str) -> str:
    return f"{preset}-{engine}-{kind}".replace(".", "").replace("xlarge", "x").replace("situation", "")


def stack_of_all(stack: str, engine: str) -> dict[str, Any]:
    """The stack's settings with a server for each combination, on pools for what their nodes are asked."""
    raw = stack_settings(stack)
    pool, server = raw["gpuPools"]["rtx-pro-6000"], raw["servers"]["gemma"]
    raw["gpuPools"], raw["servers"] = {}, {}
    for preset, kind in combinations(engine):
        asked = "-".join(asked_of_nodes(PRESETS[preset].techniques)) or "plain"
        name = f"{asked}-{kind}".replace(".", "-")
        type_ = catalogue()[kind]
        its = raw["gpuPools"].setdefault(
            name, {**pool, "product": type_.gpu, "instanceTypes": [kind], "maxGpus": 0, "warmNodes": 0}
        )
        its["maxGpus"] += type_.gpus
        raw["servers"][server_name(preset, engine, kind)] = {
            **server,
            "pool": name,
            "preset": preset,
            # what the preset is by itself: without a proxy where it has none
            "techniques": [],
            "engine": {**server["engine"], "version": engine},
        }
    return raw
