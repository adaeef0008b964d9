"""What a pool's requirements admit of the whole catalogue is exactly what is meant."""

from typing import Any

import pytest

from infra.gpu_pools import GpuPool, requirements
from infra.instances import ARCHITECTURES, catalogue, types_with
from tests.harness import STACKS, stack_settings
from tests.infra.gpu_pools.pools import CAPACITIES, holds, offered, pool

MARKETS = ("spot", "on-demand", "reserved")
MEANT = {
    "spot-first": {"spot", "on-demand"},
    "on-demand": {"on-demand"},
    "reserved": {"reserved"},
    "static": {"on-demand"},
}


def admitted(rules: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {
        (kind.name, market)
        for kind in catalogue().values()
        for market in MARKETS
        if all(holds(rule, offered(kind, market)) for rule in rules)
    }


@pytest.mark.parametrize("product", sorted(ARCHITECTURES))
@pytest.mark.parametrize("capacity", CAPACITIES)
def test_the_requirements_admit_exactly_the_pools_types_and_markets(product: str, capacity: str) -> None:
    for types in (types_with(product), types_with(product)[:1]):
        if capacity == "static" and len({catalogue()[name].gpus for name in types}) > 1:
            continue
        one = pool(product, instanceTypes=list(types), capacity=CAPACITIES[capacity])
        assert admitted(requirements(one)) == {(name, market) for name in types for market in MEANT[capacity]}


@pytest.mark.parametrize("stack", STACKS)
def test_the_pools_of_a_stack_file_admit_exactly_what_it_lists(stack: str) -> None:
    for raw in stack_settings(stack)["gpuPools"].values():
        names = {name for name, _ in admitted(requirements(GpuPool.model_validate(raw)))}
        assert names == set(raw["instanceTypes"])


RULES = [
    ("l40s", {"gpus": 1}, {"g6e.xlarge", "g6e.2xlarge", "g6e.4xlarge", "g6e.8xlarge", "g6e.16xlarge"}),
    ("l40s", {"gpus": 1, "minMemoryGib": 64, "maxVcpus": 16}, {"g6e.2xlarge", "g6e.4xlarge"}),
    ("l40s", {"gpus": 1, "minNetworkGbps": 20, "minVcpus": 32}, {"g6e.8xlarge", "g6e.16xlarge"}),
    ("rtx-pro-server-6000", {"gpus": 8}, {"g7e.48xlarge"}),
    ("l4", {"gpus": 1, "minMemoryGib": 64}, {"g6.4xlarge", "g6.8xlarge", "g6.16xlarge", "gr6.4xlarge", "gr6.8xlarge"}),
    ("h100", {"gpus": 1}, {"p5.4xlarge"}),
]


@pytest.mark.parametrize(("product", "rule", "meant"), RULES)
def test_a_rule_admits_exactly_what_it_says(product: str, rule: dict[str, int], meant: set[str]) -> None:
    """And never a fractional type: g6f and gr6f have an L4, and report no GPU to Kubernetes."""
    one = pool(product, instanceTypes=rule)
    assert {name for name, _ in admitted(requirements(one))} == meant


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_there_are_no_minimum_values(capacity: str) -> None:
    """`minValues` turns off the filter that drops Spot dearer than on-demand (KP v1.14.1)."""
    rules = requirements(pool(capacity=CAPACITIES[capacity]))
    assert not [rule for rule in rules if "minValues" in rule]
    assert {rule["operator"] for rule in rules} == {"In", "Gt"}


@pytest.mark.parametrize("key", ["karpenter.k8s.aws/instance-gpu-name", "karpenter.k8s.aws/instance-gpu-count"])
def test_a_wrong_label_value_would_be_seen(key: str) -> None:
    """What this file is for: `rtx-pro-6000` is what people write, and no type has it (aws.md 0.13)."""
    rules = requirements(pool("rtx-pro-server-6000", instanceTypes=["g7e.2xlarge"]))
    wrong = [{**rule, "values": ["rtx-pro-6000"]} if rule["key"] == key else rule for rule in rules]
    assert admitted(wrong) == set()
