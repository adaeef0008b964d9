"""What nodes cannot boot with: refused with the numbers. And where their caches lie."""

from typing import Any

import pytest

from infra.instances import InstanceType, catalogue
from infra.node_boot import Ami, NodeBoot, ami_alias, boot_problems, cache_root, user_data
from infra.node_boot.ami import Family
from infra.node_boot.boot import LIMIT, OF_KARPENTER
from infra.node_boot.disks import UNPROVEN, Disk
from tests.infra.node_boot.test_user_data import ENGINE, boot

AL2023 = ami_alias("al2023@v20260724")
BOTTLEROCKET = ami_alias("bottlerocket@v1.49.0")
G7E = catalogue()["g7e.2xlarge"]
TOGETHER = (
    "image-prepull: not together with parallel-pull until a node has shown that an image pulled past kubelet into"
    " SOCI's snapshotter is found by it"
)
G5G = catalogue()["g5g.xlarge"]


def kind(**changed: Any) -> InstanceType:
    values = {name: getattr(G7E, name) for name in G7E.__dataclass_fields__}
    return InstanceType(**{**values, "name": "x.small", **changed})


@pytest.mark.parametrize(
    ("asked", "ami", "types", "problems"),
    [
        (boot(), AL2023, (G5G,), []),
        (boot(prepull=(ENGINE,)), AL2023, (G5G,), []),
        (boot(parallel_pull=True), AL2023, (G7E,), []),
        (boot(parallel_pull=True), ami_alias("al2023@v20250822"), (G7E,), []),
        (boot(parallel_pull=True), ami_alias("al2023@latest", allow_latest=True), (G7E,), []),
        (boot("bottlerocket", parallel_pull=True), ami_alias("bottlerocket@v1.44.0"), (G7E,), []),
        (boot(parallel_pull=True, prepull=(ENGINE,)), AL2023, (G7E,), [TOGETHER]),
        (
            boot(parallel_pull=True),
            ami_alias("al2023@v20250821"),
            (G7E,),
            ["parallel-pull: al2023@v20250821 is older than v20250822, the first al2023 release with it"],
        ),
        (
            boot("bottlerocket", parallel_pull=True),
            ami_alias("bottlerocket@v1.43.9"),
            (G7E,),
            ["parallel-pull: bottlerocket@v1.43.9 is older than v1.44.0, the first bottlerocket release with it"],
        ),
        (
            boot("bottlerocket", prepull=(ENGINE,)),
            BOTTLEROCKET,
            (G7E,),
            ["image-prepull: bottlerocket has no shell; expected an al2023 image"],
        ),
        (
            boot(parallel_pull=True),
            AL2023,
            (G7E, kind(local_nvme=0, ebs=3500)),
            [
                "parallel-pull: x.small has no instance store, and its EBS bandwidth is 3500 Mbit/s = 417 MiB/s;"
                " expected an instance store for RAID0, which alone is sure to write 600 MiB/s"
            ],
        ),
        (
            boot(parallel_pull=True),
            AL2023,
            (kind(local_nvme=0, ebs=0, vcpus=2, memory=4096),),
            [
                "parallel-pull: x.small has 2 vCPUs and 4096 MiB, nodes below 4 vCPUs or 7168 MiB ignore it",
                "parallel-pull: x.small has no instance store, and its EBS bandwidth is unknown; expected an instance"
                " store for RAID0, which alone is sure to write 600 MiB/s",
            ],
        ),
    ],
)
def test_what_a_node_cannot_bear_is_refused_with_its_numbers(
    asked: NodeBoot, ami: Ami, types: tuple[InstanceType, ...], problems: list[str]
) -> None:
    assert list(boot_problems(asked, ami, types)) == problems


def many(count: int) -> NodeBoot:
    # as long as a reference can be in practice: account, region, prefix, a path of three, a tag of a build
    image = (
        "000000000000.dkr.ecr.ap-southeast-1.amazonaws.com/inference-staging/ecr-public/deep-learning-containers/vllm"
    )
    return boot(prepull=tuple(f"{image}:0.21.0-gpu-py312-cu130-ubuntu22.04-ec2-v1.0-soci-{n:04}" for n in range(count)))


def test_too_many_images_are_refused_with_the_sum() -> None:
    size = len(user_data(many(1)).encode())
    each = len(user_data(many(2)).encode()) - size
    most = 1 + (LIMIT - OF_KARPENTER - size) // each
    assert list(boot_problems(many(most), AL2023, (G7E,))) == []
    (problem,) = boot_problems(many(most + 1), AL2023, (G7E,))
    size = size + most * each
    assert problem == (
        f"image-prepull: userData {size} bytes with {most + 1} images + 4096 bytes of Karpenter's = {size + 4096} bytes"
        " > 16384 bytes that EC2 takes"
    )
    with pytest.raises(AssertionError, match="refused before any resource"):
        user_data(many(most + 1))


def test_thirty_images_leave_room_for_karpenter() -> None:
    """A pool of ten servers, each with an engine and two sidecars of its own (benchmarks/user_data.py prints it)."""
    assert len(user_data(many(30)).encode()) + OF_KARPENTER <= LIMIT


def test_a_cache_lies_on_the_disk_that_the_node_has() -> None:
    roots: dict[tuple[Family, Disk], str] = {
        ("al2023", "raid0"): "/mnt/k8s-disks/0/vllm-eks",
        ("al2023", "ebs"): "/var/lib/vllm-eks",
        ("bottlerocket", "raid0"): "/mnt/.ephemeral/vllm-eks",
        ("bottlerocket", "ebs"): "/local/vllm-eks",
    }
    assert {key: cache_root(*key) for key in roots} == roots
    assert UNPROVEN.keys() == roots.keys() - {("al2023", "raid0")}
