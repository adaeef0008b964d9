"""What agents may do in the cluster: nothing, unless a server is woken from outside."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from pulumi_kubernetes.rbac.v1 import Role, RoleBinding

from infra.naming import server_labels
from serving.front.rights import policy, policy_binding, role, role_binding
from serving.namespace import ServingNamespace


@dataclass(frozen=True, kw_only=True)
class AgentRightsArgs:
    """Plain values decide what exists."""

    namespace: ServingNamespace
    namespace_name: str
    """As the stack file has it: expressions of the policy are texts."""
    accounts: Mapping[str, str]
    """Service account of each server that is woken from outside, by its name."""


class AgentRights(pulumi.ComponentResource):
    """A Role for each such server, and the one policy that narrows them all."""

    roles: pulumi.Output[list[str]]
    """Names of the Roles."""

    def __init__(self, name: str, args: AgentRightsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:AgentRights", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.namespace])
        narrowed: list[pulumi.Resource] = []
        if args.accounts:
            made = policy(args.namespace_name, list(args.accounts.values()))
            bound = policy_binding(args.namespace_name)
            first = ValidatingAdmissionPolicy(name, metadata=made["metadata"], spec=made["spec"], opts=child)
            narrowed = [
                ValidatingAdmissionPolicyBinding(
                    name,
                    metadata=bound["metadata"],
                    spec=bound["spec"],
                    opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[first])),
                )
            ]
        # a right comes after what narrows it, and goes before
        after = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=narrowed))
        for server, account in args.accounts.items():
            labels = server_labels(server)
            its = role(f"{server}-agent", args.namespace_name, labels)
            binding = role_binding(f"{server}-agent", args.namespace_name, labels, account)
            granted = Role(f"{server}-agent", metadata=its["metadata"], rules=its["rules"], opts=after)
            RoleBinding(
                f"{server}-agent",
                metadata=binding["metadata"],
                role_ref=binding["roleRef"],
                subjects=binding["subjects"],
                opts=pulumi.ResourceOptions.merge(after, pulumi.ResourceOptions(depends_on=[granted])),
            )
        self.roles = pulumi.Output.from_input([f"{server}-agent" for server in args.accounts])
        self.register_outputs({"roles": self.roles})
