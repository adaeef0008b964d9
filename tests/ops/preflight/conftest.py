"""A scripted AWS in which everything is in order for the dev stack, and the registries beside it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from infra.instances import catalogue
from infra.network import subnets
from ops.preflight.asking import Asked, Aws
from ops.preflight.content.oci import Registries, Response
from ops.stack.stack_file import read
from tests.ops.conftest import ACCOUNT
from tests.ops.preflight.cloud import Cloud

VCPUS = {"m7i.large": 2, "m7i.xlarge": 4}


@pytest.fixture
def asked(edit: Callable[..., None], cloud: Cloud) -> Callable[..., Asked]:
    """`asked(change)`: the dev stack with changed settings, and the scripted AWS."""

    def make(change: Callable[[dict[str, Any]], object] = bool) -> Asked:
        edit(change)
        stack = read("dev")
        return Asked(stack=stack, aws=Aws(stack.region, cloud.make))

    return make


@pytest.fixture
def real(aws: Callable[[str], Any], edit: Callable[..., None]) -> Callable[..., Asked]:
    """`real(change)`: the same with moto for AWS."""

    def make(change: Callable[[dict[str, Any]], object] = bool) -> Asked:
        edit(change)
        stack = read("dev")
        return Asked(stack=stack, aws=Aws(stack.region))

    return make


@pytest.fixture
def cloud(folder: object) -> Cloud:
    """An AWS in which the dev stack starts."""
    made = Cloud()
    made.on("GetCallerIdentity", {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:role/x", "UserId": "x"})
    made.on("GetServiceQuota", {"Quota": {"Value": 1000.0}})
    made.on("DescribeInstances", {"Reservations": []})
    made.on("DescribeCapacityReservations", {"CapacityReservations": []})
    made.on("DescribeInstanceTypes", types)
    made.on("DescribeInstanceTypeOfferings", everywhere)
    made.on("GetRole", {"Role": role()})
    made.on("GetSpotPlacementScores", {"SpotPlacementScores": [{"Region": "us-west-2", "Score": 7}]})
    made.on("DescribeSpotPriceHistory", cheap)
    made.on("HeadBucket", {"BucketRegion": "us-west-2"})
    made.on("HeadObject", {"ContentLength": 100})
    made.on("DescribePullThroughCacheRules", {"pullThroughCacheRules": []})
    made.on("GetParameter", {"Parameter": {"Value": "ami-0123"}})
    made.on("DescribeVpcs", {"Vpcs": [{"VpcId": "vpc-1"}]})
    made.on("DescribeSubnets", {"Subnets": private_subnets(4000)})
    made.on("DescribeClusterVersions", {"clusterVersions": [version("1.36", 2030)]})
    made.on("DescribeAddonVersions", addon)
    return made


@pytest.fixture
def registries() -> Registries:
    """Registries that have every image."""
    return Registries(transport=lambda *_: Response(200, {"Docker-Content-Digest": "sha256:1"}, b""))


def types(params: Any) -> Any:
    names = params["Filters"][0]["Values"]
    return {
        "InstanceTypes": [{"InstanceType": it, "VCpuInfo": {"DefaultVCpus": VCPUS[it]}} for it in names if it in VCPUS]
    }


def everywhere(params: Any) -> Any:
    names, zones = (it["Values"] for it in params["Filters"])
    return {"InstanceTypeOfferings": [{"InstanceType": kind, "Location": zone} for kind in names for zone in zones]}


def cheap(params: Any) -> Any:
    zones = params["Filters"][0]["Values"]
    return {"SpotPriceHistory": [price(kind, zone, "1.1") for kind in params["InstanceTypes"] for zone in zones]}


def price(kind: str, zone: str, usd: str, day: int = 1) -> dict[str, Any]:
    at = datetime(2026, 11, day, tzinfo=UTC)
    return {"InstanceType": kind, "AvailabilityZone": zone, "SpotPrice": usd, "Timestamp": at}


def role() -> dict[str, Any]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return {"Path": "/", "RoleName": "AWSServiceRoleForEC2Spot", "RoleId": "R" * 20, "Arn": "a" * 20, "CreateDate": at}


def private_subnets(free: int) -> list[dict[str, Any]]:
    stack = read("dev").settings
    layout = subnets(stack.network.cidr, stack.network.zones)
    return [
        {"SubnetId": f"subnet-{zone}", "CidrBlock": str(pair.private), "AvailableIpAddressCount": free}
        for zone, pair in layout.items()
    ]


def version(minor: str, year: int) -> dict[str, Any]:
    end = datetime(year, 6, 1, tzinfo=UTC)
    return {
        "clusterVersion": minor,
        "endOfStandardSupportDate": end,
        "endOfExtendedSupportDate": end.replace(year=year + 1),
    }


def addon(params: Any) -> Any:
    def one(name: str, *, default: bool) -> dict[str, Any]:
        return {
            "addonVersion": name,
            "compatibilities": [{"clusterVersion": params["kubernetesVersion"], "defaultVersion": default}],
        }

    versions = [one("v1.9.9-eksbuild.1", default=True), one("v1.10.2-eksbuild.3", default=False)]
    return {"addons": [{"addonName": params["addonName"], "addonVersions": versions}]}


def instance(kind: str, *, lifecycle: str = "", tags: dict[str, str] | None = None, count: int = 1) -> dict[str, Any]:
    """A reservation of running instances, as DescribeInstances answers."""
    one: dict[str, Any] = {
        "InstanceType": kind,
        "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
    }
    if lifecycle:
        one["InstanceLifecycle"] = lifecycle
    return {"Instances": [one] * count}


def known(kind: str) -> int:
    return catalogue()[kind].vcpus
