"""The instance catalogue against the Go module of the provider that it was made from."""

import csv
import zipfile

from infra.instances.refresh import FOLDER, LIMITS, PRICES, interface_addresses, prices
from rehearsal.control_plane.crds import KARPENTERS, checksum
from rehearsal.toolchain import golang, kube_apiserver

SOURCE = KARPENTERS["1.14"]


def module(*paths: str) -> list[str]:
    path = golang.module_zip(SOURCE.module, SOURCE.version, wanted=golang.needed(kube_apiserver.MODULE))
    with zipfile.ZipFile(path) as archive:
        assert checksum(archive) == SOURCE.checksum
        return [archive.read(f"{SOURCE.module}@{SOURCE.version}/{each}").decode() for each in paths]


def table(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_price_is_the_modules_with_its_region_and_day() -> None:
    kinds = [row["type"] for row in table("instances.csv")]
    found = [row for text in module(*PRICES) for row in prices(text, kinds)]
    assert len(found) > 100
    assert sorted(found, key=lambda row: (row["region"], row["type"])) == table("prices.csv")


def test_the_addresses_of_an_interface_are_the_modules() -> None:
    (text,) = module(LIMITS)
    known = interface_addresses(text)
    rows = table("instances.csv")
    assert [row["type"] for row in rows if row["eni_ipv4"] != str(known[row["type"]])] == []
    assert len(rows) == 70
