"""A role for the client's pods: one file of one model, by Pod Identity."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_aws import eks, iam

from needs import Needs

TOKENIZER = "tokenizer.json"
"""In the model's folder, as Hugging Face's `tokenizers` writes it."""


def trust(cluster: str, namespace: str, service_account: str) -> Mapping[str, Any]:
    """Return who may take the role: pods of one service account of one cluster.

    Without `sts:TagSession` EKS cannot tag the session, and its denial does not say so.
    """
    tags = {
        "eks-cluster-name": cluster,
        "kubernetes-namespace": namespace,
        "kubernetes-service-account": service_account,
    }
    return _document(
        {
            "Sid": "PodsAssume",
            "Effect": "Allow",
            "Principal": {"Service": "pods.eks.amazonaws.com"},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
            "Condition": {"StringEquals": {f"aws:RequestTag/{tag}": value for tag, value in tags.items()}},
        }
    )


def rights(needs: Needs) -> Mapping[str, Any]:
    """Return what the role may do. It may not list, so that S3 says 403 and not 404 of a file that is not there."""
    read = {
        "Sid": "ReadTokenizer",
        "Effect": "Allow",
        "Action": "s3:GetObject",
        "Resource": f"{needs.bucket_arn}/{needs.model_prefix}{TOKENIZER}",
    }
    if needs.bucket_key is None:
        return _document(read)
    decrypt = {"Sid": "Decrypt", "Effect": "Allow", "Action": "kms:Decrypt", "Resource": needs.bucket_key}
    return _document(read, decrypt)


def _document(*statements: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


@dataclass(frozen=True, kw_only=True)
class ModelReaderArgs:
    """What the platform says, and whose pods."""

    needs: pulumi.Output[Needs]
    namespace: str
    service_account: str


class ModelReader(pulumi.ComponentResource):
    """Role, rights and association, in this order."""

    service_account: pulumi.Output[str]
    """The association's: EKS puts credentials into a pod when it is made, and never later, so pods that take the name
    from here come after it."""

    def __init__(self, name: str, args: ModelReaderArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("app-team:index:ModelReader", name, None, opts)
        role = iam.Role(
            name,
            description=f"Pods of {args.namespace}/{args.service_account}",
            assume_role_policy=args.needs.apply(
                lambda it: json.dumps(trust(it.cluster_name, args.namespace, args.service_account))
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        allowed = iam.RolePolicy(
            name,
            role=role.id,
            policy=args.needs.apply(lambda it: json.dumps(rights(it))),
            opts=pulumi.ResourceOptions(parent=self),
        )
        association = eks.PodIdentityAssociation(
            name,
            cluster_name=args.needs.apply(lambda it: it.cluster_name),
            namespace=args.namespace,
            service_account=args.service_account,
            role_arn=role.arn,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[allowed]),
        )
        self.service_account = association.service_account
        self.register_outputs({"serviceAccount": self.service_account})
