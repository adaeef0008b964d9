"""The table beside the handlers of the CloudFormation types, which somebody else has written down."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import cfnlint
import pytest

from ops.rights.documents import deployer, preview
from ops.rights.state import State
from ops.rights.table import THEMES
from ops.rights.table.identity import ATTACHING
from ops.stack.stack_file import Stack, read
from rehearsal.providers.aws.change import table
from tests.harness import ROOT

ROWS = {token: row for rows in THEMES.values() for token, row in rows.items()}
HANDLERS = ("create", "read", "update", "delete", "list")

NOT_GRANTED = {
    "listing is how CloudFormation finds resources that it did not make": {
        *("events:ListRules", "ec2:DescribeVpcEncryptionControls", "iam:ListPolicies", "iam:ListRoles"),
        *("eks:ListAccessEntries", "eks:ListAddons", "eks:ListClusters", "eks:ListNodegroups"),
        *("kms:ListKeys", "s3:ListAllMyBuckets", "secretsmanager:ListSecrets", "sqs:ListQueues"),
    },
    "addresses are bound to NAT gateways alone, and never move between accounts": {
        *("ec2:AssociateAddress", "ec2:DisassociateAddress", "ec2:AcceptAddressTransfer"),
    },
    "a NAT gateway has one address for life": {
        *("ec2:AssociateNatGatewayAddress", "ec2:DisassociateNatGatewayAddress"),
        *("ec2:AssignPrivateNatGatewayAddress", "ec2:UnassignPrivateNatGatewayAddress"),
    },
    "no VPC with encryption control, none of another tenancy, no IPv6": {
        *("ec2:CreateVpcEncryptionControl", "ec2:ModifyVpcTenancy"),
        *("ec2:AssociateSubnetCidrBlock", "ec2:DisassociateSubnetCidrBlock"),
    },
    "rules are resources of their own, whose descriptions change with them": {
        *("ec2:UpdateSecurityGroupRuleDescriptionsIngress", "ec2:UpdateSecurityGroupRuleDescriptionsEgress"),
        "ec2:DescribeInstances",
    },
    "endpoints of services, not of VPC Lattice and not of other regions": {
        *("vpc-lattice:CreateServiceNetworkVpcEndpointAssociation", "vpce:AllowMultiRegion"),
        "vpc-lattice:DescribeServiceNetworkVpcEndpointAssociation",
    },
    "system nodes have no key to log in with": {"ec2:DescribeKeyPairs"},
    "Auto Mode makes instance profiles; Karpenter's controller makes its own": {
        *("iam:CreateInstanceProfile", "iam:TagInstanceProfile", "iam:AddRoleToInstanceProfile"),
        *("iam:GetInstanceProfile", "iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile"),
    },
    "for another certificate authority than EKS's": {"eks:ActivateCertificateAuthority"},
    "policies go to roles, not to users and groups; a role has no boundary": {
        *("iam:AttachGroupPolicy", "iam:AttachUserPolicy", "iam:DetachGroupPolicy", "iam:DetachUserPolicy"),
        *("iam:ListEntitiesForPolicy", "iam:PutRolePermissionsBoundary", "iam:DeleteRolePermissionsBoundary"),
    },
    "repositories have ECR's own key and no policy": {
        *("kms:RetireGrant", "ecr:SetRepositoryPolicy", "ecr:GetRepositoryPolicy", "ecr:DeleteRepositoryPolicy"),
    },
    "a key is never switched off": {"kms:DisableKey", "kms:EnableKey"},
    "a secret is given, not made, and lives in one region": {
        *("secretsmanager:GetRandomPassword", "secretsmanager:ReplicateSecretToRegions"),
        "secretsmanager:RemoveRegionsFromReplication",
    },
    "a bucket of this program has versions, a lifecycle, one key, an owner, a policy and no more": {
        *("s3:PutBucketAbac", "s3:GetBucketAbac", "s3:PutBucketAcl", "s3:PutObjectAcl", "s3:PutBucketCORS"),
        *("s3:PutAnalyticsConfiguration", "s3:GetAnalyticsConfiguration", "s3:DeleteBucketAnalyticsConfiguration"),
        *("s3:PutInventoryConfiguration", "s3:GetInventoryConfiguration", "s3:PutMetricsConfiguration"),
        *("s3:GetMetricsConfiguration", "s3:DeleteBucketMetricsConfiguration", "s3:DeleteBucketCors"),
        *("s3:PutBucketNotification", "s3:GetBucketNotification", "s3:PutBucketReplication"),
        *("s3:PutReplicationConfiguration", "s3:DeleteBucketReplication", "s3:PutBucketWebsite"),
        *("s3:DeleteBucketWebsite", "s3:PutAccelerateConfiguration", "s3:PutBucketLogging"),
        *("s3:PutBucketObjectLockConfiguration", "s3:PutObjectLockConfiguration"),
        *("s3:PutIntelligentTieringConfiguration", "s3:GetIntelligentTieringConfiguration"),
        *("s3:GetBucketMetadataTableConfiguration", "s3:CreateBucketMetadataTableConfiguration"),
        *("s3:DeleteBucketMetadataTableConfiguration", "s3:UpdateBucketMetadataJournalTableConfiguration"),
        *("s3:UpdateBucketMetadataInventoryTableConfiguration",),
        *("s3:UpdateBucketMetadataAnnotationTableConfiguration",),
        *("s3tables:CreateNamespace", "s3tables:CreateTable", "s3tables:CreateTableBucket", "s3tables:GetTable"),
        *("s3tables:PutTableBucketPolicy", "s3tables:PutTableEncryption", "s3tables:PutTablePolicy"),
        *("s3tables:GetTableMetadataLocation", "s3tables:UpdateTableMetadataLocation"),
    },
    "a full bucket stops a destroy; deployers write no objects by `up`": {"s3:DeleteObject"},
    "the handlers' names for what IAM calls otherwise, or sends by another right": {
        *("s3:DeleteBucketEncryption", "s3:DeleteBucketLifecycle"),
    },
}
"""Permissions of the handlers that the deployer has not, by reason."""


@cache
def schemas() -> dict[str, dict]:
    folder = Path(cfnlint.__file__).parent / "data/schemas/resources"
    return {it["typeName"]: it for it in (json.loads(path.read_text()) for path in folder.glob("*.json"))}


def asked(token: str) -> set[str]:
    """All permissions of a type's handlers; none where it has no CloudFormation type."""
    rule = table.RULES.get(token)
    handlers = schemas().get(rule.schema or "", {}).get("handlers", {}) if rule else {}
    return {action for name in HANDLERS for action in handlers.get(name, {}).get("permissions", ())}


@pytest.fixture
def prod(monkeypatch: pytest.MonkeyPatch) -> Stack:
    monkeypatch.chdir(ROOT)
    return read("prod")


def actions(documents) -> Iterator[str]:
    return (it for d in documents.values() for s in d["Statement"] for it in s["Action"])


NOTHING = State(backend=None, secrets_key=None)


@pytest.mark.parametrize("token", ROWS)
def test_every_permission_of_a_handler_is_granted_or_has_its_reason(token: str, prod: Stack) -> None:
    granted = set(actions(deployer(prod, NOTHING)))
    excused = {it for them in NOT_GRANTED.values() for it in them}
    assert asked(token) - granted - excused == set()


def test_no_reason_is_for_what_is_granted_or_what_nobody_asks_for(prod: Stack) -> None:
    granted, everything = set(actions(deployer(prod, NOTHING))), {it for token in ROWS for it in asked(token)}
    excused = [it for them in NOT_GRANTED.values() for it in them]
    assert len(excused) == len(set(excused))
    assert set(excused) & granted == set()
    assert set(excused) - everything == set()


def test_the_handlers_are_there() -> None:
    """A type that is called otherwise would ask for nothing."""
    without = {token for token in ROWS if not asked(token)}
    assert without == {
        *("aws:cloudwatch/eventTarget:EventTarget", "aws:ecr/lifecyclePolicy:LifecyclePolicy"),
        *("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", "aws:secretsmanager/secretVersion:SecretVersion"),
        *("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:sqs/queuePolicy:QueuePolicy"),
        *("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",),
        *("aws:s3/bucketOwnershipControls:BucketOwnershipControls", "aws:s3/bucketVersioning:BucketVersioning"),
        *("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",),
        *("aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",),
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    }


def test_every_action_of_the_table_is_in_the_deployers_documents(prod: Stack) -> None:
    granted = set(actions(deployer(prod, NOTHING)))
    named = {it for row in ROWS.values() for it in (*row.look, *row.make, *row.change)}
    assert named | set(ATTACHING) <= granted
    assert granted - named == {
        *ATTACHING,
        *("ec2:CreateTags", "ec2:DeleteTags", "ec2:RunInstances", "iam:PassRole", "iam:CreateServiceLinkedRole"),
    }


def test_a_preview_has_every_read_of_the_table_and_nothing_else(prod: Stack) -> None:
    assert set(actions(preview(prod, NOTHING))) == {it for row in ROWS.values() for it in row.look}
