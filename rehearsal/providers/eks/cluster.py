"""`eks.Cluster` of pulumi-eks 4.4: the children it registers and the outputs it gives.

Types, names and inputs follow `nodejs/eks/cluster/cluster.ts`, `servicerole.ts` and
`authenticationMode.ts` of pulumi/pulumi-eks, for the arguments that `arguments.py` lets through.
Not modelled: in `up`, the component polls `<endpoint>/healthz` of a public endpoint first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from pulumi.runtime.proto import provider_pb2

from rehearsal.providers.eks.arguments import refuse_unmodelled
from rehearsal.providers.eks.kubeconfig import kubeconfig
from rehearsal.providers.eks.monitor import Child, Monitor, Registered
from rehearsal.providers.values import (
    UNKNOWN,
    Properties,
    from_struct,
    has_unknown,
    reference,
    to_struct,
)

TOKEN = "eks:index:Cluster"  # noqa: S105 - a type token, not a credential
# The component grants the deployer admin rights, and never changes these two afterwards.
_SET_AT_CREATION = (
    "accessConfig.bootstrapClusterCreatorAdminPermissions",
    "bootstrapSelfManagedAddons",
)


@dataclass(frozen=True, kw_only=True)
class _Context:
    """The construct call: names, arguments, and where each argument came from."""

    name: str
    urn: str
    args: Properties
    sources: dict[str, list[str]]
    monitor: Monitor

    def of(self, *keys: str) -> list[str]:
        return [urn for key in keys for urn in self.sources.get(key, ())]


def construct(request: provider_pb2.ConstructRequest, monitor: Monitor) -> provider_pb2.ConstructResponse:
    """Register the component and its children; the answer holds the component's outputs.

    Raises ValueError for arguments that are not modelled.
    """
    args = from_struct(request.inputs)
    refuse_unmodelled(request.name, args)
    component = monitor.component(args)
    context = _Context(
        name=request.name,
        urn=component.urn,
        args=args,
        sources={key: [*found.urns] for key, found in request.inputDependencies.items()},
        monitor=monitor,
    )
    role, attachment = _service_role(context)
    cluster = _cluster(context, role, attachment)
    _access_entries(context, cluster)
    config = kubeconfig(cluster.outputs)
    provider = monitor.provider(
        Child(
            type="pulumi:providers:kubernetes",
            name=f"{request.name}-eks-k8s",
            parent=component.urn,
            inputs={"kubeconfig": UNKNOWN if has_unknown(config) else json.dumps(config)},
            sources={"kubeconfig": [cluster.urn]},
            version=version("pulumi-kubernetes"),
        )
    )
    outputs = _outputs(context, role=role, cluster=cluster, provider=provider, config=config)
    monitor.outputs(component.urn, outputs)
    response = provider_pb2.ConstructResponse(urn=component.urn, state=to_struct(outputs))
    for key in outputs:
        response.stateDependencies[key].urns.append(cluster.urn)
    return response


def _service_role(context: _Context) -> tuple[Registered, Registered]:
    name = f"{context.name}-eksRole"
    holder = context.monitor.inner_component(Child(type="eks:index:ServiceRole", name=name, parent=context.urn))
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Effect": "Allow",
                "Principal": {"Service": ["eks.amazonaws.com"]},
            }
        ],
    }
    role = context.monitor.aws(
        Child(
            type="aws:iam/role:Role",
            name=f"{name}-role",
            parent=holder.urn,
            inputs=_given(
                assumeRolePolicy=json.dumps(trust),
                description="Allows EKS to manage clusters on your behalf.",
                tags=context.args.get("tags"),
            ),
            sources={"tags": context.of("tags")},
        )
    )
    policy = f"arn:{context.monitor.partition()}:iam::aws:policy/AmazonEKSClusterPolicy"
    suffix = hashlib.sha1(policy.encode(), usedforsecurity=False).hexdigest()[:8]
    attachment = context.monitor.aws(
        Child(
            type="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            name=f"{name}-{suffix}",
            parent=holder.urn,
            inputs={"policyArn": policy, "role": role.outputs.get("name", UNKNOWN)},
            sources={"role": [role.urn]},
        )
    )
    return role, attachment


def _cluster(context: _Context, role: Registered, attachment: Registered) -> Registered:
    args = context.args
    subnets = ("subnetIds",) if "subnetIds" in args else ("publicSubnetIds", "privateSubnetIds")
    key, cidr = args.get("encryptionConfigKeyArn"), args.get("kubernetesServiceIpAddressRange")
    return context.monitor.aws(
        Child(
            type="aws:eks/cluster:Cluster",
            name=f"{context.name}-eksCluster",
            parent=context.urn,
            inputs=_given(
                name=args.get("name"),
                roleArn=role.outputs.get("arn", UNKNOWN),
                version=args.get("version"),
                vpcConfig=_given(
                    subnetIds=_joined(args, subnets),
                    endpointPrivateAccess=args.get("endpointPrivateAccess"),
                    endpointPublicAccess=args.get("endpointPublicAccess"),
                    publicAccessCidrs=args.get("publicAccessCidrs"),
                ),
                accessConfig={
                    "authenticationMode": args["authenticationMode"],
                    "bootstrapClusterCreatorAdminPermissions": True,
                },
                bootstrapSelfManagedAddons=args["bootstrapSelfManagedAddons"],
                enabledClusterLogTypes=args.get("enabledClusterLogTypes"),
                encryptionConfig={"provider": {"keyArn": key}, "resources": ["secrets"]} if key else None,
                kubernetesNetworkConfig={"serviceIpv4Cidr": cidr, "ipFamily": "ipv4"} if cidr else None,
                upgradePolicy=args.get("upgradePolicy"),
                deletionProtection=args.get("deletionProtection"),
                tags=_cluster_tags(context),
            ),
            sources={
                "roleArn": [role.urn],
                "vpcConfig": context.of(*subnets, "publicAccessCidrs"),
                "encryptionConfig": context.of("encryptionConfigKeyArn"),
                "name": context.of("name"),
                "tags": context.of("tags", "clusterTags"),
            },
            # EKS refuses a role whose policy is not attached yet.
            after=(attachment.urn,),
            ignore_changes=_SET_AT_CREATION,
        )
    )


def _cluster_tags(context: _Context) -> Properties | str:
    tags, extra = context.args.get("tags") or {}, context.args.get("clusterTags") or {}
    if UNKNOWN in (tags, extra):
        return UNKNOWN
    return {"Name": f"{context.name}-eksCluster", **extra, **tags}


def _access_entries(context: _Context, cluster: Registered) -> None:
    source, after = context.of("accessEntries"), (cluster.urn,)
    cluster_name = cluster.outputs.get("name", UNKNOWN)
    for key, entry in sorted((context.args.get("accessEntries") or {}).items()):
        name = f"{context.name}-{key}"
        registered = context.monitor.aws(
            Child(
                type="aws:eks/accessEntry:AccessEntry",
                name=name,
                parent=context.urn,
                inputs=_given(
                    clusterName=cluster_name,
                    kubernetesGroups=entry.get("kubernetesGroups"),
                    principalArn=entry.get("principalArn"),
                    tags=entry.get("tags"),
                    type=entry.get("type"),
                    userName=entry.get("username"),
                ),
                sources={"clusterName": [cluster.urn], "principalArn": source},
                after=after,
            )
        )
        for policy_key, policy in sorted((entry.get("accessPolicies") or {}).items()):
            context.monitor.aws(
                Child(
                    type="aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
                    name=f"{name}-{policy_key}",
                    parent=registered.urn,
                    inputs=_given(
                        accessScope=policy.get("accessScope"),
                        clusterName=cluster_name,
                        policyArn=policy.get("policyArn"),
                        principalArn=entry.get("principalArn"),
                    ),
                    sources={"clusterName": [cluster.urn], "principalArn": source},
                    after=(registered.urn,),
                )
            )


def _outputs(
    context: _Context,
    *,
    role: Registered,
    cluster: Registered,
    provider: Registered,
    config: Properties,
) -> Properties:
    args, aws = context.args, version("pulumi-aws")
    cluster_reference = reference(cluster.urn, cluster.id, aws)
    group = cluster.outputs.get("vpcConfig", {}).get("clusterSecurityGroupId", UNKNOWN)
    identities = cluster.outputs.get("identities")
    issuer = identities[0]["oidcs"][0]["issuer"] if identities else UNKNOWN
    core = _given(
        vpcId=args["vpcId"],
        subnetIds=_joined(args, ("subnetIds", "publicSubnetIds", "privateSubnetIds")),
        publicSubnetIds=args.get("publicSubnetIds"),
        privateSubnetIds=args.get("privateSubnetIds"),
        cluster=cluster_reference,
        endpoint=cluster.outputs.get("endpoint", UNKNOWN),
        kubeconfig=UNKNOWN if has_unknown(config) else config,
        provider=reference(provider.urn, provider.id, version("pulumi-kubernetes")),
        instanceRoles=[],
        clusterIamRole=reference(role.urn, role.id, aws),
        tags=args.get("tags"),
        storageClasses={},
        autoModeNodeRoleName="",
    )
    return {
        "core": core,
        "eksCluster": cluster_reference,
        "instanceRoles": [],
        "kubeconfig": core["kubeconfig"],
        "kubeconfigJson": UNKNOWN if has_unknown(config) else json.dumps(config),
        # Without default groups the component gives the group that EKS makes.
        "clusterSecurityGroupId": group,
        "nodeSecurityGroupId": group,
        "oidcProviderUrl": issuer,
        "oidcIssuer": issuer.removeprefix("https://"),
        # What was not made reads as "", as from the real component.
        "oidcProviderArn": "",
        "clusterIngressRuleId": "",
        "defaultNodeGroupAsgName": "",
        "fargateProfileId": "",
        "fargateProfileStatus": "",
        "autoModeNodeRoleName": "",
    }


def _joined(args: Properties, keys: Iterable[str]) -> Any:
    lists = [args[key] for key in keys if args.get(key)]
    if UNKNOWN in lists:
        return UNKNOWN
    return [item for items in lists for item in items]


def _given(**values: Any) -> Properties:
    return {key: value for key, value in values.items() if value is not None}
