"""The tables come out of Karpenter's page and Go sources, as these are laid out."""

import csv

import pytest

from infra.instances import CATALOGUE, PRICES, refresh

LABEL = "karpenter.k8s.aws/instance-"


def section(values: dict[str, str], resources: dict[str, str]) -> str:
    def table(head: str, rows: dict[str, str]) -> str:
        lines = [f" |{key}|{value}|" for key, value in rows.items()]
        return "\n".join([head, " |--|--|", *lines])

    name = values["node.kubernetes.io/instance-type"]
    return "\n".join(
        [
            f"### `{name}`",
            "#### Labels",
            table(" | Label | Value |", values),
            "#### Resources",
            table(" | Resource | Quantity |", resources),
        ]
    )


GPU = {
    f"{LABEL}category": "g",
    f"{LABEL}cpu": "8",
    f"{LABEL}ebs-bandwidth": "5000",
    f"{LABEL}family": "g7e",
    f"{LABEL}generation": "7",
    f"{LABEL}gpu-count": "1",
    f"{LABEL}gpu-manufacturer": "nvidia",
    f"{LABEL}gpu-memory": "98304",
    f"{LABEL}gpu-name": "rtx-pro-server-6000",
    f"{LABEL}local-nvme": "1900",
    f"{LABEL}memory": "65536",
    f"{LABEL}network-bandwidth": "50000",
    "kubernetes.io/arch": "amd64",
    "node.kubernetes.io/instance-type": "g7e.2xlarge",
}
PLAIN = {
    f"{LABEL}category": "m",
    f"{LABEL}hypervisor": "",
    "node.kubernetes.io/instance-type": "m5.metal",
}
RESOURCES = {"cpu": "7910m", "ephemeral-storage": "17Gi", "memory": "57471Mi", "nvidia.com/gpu": "1", "pods": "254"}
PAGE = "\n".join(["---", "title: x", "---", "## m5 Family", section(PLAIN, RESOURCES), section(GPU, RESOURCES), ""])


def rows(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_type_with_a_gpu_becomes_the_row_that_is_checked_in() -> None:
    (row,) = refresh.pages_types(PAGE, {"g7e.2xlarge": 64})
    (mine,) = [each for each in rows(CATALOGUE) if each["type"] == "g7e.2xlarge"]
    assert row == mine
    assert list(row) == list(mine)


def test_a_row_that_the_page_no_longer_has_is_missed() -> None:
    with pytest.raises(KeyError, match="network-bandwidth"):
        refresh.pages_types(PAGE.replace(f" |{LABEL}network-bandwidth|50000|\n", ""), {"g7e.2xlarge": 64})


LIMITS = """
var Limits = map[string]*VPCLimits{
\t"g7e.2xlarge": {
\t\tInterface:               4,
\t\tIPv4PerInterface:        64,
\t\tNetworkCards: []NetworkCard{
\t\t\t{
\t\t\t\tMaximumNetworkInterfaces: 4,
\t\t\t},
\t\t},
\t},
}
"""


def test_addresses_are_those_of_one_interface() -> None:
    assert refresh.interface_addresses(LIMITS) == {"g7e.2xlarge": 64}


SOURCE = """
// generated at 2026-07-06T14:20:29Z for us-east-1
var InitialOnDemandPricesAWS = map[string]map[ec2types.InstanceType]float64{
\t// us-east-1
\t"us-east-1": {
\t\t// g7e family
\t\t"g7e.12xlarge": 8.286080, "g7e.2xlarge": 3.363120, "m5.large": 0.1,
\t},
\t"us-gov-west-1": {
\t\t"g7e.2xlarge": 4.000000,
\t},
}
"""


def test_prices_have_a_region_and_a_day() -> None:
    assert list(refresh.prices(SOURCE, ["g7e.2xlarge"])) == [
        {"type": "g7e.2xlarge", "region": "us-east-1", "usd_per_hour": "3.36312", "day": "2026-07-06"},
        {"type": "g7e.2xlarge", "region": "us-gov-west-1", "usd_per_hour": "4", "day": "2026-07-06"},
    ]


def test_the_checked_in_tables_have_these_columns_and_this_order() -> None:
    types, prices = rows(CATALOGUE), rows(PRICES)
    assert list(types[0]) == [*refresh.COLUMNS, "eni_ipv4"]
    assert [row["type"] for row in types] == sorted(row["type"] for row in types)
    assert tuple(prices[0]) == refresh.PRICE_COLUMNS
    assert [(row["region"], row["type"]) for row in prices] == sorted((row["region"], row["type"]) for row in prices)
