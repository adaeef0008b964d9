"""EKS add-ons: which ones, in what order around the first nodes, and with what configuration.

The CNI and the Pod Identity agent come before nodes (nodes stay NotReady without, terraform-aws-eks#2820); Deployments
come after them (an add-on with nowhere to run is DEGRADED after 20 minutes, pulumi-eks#1525).
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import pulumi
from pulumi_aws import eks
from pydantic import Field, StringConstraints

from infra.naming import EVERY_TAINT
from infra.section import Section

AddonVersion = Annotated[str, StringConstraints(pattern=r"^(default|v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+)$")]

_VERSION = "default (AWS decides at create time) or a pinned version such as v1.2.3-eksbuild.4"


class AddonVersions(Section):
    """`cluster.addons`: one version per add-on."""

    vpc_cni: AddonVersion = Field(description=_VERSION)
    kube_proxy: AddonVersion = Field(description=_VERSION)
    pod_identity_agent: AddonVersion = Field(description=_VERSION)
    coredns: AddonVersion = Field(description=_VERSION)
    metrics_server: AddonVersion = Field(description=_VERSION)
    mountpoint_s3: AddonVersion = Field(description=_VERSION)


AWS_NAMES = {
    "vpc_cni": "vpc-cni",
    "kube_proxy": "kube-proxy",
    "pod_identity_agent": "eks-pod-identity-agent",
    "coredns": "coredns",
    "metrics_server": "metrics-server",
    "mountpoint_s3": "aws-mountpoint-s3-csi-driver",
}

BEFORE_NODES = ("vpc_cni", "kube_proxy", "pod_identity_agent")
AFTER_NODES = ("coredns", "metrics_server")
"""The Mountpoint driver comes after nodes too, with its identity: see `infra.mountpoint`."""

CONFIGURATION: Mapping[str, Mapping[str, Any]] = {
    # a string: the add-on's schema refuses a boolean here (aws.md 2.2)
    "vpc_cni": {"enableNetworkPolicy": "true"},
    # without a toleration pods on GPU nodes have no credentials (terraform-aws-eks#3621)
    "pod_identity_agent": {"tolerations": [dict(EVERY_TAINT)]},
    "mountpoint_s3": {"node": {"tolerateAllTaints": True}},
}
"""What differs from an add-on's defaults. The CNI and kube-proxy tolerate every taint by themselves."""


def addon(
    key: str,
    versions: AddonVersions,
    *,
    name: str,
    cluster_name: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> eks.Addon:
    """Register the add-on of a key of `AddonVersions`. `default` leaves the version to AWS."""
    version = getattr(versions, key)
    configuration = CONFIGURATION.get(key)
    return eks.Addon(
        name,
        cluster_name=cluster_name,
        addon_name=AWS_NAMES[key],
        addon_version=None if version == "default" else version,
        configuration_values=json.dumps(configuration, sort_keys=True) if configuration else None,
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        opts=opts,
    )
