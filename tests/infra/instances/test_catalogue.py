"""The instance catalogue: one number per type."""

import csv
from pathlib import Path

import pytest

from infra.instances import ARCHITECTURES, LEAST_NVME, catalogue, on_demand_price, types_with
from infra.instances.refresh import FOLDER
from tests.harness import beside

PRODUCTS = sorted(ARCHITECTURES)


def test_it_holds_the_figures_of_the_facts() -> None:
    """aws.md 1.4."""
    kind = catalogue()["g7e.2xlarge"]
    assert (kind.gpus, kind.gpu_memory, kind.network, kind.ebs, kind.local_nvme) == (1, 98304, 50000, 5000, 1900)
    assert (kind.vcpus, kind.memory, kind.allocatable_cpu, kind.allocatable_memory) == (8, 65536, 7910, 57471)
    assert kind.interface_addresses == 64
    assert len(catalogue()) == 70


def test_the_product_is_the_label_value_that_karpenter_sets() -> None:
    """G7e is `rtx-pro-server-6000`, not `rtx-pro-6000` (aws.md 0.13)."""
    assert types_with("rtx-pro-server-6000")[0].startswith("g7e.")
    assert catalogue()["g7e.2xlarge"].gpu == "rtx-pro-server-6000"


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_product_has_types_and_no_fractional_or_foreign_one(product: str) -> None:
    """KRP-08: g6f reports zero GPUs to Kubernetes."""
    kinds = [catalogue()[name] for name in types_with(product)]
    assert kinds
    assert {kind.architecture for kind in kinds} == {"amd64"}
    assert min(kind.gpus for kind in kinds) >= 1
    assert not [kind.name for kind in kinds if kind.family in ("g6f", "gr6f", "g7", "g4ad", "g5g")]


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_usable_type_has_a_local_disk_for_its_images(product: str) -> None:
    assert min(catalogue()[name].local_nvme for name in types_with(product)) > LEAST_NVME


def test_nothing_that_a_pool_can_count_with_is_zero() -> None:
    for product in PRODUCTS:
        for name in types_with(product):
            kind = catalogue()[name]
            figures = (kind.network, kind.ebs, kind.vcpus, kind.memory, kind.interface_addresses)
            assert min(figures) > 0, name


def test_a_price_has_its_region_and_day_and_is_never_guessed() -> None:
    price = on_demand_price("g7e.2xlarge", "us-east-1")
    assert price is not None
    assert (price.usd, price.source) == (3.36312, "us-east-1, 2026-07-06")
    assert on_demand_price("g7e.2xlarge", "us-west-2") is None
    assert on_demand_price("p5e.48xlarge", "us-east-1") is None


def test_no_price_is_in_yuan() -> None:
    """Karpenter's table of China is, and nothing in it says so."""
    assert not [name for name in catalogue() if on_demand_price(name, "cn-north-1")]


def test_a_larger_type_with_as_many_gpus_never_costs_less() -> None:
    for product in PRODUCTS:
        alike: dict[tuple[str, int], list[tuple[int, float]]] = {}
        for kind in (catalogue()[name] for name in types_with(product)):
            if price := on_demand_price(kind.name, "us-east-1"):
                alike.setdefault((kind.family, kind.gpus), []).append((kind.vcpus, price.usd))
        for listed in alike.values():
            assert [usd for _, usd in sorted(listed)] == sorted(usd for _, usd in listed)


TABLE = Path("shared", "crds", "gpu-instance-types-v1.14.csv")
"""Beside the checkout: the release's page of instance types, which no package carries."""


def test_every_row_is_the_release_s_own() -> None:
    """A memory or a GPU count that is wrong by a digit makes pods pend or pools refuse what fits."""
    with (
        beside(TABLE).open(encoding="utf-8", newline="") as page,
        (FOLDER / "instances.csv").open(encoding="utf-8") as ours,
    ):
        theirs = {row["type"]: row for row in csv.DictReader(page)}
        found = {row["type"]: {key: row[key] for key in row if key != "eni_ipv4"} for row in csv.DictReader(ours)}
    assert found == theirs
