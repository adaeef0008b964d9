"""The EKS control plane, who may use it, and everything that must stand before the first workload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Annotated, Literal

import pulumi
import pulumi_eks
from pulumi_aws import eks, kms
from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator

from infra.cluster.addons import AFTER_NODES, AWS_NAMES, BEFORE_NODES, AddonVersions, addon
from infra.cluster.system_nodes import SystemNodes, SystemNodesArgs, SystemNodeSettings
from infra.iam import KMS_KEY, PrincipalArn, Statement
from infra.naming import Partition
from infra.network import PRIVATE_RANGES, Cidr, Network, Zone
from infra.section import DNS_LABEL, NAME_RULE, EachOnce, Flag, KeyName, Section

ACCESS_POLICIES = {
    "cluster-admin": "AmazonEKSClusterAdminPolicy",
    "admin": "AmazonEKSAdminPolicy",
    "edit": "AmazonEKSEditPolicy",
    "view": "AmazonEKSViewPolicy",
}


def _service_cidr(value: IPv4Network) -> IPv4Network:
    """Rules of CreateCluster.kubernetesNetworkConfig.serviceIpv4Cidr."""
    if not any(value.subnet_of(private) for private in PRIVATE_RANGES[:3]) or not 12 <= value.prefixlen <= 24:
        raise ValueError("expected an RFC 1918 network of /12 to /24")
    return value


def _public_cidr(value: IPv4Network) -> IPv4Network:
    if value.prefixlen < 8:
        raise ValueError("opens the Kubernetes API to the internet; expected the ranges of your offices and runners")
    if any(value.overlaps(private) for private in PRIVATE_RANGES):
        raise ValueError("EKS takes no private range here; expected the public ranges of your offices and runners")
    return value


class AccessEntry(Section):
    """`cluster.access.<name>`."""

    principal: PrincipalArn = Field(description="the ARN of an IAM role or user")
    policy: Literal["cluster-admin", "admin", "edit", "view"] = Field(
        description=f"one of {', '.join(ACCESS_POLICIES)}"
    )
    namespaces: Annotated[tuple[Annotated[str, StringConstraints(pattern=DNS_LABEL, max_length=63)], ...], EachOnce] = (
        Field(description="a list of namespaces (empty: the whole cluster)")
    )

    @field_validator("namespaces")
    @classmethod
    def _namespaces(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if value and info.data.get("policy") == "cluster-admin":
            raise ValueError("cluster-admin is for the whole cluster; expected [] or the policy admin")
        return value


class ClusterSettings(Section):
    """`cluster`."""

    version: Annotated[str, StringConstraints(pattern=r"^1\.(3[4-9]|[4-9][0-9])$")] = Field(
        # 1.34 has what the pods use: the sleep action of preStop is stable since then
        description='a Kubernetes minor of 1.34 or later in quotes, for example "1.36"'
    )
    zones: Annotated[tuple[Zone, ...], Field(min_length=2, max_length=2), EachOnce] = Field(
        description="two of network.zones, chosen once: EKS takes subnets in no other zone later"
    )
    service_cidr: Annotated[Cidr, AfterValidator(_service_cidr)] = Field(
        description="an IPv4 network for Services, for example 172.20.0.0/16"
    )
    public_access: Annotated[tuple[Annotated[Cidr, AfterValidator(_public_cidr)], ...], EachOnce] = Field(
        description="a list of IPv4 networks that reach the API endpoint from outside (empty: private endpoint only)"
    )
    logs: Annotated[
        tuple[Literal["api", "audit", "authenticator", "controllerManager", "scheduler"], ...], EachOnce
    ] = Field(description="a list out of api, audit, authenticator, controllerManager, scheduler (may be empty)")
    secrets_key: Annotated[
        str,
        StringConstraints(pattern=rf"^(aws|stack|{KMS_KEY})$"),
    ] = Field(description="aws (EKS's own key), stack (a KMS key of this stack) or the ARN of a KMS key")
    deletion_protection: Flag = Field(description="true or false")
    access: Mapping[KeyName, AccessEntry] = Field(
        description=f"a mapping of access entries by name (the deployer is admin without one), {NAME_RULE}"
    )
    addons: AddonVersions = Field(description="the version of each add-on")
    system_nodes: SystemNodeSettings = Field(description="the nodes that Karpenter does not manage")


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """Plain values decide what exists; the network comes whole, because its routes are needed and no id shows that."""

    settings: ClusterSettings
    cluster_name: str
    network: Network
    partition: Partition
    node_statements: Sequence[Statement]
    """Rights of the system nodes beyond AWS's own policies; may be empty."""
    tags: Mapping[str, str]


class Cluster(pulumi.ComponentResource):
    """An EKS cluster with access entries, add-ons and its system nodes.

    What depends on this component comes after nodes and add-ons, and is destroyed before them.
    """

    name: pulumi.Output[str]
    """Known when the control plane exists: what needs only that (associations) does not wait for nodes."""
    endpoint: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    """EKS's own group: the one that nodes and control plane share."""
    kubeconfig: pulumi.Output[str]
    """JSON text without credentials: it runs `aws eks get-token`."""

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:Cluster", name, None, opts)
        settings = args.settings
        # Fixed for life: EKS accepts later subnets only in the zones of the first ones, and another list would replace
        # the node group. GPU nodes may stand in every zone of the network.
        subnets = [args.network.private_subnet_ids[zone] for zone in settings.zones]

        control_plane = pulumi_eks.Cluster(
            name,
            name=args.cluster_name,
            version=settings.version,
            vpc_id=args.network.vpc_id,
            private_subnet_ids=subnets,
            kubernetes_service_ip_address_range=str(settings.service_cidr),
            endpoint_private_access=True,
            endpoint_public_access=bool(settings.public_access),
            public_access_cidrs=[str(cidr) for cidr in settings.public_access] or None,
            authentication_mode=pulumi_eks.AuthenticationMode.API,
            access_entries={key: _access_entry(entry, args.partition) for key, entry in settings.access.items()},
            enabled_cluster_log_types=list(settings.logs),
            encryption_config_key_arn=self._secrets_key(name, settings),
            deletion_protection=settings.deletion_protection,
            # standard support: an old minor is upgraded by AWS instead of costing six times as much per hour
            upgrade_policy={"support_type": "STANDARD"},
            # everything below is made here, in the order that works; the component's own set comes in one go
            skip_default_node_group=True,
            skip_default_security_groups=True,
            bootstrap_self_managed_addons=False,
            use_default_vpc_cni=True,
            coredns_addon_options={"enabled": False},
            kube_proxy_addon_options={"enabled": False},
            create_oidc_provider=False,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.network]),
        )
        eks_cluster = control_plane.eks_cluster
        self.name = eks_cluster.name
        self.endpoint = eks_cluster.endpoint
        self.security_group_id = eks_cluster.vpc_config.cluster_security_group_id
        self.kubeconfig = control_plane.kubeconfig_json

        agents = [
            addon(
                key,
                settings.addons,
                name=f"{name}-{AWS_NAMES[key]}",
                cluster_name=self.name,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[args.network]),
            )
            for key in BEFORE_NODES
        ]
        nodes = SystemNodes(
            f"{name}-system",
            SystemNodesArgs(
                settings=settings.system_nodes,
                cluster_name=self.name,
                kubernetes_version=settings.version,
                subnet_ids=subnets,
                partition=args.partition,
                statements=args.node_statements,
                tags={"Name": f"{args.cluster_name}-system", **args.tags},
                after=agents,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        for key in AFTER_NODES:
            addon(
                key,
                settings.addons,
                name=f"{name}-{AWS_NAMES[key]}",
                cluster_name=self.name,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[nodes]),
            )

        self.register_outputs({"name": self.name, "endpoint": self.endpoint, "kubeconfig": self.kubeconfig})

    def _secrets_key(self, name: str, settings: ClusterSettings) -> pulumi.Input[str] | None:
        if settings.secrets_key == "aws":
            return None
        if settings.secrets_key != "stack":
            return settings.secrets_key
        key = kms.Key(
            f"{name}-secrets",
            description="Kubernetes secrets of the cluster",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            # EKS never lets go of its first key: with another `secretsKey` this one would be deleted under the cluster
            opts=pulumi.ResourceOptions(parent=self, protect=settings.deletion_protection),
        )
        return key.arn


def _access_entry(entry: AccessEntry, partition: Partition) -> pulumi_eks.AccessEntryArgs:
    scope = eks.AccessPolicyAssociationAccessScopeArgs(
        type="namespace" if entry.namespaces else "cluster", namespaces=list(entry.namespaces) or None
    )
    policy = partition.arn("eks", f"cluster-access-policy/{ACCESS_POLICIES[entry.policy]}", account="aws")
    return pulumi_eks.AccessEntryArgs(
        principal_arn=entry.principal,
        # joined to the entry's name by the component: a key that varied could make two entries collide
        access_policies={"policy": pulumi_eks.AccessPolicyAssociationArgs(policy_arn=policy, access_scope=scope)},
    )
