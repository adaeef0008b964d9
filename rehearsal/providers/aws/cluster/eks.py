"""Clusters and what hangs on them (`aws.eks`)."""

from __future__ import annotations

import base64

from rehearsal.providers.aws.common import arn, region
from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made, RefusedError, Revision
from rehearsal.providers.values import Properties


def _cluster(birth: Birth) -> Made:
    name, where = birth.inputs["name"], region(birth)
    digits = birth.digits(115)
    issuer = f"https://oidc.eks.{where}.amazonaws.com/id/{digits[:32].upper()}"
    certificate = f"-----BEGIN CERTIFICATE-----\n{digits[32:64]}\n-----END CERTIFICATE-----\n"
    return Made(
        id=name,
        outputs={
            "arn": arn(birth, "eks", f"cluster/{name}"),
            "endpoint": f"https://{digits[:32].upper()}.gr7.{where}.eks.amazonaws.com",
            "certificateAuthority": {"data": base64.b64encode(certificate.encode()).decode()},
            "certificateAuthorities": [{"data": base64.b64encode(certificate.encode()).decode()}],
            "identities": [{"oidcs": [{"issuer": issuer}]}],
            "vpcConfig": {
                "clusterSecurityGroupId": f"sg-{digits[64:81]}",
                "vpcId": f"vpc-{digits[81:98]}",
            },
            "kubernetesNetworkConfig": {
                "ipFamily": "ipv4",
                "serviceIpv4Cidr": "172.20.0.0/16",
            },
            "platformVersion": "eks.1",
            "status": "ACTIVE",
            "createdAt": "2026-01-01T00:00:00Z",
        },
    )


def _addon(birth: Birth) -> Made:
    cluster, addon = birth.inputs["clusterName"], birth.inputs["addonName"]
    return Made(
        id=f"{cluster}:{addon}",
        outputs={
            "arn": arn(birth, "eks", f"addon/{cluster}/{addon}/{birth.digits(8)}"),
            "createdAt": "2026-01-01T00:00:00Z",
            "modifiedAt": "2026-01-01T00:00:00Z",
        },
    )


def _node_group(birth: Birth) -> Made:
    cluster, group = birth.inputs["clusterName"], birth.inputs["nodeGroupName"]
    scaling = f"eks-{group}-{birth.digits(8)}"
    return Made(
        id=f"{cluster}:{group}",
        outputs={
            "arn": arn(birth, "eks", f"nodegroup/{cluster}/{group}/{birth.digits(8)}"),
            "status": "ACTIVE",
            "resources": [{"autoscalingGroups": [{"name": scaling}]}],
        },
    )


def _pod_identity(birth: Birth) -> Made:
    association = f"a-{birth.digits(17)}"
    path = f"podidentityassociation/{birth.inputs['clusterName']}/{association}"
    return Made(
        id=association,
        outputs={
            "associationId": association,
            "associationArn": arn(birth, "eks", path),
        },
    )


def _access_entry(birth: Birth) -> Made:
    cluster, principal = birth.inputs["clusterName"], birth.inputs["principalArn"]
    return Made(
        id=f"{cluster}:{principal}",
        outputs={
            "accessEntryArn": arn(birth, "eks", f"access-entry/{cluster}/{birth.digits(8)}"),
            "type": "STANDARD",
            "userName": principal,
            "createdAt": "2026-01-01T00:00:00Z",
            "modifiedAt": "2026-01-01T00:00:00Z",
        },
    )


def _access_policy(birth: Birth) -> Made:
    inputs = birth.inputs
    return Made(
        id=f"{inputs['clusterName']}#{inputs['principalArn']}#{inputs['policyArn']}",
        outputs={
            "associatedAt": "2026-01-01T00:00:00Z",
            "modifiedAt": "2026-01-01T00:00:00Z",
        },
    )


def _upgrade(revision: Revision) -> Properties:
    """EKS goes one minor version up at a time, and never down [from memory, unproven]."""
    old, new = revision.outputs.get("version"), revision.news.get("version")
    if not revision.preview and old and new and old != new:
        before, after = (tuple(int(part) for part in version.split(".")) for version in (old, new))
        if after != (before[0], before[1] + 1):
            raise RefusedError(
                f"InvalidParameterException: Unsupported Kubernetes minor version update from {old} to {new}"
            )
    return {}


def _one_of(*same: str) -> tuple[Unique, ...]:
    return (Unique(error="ResourceInUseException", same=same),)


KINDS = {
    "aws:eks/cluster:Cluster": Kind(
        make=_cluster,
        tagged=True,
        auto_name=AutoName(property="name", limit=100),
        unknown_inside=("vpcConfig.clusterSecurityGroupId", "vpcConfig.vpcId"),
        unique=_one_of("name"),
        revise=_upgrade,
    ),
    "aws:eks/addon:Addon": Kind(make=_addon, tagged=True, unique=_one_of("clusterName", "addonName")),
    "aws:eks/nodeGroup:NodeGroup": Kind(
        make=_node_group,
        tagged=True,
        auto_name=AutoName(property="nodeGroupName", limit=63),
        unique=_one_of("clusterName", "nodeGroupName"),
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Kind(
        make=_pod_identity, tagged=True, unique=_one_of("clusterName", "namespace", "serviceAccount")
    ),
    "aws:eks/accessEntry:AccessEntry": Kind(
        make=_access_entry, tagged=True, unique=_one_of("clusterName", "principalArn")
    ),
    # AssociateAccessPolicy overwrites what is there.
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Kind(make=_access_policy),
}
