"""Role, trust and association as one unit, for one service account.

Pods take the namespace and the service account from here, so that no letter can differ, and so that they start after
the association: the webhook injects credentials at admission and never later (amazon-eks-pod-identity-webhook#264).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_aws import eks, iam

from infra.iam import Statement, document, pod_identity_trust


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """Who may do what."""

    cluster_name: pulumi.Input[str]
    """An output of the cluster: the association is made as soon as the control plane exists."""
    namespace: str
    service_account: str
    statements: Sequence[Statement] = ()
    """One inline policy."""
    policies: Mapping[str, Sequence[Statement]] = field(default_factory=dict)
    """Managed policies by name, for rights that are too many for one: each may have 6,144 characters."""
    path: str = "/"
    """IAM path of the role, by which policies of others can name it before it exists."""


class PodIdentity(pulumi.ComponentResource):
    """AWS identity of the pods that run as one service account."""

    namespace: pulumi.Output[str]
    """Of the association: known when the identity can be used."""
    service_account: pulumi.Output[str]
    role_arn: pulumi.Output[str]

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:PodIdentity", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)

        role = iam.Role(
            name,
            path=args.path,
            description=f"Pods of {args.namespace}/{args.service_account}",
            assume_role_policy=document(pod_identity_trust(args.cluster_name, args.namespace, args.service_account)),
            opts=child,
        )
        rights: list[pulumi.Resource] = []
        if args.statements:
            rights.append(iam.RolePolicy(name, role=role.id, policy=document(*args.statements), opts=child))
        for key, statements in args.policies.items():
            policy = iam.Policy(
                f"{name}-{key}",
                description=f"{key} of {args.namespace}/{args.service_account}",
                policy=document(*statements),
                opts=child,
            )
            rights.append(iam.RolePolicyAttachment(f"{name}-{key}", role=role.name, policy_arn=policy.arn, opts=child))
        association = eks.PodIdentityAssociation(
            name,
            cluster_name=args.cluster_name,
            namespace=args.namespace,
            service_account=args.service_account,
            role_arn=role.arn,
            # a pod that gets the role before its rights fails its first read and may never ask again
            opts=pulumi.ResourceOptions(parent=self, depends_on=rights),
        )

        # the association's, not the arguments: credentials are injected at admission, so a pod that takes its namespace
        # from here comes after it
        self.namespace, self.service_account = association.namespace, association.service_account
        self.role_arn = role.arn
        self.register_outputs({"namespace": self.namespace, "serviceAccount": self.service_account})
