"""Whether the image of each pool's nodes exists for the cluster's Kubernetes minor."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from infra.gpu_pools import GpuPool
from infra.node_boot.ami import LATEST, Ami
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.finding import Finding, fail, ok

PROCESSORS = {"amd64": "x86_64", "arm64": "arm64"}
"""A node's architecture as AWS's parameters spell it."""


def check(asked: Asked) -> Iterator[Finding]:
    """Ask Systems Manager for the parameter that Karpenter will ask for, and yield a finding for each pool."""
    minor, ssm = asked.stack.settings.cluster.version, asked.aws.client("ssm")
    for name, pool in asked.stack.settings.pools.items():
        for processor in sorted({PROCESSORS[kind.architecture] for kind in pool.types}):
            path = parameter(pool.os_image, minor, processor)
            found = answer("ssm:GetParameter", partial(image, ssm, path), absent={"ParameterNotFound": None})
            yield finding(name, pool, minor, path, found)


def parameter(ami: Ami, minor: str, processor: str) -> str:
    """Return the parameter that holds the id of a GPU node's image.

    As Karpenter resolves an alias (karpenter-provider-aws v1.14.1, pkg/providers/amifamily/al2023.go, bottlerocket.go).
    Of a pool whose types have GPUs it takes the variant with NVIDIA's driver.
    """
    if ami.family == "bottlerocket":
        # on GitHub releases begin with a v, in the path they do not
        release = ami.version if ami.version == LATEST else ami.version.removeprefix("v")
        return f"/aws/service/bottlerocket/aws-k8s-{minor}-nvidia/{processor}/{release}/image_id"
    variants = f"/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/{processor}/nvidia"
    name = f"amazon-eks-node-al2023-{processor}-nvidia-{minor}-{ami.version}"
    return f"{variants}/{'recommended' if ami.version == LATEST else name}/image_id"


def image(ssm: Any, path: str) -> str | None:
    """Return the id of an image."""
    return str(ssm.get_parameter(Name=path)["Parameter"]["Value"])


def finding(name: str, pool: GpuPool, minor: str, path: str, found: str | NoAnswer | None) -> Finding:
    """Return what a parameter's answer means: without it Karpenter starts no node, and says so in its log alone."""
    subject = f"{name} {pool.os_image}"
    if isinstance(found, NoAnswer):
        return found.about(subject)
    if found is None:
        above = path.rsplit("/", 2)[0]
        return fail(
            subject,
            f"not published for Kubernetes {minor}: no {path}",
            f"another gpuPools.{name}.ami, of: aws ssm get-parameters-by-path --recursive --path {above}",
        )
    return ok(subject, f"{found} for Kubernetes {minor}")
