"""The nodes that Karpenter does not manage: its own controller, CoreDNS and metrics-server run here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import pulumi
from pulumi_aws import eks
from pulumi_aws.ec2 import LaunchTemplate
from pydantic import AfterValidator, Field, StringConstraints

from infra.iam import Statement
from infra.naming import Partition
from infra.node_role import node_role
from infra.section import EachOnce, Section, Whole

SYSTEM_LABEL = "vllm-eks/system"

OTHER_PROCESSORS = re.compile(r"^(a1|[a-z]+[0-9]+g[a-z]*|g[0-9]|gr[0-9]|p[0-9]|inf|trn|dl|vt|f[0-9]|mac)")
"""Families with Arm hosts (a `g` behind the generation) or accelerators: not for the x86_64 image, not for this job."""


def _instance(value: str) -> str:
    if OTHER_PROCESSORS.match(value):
        raise ValueError(f"{value} is no x86_64 type without accelerators")
    return value


InstanceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$"), AfterValidator(_instance)]


class SystemNodeSettings(Section):
    """`cluster.systemNodes`."""

    instance_types: Annotated[tuple[InstanceName, ...], Field(min_length=1), EachOnce] = Field(
        description="a list of x86_64 EC2 instance types without GPU, for example [m7i.large]"
    )
    count: Annotated[Whole, Field(ge=2, le=20)] = Field(
        description="a whole number of nodes, 2 to 20 (Karpenter's two replicas need two nodes in two zones)"
    )
    disk_gib: Annotated[Whole, Field(ge=20, le=1000)] = Field(description="a whole number of GiB, 20 to 1000")


@dataclass(frozen=True, kw_only=True)
class SystemNodesArgs:
    """What the node group is made of."""

    settings: SystemNodeSettings
    cluster_name: pulumi.Input[str]
    kubernetes_version: str
    """Nodes follow the control plane: without it they would stay behind at its upgrade."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """One per zone, two zones. A change of this list replaces the node group."""
    partition: Partition
    statements: Sequence[Statement]
    """Rights of the node role beyond AWS's own policies; may be empty."""
    tags: Mapping[str, str]
    """Of instances and disks. A change is a new template version: nodes are replaced one by one."""
    after: Sequence[pulumi.Resource]
    """What a node needs to become Ready: CNI, kube-proxy, Pod Identity agent, and what those waited for."""


class SystemNodes(pulumi.ComponentResource):
    """A managed node group in two zones. EKS makes the access entry of its role itself."""

    node_group_name: pulumi.Output[str]
    role_arn: pulumi.Output[str]

    def __init__(self, name: str, args: SystemNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:SystemNodes", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)

        role, rights = node_role(
            name,
            description="Nodes of the system node group",
            partition=args.partition,
            statements=args.statements,
            opts=child,
        )
        template = LaunchTemplate(
            name,
            # one hop: pods without host network cannot take the node's role from IMDS
            metadata_options={"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1},
            block_device_mappings=[
                {
                    "device_name": "/dev/xvda",
                    "ebs": {
                        "volume_size": args.settings.disk_gib,
                        "volume_type": "gp3",
                        "encrypted": "true",
                        "delete_on_termination": "true",
                    },
                }
            ],
            # the provider's default tags end at the template: EC2 tags instances and disks from here
            tag_specifications=[{"resource_type": kind, "tags": args.tags} for kind in ("instance", "volume")],
            opts=child,
        )
        group = eks.NodeGroup(
            name,
            cluster_name=args.cluster_name,
            version=args.kubernetes_version,
            node_role_arn=role.arn,
            subnet_ids=list(args.subnet_ids),
            ami_type="AL2023_x86_64_STANDARD",
            instance_types=list(args.settings.instance_types),
            launch_template={
                "id": template.id,
                "version": template.latest_version.apply(str),
            },
            labels={SYSTEM_LABEL: "true"},
            scaling_config={
                "min_size": args.settings.count,
                "desired_size": args.settings.count,
                "max_size": args.settings.count,
            },
            update_config={"max_unavailable": 1},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*rights, *args.after]),
        )

        self.node_group_name = group.node_group_name
        self.role_arn = role.arn
        self.register_outputs({"nodeGroupName": self.node_group_name, "roleArn": self.role_arn})
