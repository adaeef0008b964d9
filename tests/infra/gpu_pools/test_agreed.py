"""What nodes and pods must agree on is made from the pool once."""

import re

import pytest

from infra.gpu_pools import (
    ARCHITECTURE_LABEL,
    GPU_RESOURCE,
    OS_LABEL,
    POOL_LABEL,
    PRESENT_LABEL,
    TAINT,
    labels,
    node_selector,
    published,
    toleration,
)
from infra.instances import ARCHITECTURES
from tests.infra.gpu_pools.pools import AMIS, CAPACITIES, pool

PRODUCTS = sorted(ARCHITECTURES)


def test_the_toleration_is_made_from_the_taint() -> None:
    assert toleration() == {"key": TAINT["key"], "operator": "Exists", "effect": TAINT["effect"]}
    assert TAINT["key"] == GPU_RESOURCE


@pytest.mark.parametrize("product", PRODUCTS)
def test_pods_select_the_label_that_the_pool_puts_on_its_nodes(product: str) -> None:
    one = pool(product)
    on_node = {**labels("chat", one), "karpenter.k8s.aws/instance-gpu-name": product}
    assert node_selector("chat", one).items() <= on_node.items()
    assert on_node[POOL_LABEL] == "chat"
    assert on_node[ARCHITECTURE_LABEL] in ("ampere", "ada", "hopper", "blackwell")


def test_two_pools_of_one_product_keep_their_pods_apart() -> None:
    one = pool()
    assert not node_selector("a", one).items() <= labels("b", one).items()


@pytest.mark.parametrize("family", AMIS)
def test_the_image_family_is_a_label(family: str) -> None:
    assert labels("chat", pool(ami=AMIS[family]))[OS_LABEL] == family
    assert labels("chat", pool(ami=AMIS[family]))[PRESENT_LABEL] == "true"


@pytest.mark.parametrize("product", PRODUCTS)
def test_labels_are_what_kubernetes_and_karpenter_allow(product: str) -> None:
    """karpenter.sh and karpenter.k8s.aws are restricted to an allow-list; values have 63 characters."""
    for key, value in labels("n" * 30, pool(product)).items():
        assert not re.search(r"karpenter|kubernetes\.io", key)
        assert re.fullmatch(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9_.-]{1,63}", key)
        assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", value)


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_application_teams_read_where_to_run_and_how_it_may_end(capacity: str) -> None:
    one = pool(capacity=CAPACITIES[capacity])
    assert published("chat", one, "us-east-1") == {
        "product": "l4",
        "nodeSelector": node_selector("chat", one),
        "toleration": toleration(),
        "capacity": capacity,
        "maxGpus": 8,
        "standingUsdPerHour": one.standing_usd("us-east-1"),
    }
