"""Makes both tables of this folder again from a checkout of Karpenter's AWS provider.

    git clone --depth 1 --branch v1.14.1 https://github.com/aws/karpenter-provider-aws
    python -m infra.instances.refresh karpenter-provider-aws v1.14

`instances.csv` is the release's page of instance types, as far as they have a GPU, with the addresses of one network
interface from the controller's own table. `prices.csv` is the controller's table of on-demand prices, which it starts
with when it cannot reach the pricing API: each with its region and its day.
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = "website/content/en/{release}/reference/instance-types.md"
LIMITS = "pkg/providers/instancetype/zz_generated.vpclimits.go"
PRICES = (
    "pkg/providers/pricing/zz_generated.pricing_aws.go",
    "pkg/providers/pricing/zz_generated.pricing_aws_us_gov.go",
)
"""Not the table of China: its prices are in yuan (pricing.go, v1.14.1)."""

PRICE_COLUMNS = ("type", "region", "usd_per_hour", "day")

_LABEL = "karpenter.k8s.aws/instance-"
COLUMNS: Mapping[str, str] = {
    "type": "node.kubernetes.io/instance-type",
    "family": f"{_LABEL}family",
    "category": f"{_LABEL}category",
    "generation": f"{_LABEL}generation",
    "arch": "kubernetes.io/arch",
    "gpu_mfr": f"{_LABEL}gpu-manufacturer",
    "gpu_name": f"{_LABEL}gpu-name",
    "gpu_count": f"{_LABEL}gpu-count",
    "gpu_mem_mib_per_gpu": f"{_LABEL}gpu-memory",
    "vcpu": f"{_LABEL}cpu",
    "mem_mib": f"{_LABEL}memory",
    "net_mbps_baseline": f"{_LABEL}network-bandwidth",
    "ebs_mbps": f"{_LABEL}ebs-bandwidth",
    "local_nvme_gib": f"{_LABEL}local-nvme",
    "alloc_cpu": "cpu",
    "alloc_mem": "memory",
    "pods": "pods",
    "efa": "vpc.amazonaws.com/efa",
}
"""Column of `instances.csv`: row of the page, below Labels or Resources."""


def pages_types(text: str, interfaces: Mapping[str, int]) -> list[dict[str, str]]:
    """Return one row per instance type with a GPU, by name.

    Args:
        text: the page of instance types.
        interfaces: IPv4 addresses of one network interface, by instance type.

    Raises:
        KeyError: a type with a GPU has no row that a column needs, or no interface.
    """
    rows = []
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        values = dict(re.findall(r"^ ?\|([^|]+)\|([^|]*)\|$", section, re.MULTILINE))
        if COLUMNS["gpu_name"] in values:
            absent = {COLUMNS["efa"]: "0", COLUMNS["local_nvme_gib"]: "", COLUMNS["ebs_mbps"]: "", **values}
            row = {column: absent[key] for column, key in COLUMNS.items()}
            rows.append({**row, "eni_ipv4": str(interfaces[row["type"]])})
    return sorted(rows, key=lambda row: row["type"])


def interface_addresses(source: str) -> dict[str, int]:
    """Return the IPv4 addresses of one network interface, by instance type."""
    found = re.findall(r'^\t"([^"]+)": \{\n\t\tInterface: +\d+,\n\t\tIPv4PerInterface: +(\d+),', source, re.MULTILINE)
    return {kind: int(addresses) for kind, addresses in found}


def prices(source: str, kinds: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield a row for each of these instance types in each region of a generated Go file."""
    day = re.findall(r"^// generated at (\d{4}-\d\d-\d\d)", source, re.MULTILINE)[0]
    for region, table in re.findall(r'^\t"([a-z0-9-]+)": \{\n(.*?)^\t\},', source, re.MULTILINE | re.DOTALL):
        listed = dict(re.findall(r'"([a-z0-9-]+\.[a-z0-9-]+)": ([0-9.]+),', table))
        for kind in kinds:
            if kind in listed:
                yield dict(zip(PRICE_COLUMNS, (kind, region, f"{float(listed[kind]):g}", day), strict=True))


def main(source: Path, release: str) -> None:
    """Write both tables."""
    page = (source / PAGE.format(release=release)).read_text(encoding="utf-8")
    types = pages_types(page, interface_addresses((source / LIMITS).read_text(encoding="utf-8")))
    _write(FOLDER / "instances.csv", types)
    write_prices(source, [row["type"] for row in types])


def write_prices(source: Path, kinds: Sequence[str]) -> None:
    """Write `prices.csv`. The Go module of the provider is enough for it."""
    rows = [row for path in PRICES for row in prices((source / path).read_text(encoding="utf-8"), kinds)]
    _write(FOLDER / "prices.csv", sorted(rows, key=lambda row: (row["region"], row["type"])))


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
