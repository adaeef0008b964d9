"""Who the controller and its nodes are: roles, rights and associations as they are registered."""

import re
from functools import cache
from typing import Any

import pytest
from pulumi_aws import cloudwatch, eks, iam, sqs

from infra.karpenter.identity import KarpenterIdentity, KarpenterIdentityArgs
from infra.karpenter.policies import controller_policies
from infra.naming import KARPENTER_NAMESPACE, KARPENTER_SERVICE_ACCOUNT
from infra.node_role import NODE_POLICIES
from tests.harness import Recording, document, record
from tests.infra.karpenter import scene
from tests.infra.karpenter.scene import ACCOUNT, CLUSTER, LONGEST, REGION, REGIONS, RELEASES, controller, scope
from tests.mocks import Cloud, RecordingMonitor

AUTONAME_SUFFIX = 8
"""What the engine appends to a logical name on AWS: a dash and seven hexadecimal digits."""

LIMITS = {iam.Role: 64, iam.Policy: 128, cloudwatch.EventRule: 64}
"""Longest physical name, in characters (service API models)."""

POLICIES = {f"karpenter-controller-{name}" for name in controller(scope(), RELEASES[-1])}


@cache
def recorded(
    region: str = REGION, cluster: str = CLUSTER, release: str = RELEASES[-1], *, caching: bool = True
) -> Recording:
    of = scope(region, cluster)
    args = KarpenterIdentityArgs(
        scope=of, release=release, cluster_name=cluster, node_statements=scene.node(of) if caching else ()
    )
    return record(lambda: KarpenterIdentity("karpenter", args), region=region, account=ACCOUNT)


def test_IAM_01_the_controllers_role_is_for_pods_of_its_service_account() -> None:
    """Without TagSession the denial names neither the action nor the tags (terrapod PR#1500)."""
    association = recorded().one(eks.PodIdentityAssociation).inputs
    (trust,) = document(recorded().one(iam.Role, "karpenter-controller"), "assumeRolePolicy")["Statement"]
    assert (association["namespace"], association["serviceAccount"]) == ("kube-system", "karpenter")
    assert (KARPENTER_NAMESPACE, KARPENTER_SERVICE_ACCOUNT) == ("kube-system", "karpenter")
    assert association["clusterName"] == CLUSTER
    assert association["roleArn"].endswith(":karpenter-controller")
    assert trust == {
        "Sid": "PodsAssume",
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Condition": {
            "StringEquals": {
                "aws:RequestTag/eks-cluster-name": CLUSTER,
                "aws:RequestTag/kubernetes-namespace": "kube-system",
                "aws:RequestTag/kubernetes-service-account": "karpenter",
            }
        },
    }


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("region", REGIONS)
def test_IAM_05_the_policies_are_registered_as_they_are_tested(region: str, release: str) -> None:
    """The other tests look at functions of plain values: here the roles, ARNs and names of the registrations go in."""
    recording = recorded(region, release=release)
    expected = controller_policies(
        scope(region),
        release=release,
        node_role_arn=recording.one(eks.AccessEntry).inputs["principalArn"],
        queue_arn=scene.queue_arn(scope(region)),
    )
    assert {policy.name for policy in recording.all(iam.Policy)} == POLICIES
    for name, statements in expected.items():
        registered = document(recording.one(iam.Policy, f"karpenter-controller-{name}"), "policy")
        assert registered == scene.document(statements)


def role_name(role: str) -> str:
    """The physical name that the mocks give, as the engine does."""
    return f"{recorded().one(iam.Role, role).name}-1a2b3c4"


def test_every_policy_is_attached_to_the_controllers_role_and_to_no_other() -> None:
    attached = {
        a.name: a.inputs["policyArn"]
        for a in recorded().all(iam.RolePolicyAttachment)
        if a.inputs["role"] == role_name("karpenter-controller")
    }
    assert {arn.rpartition(":")[2] for arn in attached.values()} == set(attached) == POLICIES


def test_IAM_01_the_association_comes_after_every_right() -> None:
    """Pods start after it, and one that starts without a right fails its first read and may never ask again."""
    association = recorded().one(eks.PodIdentityAssociation)
    attachments = {a.urn for a in recorded().all(iam.RolePolicyAttachment) if a.name in POLICIES}
    assert len(attachments) == len(POLICIES)
    assert attachments <= association.dependencies


def test_EKS_01_one_entry_lets_karpenters_nodes_into_the_cluster() -> None:
    """Without it, or with one of the standard type, instances start and never become nodes (ai-on-eks#111)."""
    entry = recorded().one(eks.AccessEntry)
    name = role_name("karpenter-nodes")
    assert entry.inputs == {
        "clusterName": CLUSTER,
        "principalArn": f"arn:aws:iam::{ACCOUNT}:role/{name}",
        "type": "EC2_LINUX",
    }
    assert recorded().one(iam.Role, "karpenter-nodes").urn in recorded().needs(entry.urn)


def test_EKS_01_the_nodes_have_their_rights_before_they_may_join() -> None:
    entry = recorded().one(eks.AccessEntry)
    role = role_name("karpenter-nodes")
    attachments = [a for a in recorded().all(iam.RolePolicyAttachment) if a.inputs["role"] == role]
    assert {a.inputs["policyArn"] for a in attachments} == {f"arn:aws:iam::aws:policy/{name}" for name in NODE_POLICIES}
    caching = recorded().one(iam.RolePolicy, "karpenter-nodes")
    assert document(caching, "policy") == scene.document(scene.node(scope()))
    assert {caching.urn, *(a.urn for a in attachments)} <= entry.dependencies


def test_nodes_without_an_image_cache_have_no_policy_of_their_own() -> None:
    """IAM refuses a policy without statements."""
    assert recorded(caching=False).maybe(iam.RolePolicy) == []


def test_EKS_01_a_node_role_that_is_made_again_gets_its_entry_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """EKS binds an entry to the role's id: a role of the same name is somebody else, and its nodes never join."""
    entries = []
    register, made = RecordingMonitor.RegisterResource, Cloud.new_resource

    def noted(self: RecordingMonitor, request: Any) -> Any:
        entries.extend([request] if request.type == "aws:eks/accessEntry:AccessEntry" else [])
        return register(self, request)

    def identified(self: Cloud, args: Any) -> tuple[str, dict[str, Any]]:
        key, state = made(self, args)
        return key, {**state, "uniqueId": f"AROA-{args.name}"}

    monkeypatch.setattr(RecordingMonitor, "RegisterResource", noted)
    monkeypatch.setattr(Cloud, "new_resource", identified)
    recorded.__wrapped__()
    (entry,) = entries
    assert entry.replacement_trigger.string_value == "AROA-karpenter-nodes"
    assert entry.deleteBeforeReplace


@pytest.mark.parametrize(("region", "principal"), list(zip(REGIONS, ("com", "com.cn", "com"), strict=True)))
def test_IAM_05_roles_are_of_the_partition(region: str, principal: str) -> None:
    """EC2's service principal follows the partition, EKS's does not."""
    recording = recorded(region)
    (trust,) = document(recording.one(iam.Role, "karpenter-nodes"), "assumeRolePolicy")["Statement"]
    assert trust["Principal"] == {"Service": f"ec2.amazonaws.{principal}"}
    (pods,) = document(recording.one(iam.Role, "karpenter-controller"), "assumeRolePolicy")["Statement"]
    assert pods["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    found = {arn for _, text in recording.strings() for arn in re.findall(r"arn:([^:]+):(?!mock:)", text)}
    assert found == {scope(region).place.partition.name}


def test_KRP_07_the_controller_passes_the_nodes_role_and_reads_the_clusters_queue() -> None:
    """PassRole of another role fails each launch (karpenter-provider-aws#5444)."""
    statements = {
        statement["Sid"]: statement
        for policy in recorded().all(iam.Policy)
        for statement in document(policy, "policy")["Statement"]
    }
    entry = recorded().one(eks.AccessEntry)
    assert statements["AllowPassingInstanceRole"]["Resource"] == [entry.inputs["principalArn"]]
    name = recorded().one(sqs.Queue).inputs["name"]
    assert statements["AllowInterruptionQueueActions"]["Resource"] == [f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"]


def test_KRP_07_a_node_class_is_given_names_and_not_arns() -> None:
    (component,) = [
        outputs for urn, outputs in recorded().completed.items() if urn.endswith("KarpenterIdentity::karpenter")
    ]
    assert component == {
        "nodeRoleName": role_name("karpenter-nodes"),
        "queueName": recorded().one(sqs.Queue).inputs["name"],
    }


def test_nothing_waits_for_nodes() -> None:
    """Pods of the system nodes need the association: what waits for nodes comes too late for them."""
    kinds = {r.kind.split(":")[0] for r in recorded().registered}
    assert kinds == {"aws", "vllm-eks"}
    assert recorded().maybe(eks.NodeGroup) == []


def test_PUL_10_no_name_outgrows_its_limit_with_the_longest_cluster_name() -> None:
    recording = recorded(cluster=LONGEST)
    for kind, limit in LIMITS.items():
        for registration in recording.all(kind):
            assert "name" not in registration.inputs  # the engine's: the logical name and a random suffix
            assert len(registration.name) + AUTONAME_SUFFIX <= limit


def test_PUL_10_descriptions_are_taken() -> None:
    """EventBridge takes 512 characters, IAM 1,000 and none but printable ones."""
    recording = recorded(cluster=LONGEST)
    for kind, limit in ((iam.Role, 1000), (iam.Policy, 1000), (cloudwatch.EventRule, 512)):
        for registration in recording.all(kind):
            description = registration.inputs["description"]
            assert 0 < len(description) <= limit
            assert re.fullmatch(r"[\t\n\r\x20-\x7e\xa1-\xff]*", description)
