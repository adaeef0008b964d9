"""Identities: role, trust, rights and association agree with the pods that use them."""

from collections.abc import Iterator
from typing import Any

from pulumi_aws import eks, iam

from infra.naming import MOUNTPOINT_NAMESPACE, MOUNTPOINT_SERVICE_ACCOUNT, publisher_path
from infra.pod_identity import PodIdentity, PodIdentityArgs
from tests.harness import Recording, document, record, record_program, stack_settings

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
CRON_JOB = "kubernetes:batch/v1:CronJob"
ACCOUNT = "kubernetes:core/v1:ServiceAccount"

AUTONAME_SUFFIX = 8
"""What the engine appends to a logical name on AWS: a dash and seven hexadecimal digits."""

LIMITS = {"iam-role": 64, "launch-template": 128, "eks-node-group": 63, "service-account": 63}
"""Longest physical name, in characters (service API models)."""


def associations(recording: Recording) -> dict[str, dict[str, Any]]:
    return {r.name: r.inputs for r in recording.all(eks.PodIdentityAssociation)}


def test_IAM_01_trust_is_for_pods_of_one_service_account(recording: Recording) -> None:
    """Only AssumeRole, and the denial names neither the missing action nor the tags (terrapod PR#1500)."""
    found = associations(recording)
    ours = {"gemma-server", "gemma-publisher", "onboarding"}
    assert set(found) == ours | {"mountpoint-reader", "karpenter-controller"}
    for name, association in found.items():
        (statement,) = document(recording.one(iam.Role, name), "assumeRolePolicy")["Statement"]
        assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
        assert statement["Action"] == ["sts:AssumeRole", "sts:TagSession"]
        assert statement["Condition"] == {
            "StringEquals": {
                "aws:RequestTag/eks-cluster-name": association["clusterName"],
                "aws:RequestTag/kubernetes-namespace": association["namespace"],
                "aws:RequestTag/kubernetes-service-account": association["serviceAccount"],
            }
        }
        assert association["roleArn"].endswith(f":{name}")


def test_IAM_01_every_association_is_of_an_account_that_a_pod_uses(recording: Recording) -> None:
    specs = [
        *((r, r.inputs["spec"]) for r in recording.all(DEPLOYMENT)),
        *((r, r.inputs["spec"]["jobTemplate"]["spec"]) for r in recording.all(CRON_JOB)),
    ]
    used = {(r.inputs["metadata"]["namespace"], it["template"]["spec"]["serviceAccountName"]) for r, it in specs}
    accounts = {(r.inputs["metadata"]["namespace"], r.inputs["metadata"]["name"]) for r in recording.all(ACCOUNT)}
    addon = (MOUNTPOINT_NAMESPACE, MOUNTPOINT_SERVICE_ACCOUNT)
    release = recording.one("kubernetes:helm.sh/v3:Release", "karpenter").inputs
    controller = (release["namespace"], release["values"]["serviceAccount"]["name"])
    assert used == accounts
    found = {(a["namespace"], a["serviceAccount"]) for a in associations(recording).values()}
    bound = recording.maybe("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding")
    # these speak to the Kubernetes API and to nothing in AWS
    in_cluster = {(it["namespace"], it["name"]) for r in bound for it in r.inputs["subjects"]}
    assert found == used - in_cluster | {addon, controller}
    for account in recording.all(ACCOUNT):
        assert "eks.amazonaws.com/role-arn" not in (account.inputs["metadata"].get("annotations") or {})


def test_IAM_01_rights_then_association_then_pod(recording: Recording) -> None:
    """The webhook injects at admission and never later (amazon-eks-pod-identity-webhook#264)."""
    for association in recording.all(eks.PodIdentityAssociation):
        of_role = (*recording.all(iam.RolePolicy), *recording.all(iam.RolePolicyAttachment))
        rights = {r.urn for r in of_role if r.inputs["role"].startswith(f"{association.name}-")}
        assert rights
        assert rights <= recording.needs(association.urn)
    pod = recording.needs(recording.one(DEPLOYMENT).urn)
    first = ("gemma-server", "mountpoint-reader", "karpenter-controller")
    assert {recording.one(eks.PodIdentityAssociation, name).urn for name in first} <= pod
    assert {r.urn for r in recording.all(eks.Addon)} <= pod
    driver = recording.one(eks.Addon, "mountpoint-aws-mountpoint-s3-csi-driver")
    assert recording.one(eks.PodIdentityAssociation, "mountpoint-reader").urn in recording.needs(driver.urn)


def test_associations_wait_for_the_control_plane_only(recording: Recording) -> None:
    for association in recording.all(eks.PodIdentityAssociation):
        assert recording.one(eks.NodeGroup).urn not in recording.needs(association.urn)


def test_a_server_reads_its_model_and_the_caches_and_nothing_else(recording: Recording, stack: str) -> None:
    bucket = stack_settings(stack)["modelBucket"]["name"]
    prefix = "models/gemma-4-31b-it-nvfp4/r1/"
    assert document(recording.one(iam.RolePolicy, "gemma-server"), "policy")["Statement"] == [
        {
            "Sid": "List",
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": f"arn:aws:s3:::{bucket}",
            "Condition": {"StringLike": {"s3:prefix": [prefix, f"{prefix}*", "vllm-cache/", "vllm-cache/*"]}},
        },
        {
            "Sid": "Read",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": [f"arn:aws:s3:::{bucket}/{prefix}*", f"arn:aws:s3:::{bucket}/vllm-cache/*"],
        },
    ]


def test_mountpoint_reads_models_and_nothing_else(recording: Recording, stack: str) -> None:
    bucket = stack_settings(stack)["modelBucket"]["name"]
    read = document(recording.one(iam.RolePolicy, "mountpoint-reader"), "policy")["Statement"][1]
    assert read["Resource"] == [f"arn:aws:s3:::{bucket}/models/*"]


def actions(recording: Recording, *apart: str) -> Iterator[str]:
    for policy in recording.all(iam.RolePolicy):
        for statement in [] if policy.name in apart else document(policy, "policy")["Statement"]:
            yield from [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]


def test_no_identity_but_two_writes_and_none_holds_a_wildcard(recording: Recording) -> None:
    nodes = {"ecr:BatchImportUpstreamImage", "ecr:CreateRepository"}
    assert set(actions(recording, "gemma-publisher", "onboarding")) == {"s3:ListBucket", "s3:GetObject"} | nodes
    assert not [action for action in actions(recording) if "*" in action]


def test_a_role_lies_below_the_path_by_which_a_buckets_policy_knows_it() -> None:
    def identity(**path: str) -> str:
        args = PodIdentityArgs(cluster_name="c", namespace="n", service_account="s", **path)
        return record(lambda: PodIdentity("one", args)).one(iam.Role).inputs["path"]

    assert identity(path=publisher_path("c")) == "/vllm-eks/c/publisher/"
    assert identity() == "/"


def test_PUL_10_no_name_outgrows_its_limit_with_the_longest_cluster_and_server_names() -> None:
    raw = stack_settings("dev")
    raw["name"] = "c" * 100
    raw["servers"] = {name * 30: raw["servers"]["gemma"] for name in "ab"}
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 2
    recorded = record_program(raw)
    for kind, limit in (
        ("aws:iam/role:Role", "iam-role"),
        ("aws:ec2/launchTemplate:LaunchTemplate", "launch-template"),
    ):
        for role in recorded.all(kind):
            assert "name" not in role.inputs  # auto-named by the engine: the logical name and a random suffix
            assert len(role.name) + AUTONAME_SUFFIX <= LIMITS[limit]
    for group in recorded.all(eks.NodeGroup):
        assert len(group.name) + AUTONAME_SUFFIX <= LIMITS["eks-node-group"]
    for account in recorded.all(ACCOUNT):
        assert len(account.inputs["metadata"]["name"]) <= LIMITS["service-account"]
    names = [(r.kind, r.name, r.parent) for r in recorded.registered]
    assert len(names) == len(set(names))
