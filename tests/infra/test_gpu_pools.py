"""A pool is one GPU product: what its nodes and its pods must agree on is made from it once."""

from typing import Any

import pytest

from infra.gpu_pools import (
    ARCHITECTURE_LABEL,
    POOL_LABEL,
    TAINT,
    GpuPool,
    labels,
    node_selector,
    requirements,
    toleration,
)
from infra.instances import ARCHITECTURES, InstanceType, catalogue, types_with

PRODUCTS = sorted(ARCHITECTURES)


def pool(product: str, *types: str, capacity: str = "spot-first") -> GpuPool:
    return GpuPool.model_validate(
        {"product": product, "instanceTypes": types or types_with(product), "capacity": capacity, "maxGpus": 8}
    )


def admits(rules: list[dict[str, Any]], kind: InstanceType) -> bool:
    """What Karpenter would make of the requirements for one instance type."""
    offered = {
        "kubernetes.io/arch": kind.architecture,
        "kubernetes.io/os": "linux",
        "karpenter.k8s.aws/instance-gpu-name": kind.gpu,
        "karpenter.k8s.aws/instance-gpu-count": str(kind.gpus),
        "node.kubernetes.io/instance-type": kind.name,
    }
    return all(offered[rule["key"]] in rule["values"] for rule in rules if rule["key"] in offered)


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_requirements_admit_exactly_the_pools_types_of_the_whole_catalogue(product: str) -> None:
    for types in (types_with(product), types_with(product)[:1]):
        admitted = {kind.name for kind in catalogue().values() if admits(requirements(pool(product, *types)), kind)}
        assert admitted == set(types)


@pytest.mark.parametrize(("capacity", "markets"), [("spot-first", ["on-demand", "spot"]), ("on-demand", ["on-demand"])])
def test_spot_first_is_one_pool_with_both_markets_and_no_min_values(capacity: str, markets: list[str]) -> None:
    """`minValues` turns off the filter that drops Spot dearer than on-demand (KP v1.14.1)."""
    rules = requirements(pool("l4", capacity=capacity))
    (market,) = [rule for rule in rules if rule["key"] == "karpenter.sh/capacity-type"]
    assert market["values"] == markets
    assert not [rule for rule in rules if "minValues" in rule]
    assert {rule["operator"] for rule in rules} == {"In"}


def test_the_product_is_the_label_value_that_karpenter_sets() -> None:
    """G7e is `rtx-pro-server-6000`, not `rtx-pro-6000` (aws.md 0.13)."""
    assert types_with("rtx-pro-server-6000")[0].startswith("g7e.")
    assert catalogue()["g7e.2xlarge"].gpu == "rtx-pro-server-6000"


def test_every_product_has_types_and_no_fractional_or_foreign_one() -> None:
    for product in PRODUCTS:
        kinds = [catalogue()[name] for name in types_with(product)]
        assert kinds
        assert {kind.architecture for kind in kinds} == {"amd64"}
        assert min(kind.gpus for kind in kinds) >= 1
    assert not [name for product in PRODUCTS for name in types_with(product) if name.startswith(("g6f", "gr6f", "g7."))]


def test_the_toleration_is_made_from_the_taint() -> None:
    assert toleration() == {"key": TAINT["key"], "operator": "Exists", "effect": TAINT["effect"]}


@pytest.mark.parametrize("product", PRODUCTS)
def test_pods_select_the_label_that_the_pool_puts_on_its_nodes(product: str) -> None:
    one = pool(product)
    on_node = {**labels("chat", one), "karpenter.k8s.aws/instance-gpu-name": product}
    assert node_selector("chat", one).items() <= on_node.items()
    assert on_node[POOL_LABEL] == "chat"
    assert on_node[ARCHITECTURE_LABEL] in ("ampere", "ada", "hopper", "blackwell")


def test_the_catalogue_holds_the_figures_of_the_facts() -> None:
    """aws.md 1.4."""
    kind = catalogue()["g7e.2xlarge"]
    assert (kind.gpus, kind.gpu_memory, kind.network, kind.local_nvme) == (1, 98304, 50000, 1900)
    assert (kind.allocatable_cpu, kind.allocatable_memory) == (7910, 57471)
    assert len(catalogue()) == 70
