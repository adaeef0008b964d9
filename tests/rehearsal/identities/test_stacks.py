"""Every stack file after an `up`: sizes, names, and who can write what another identity executes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rehearsal.identities.extract import Identities, extract
from rehearsal.identities.reach import blind, reach
from rehearsal.identities.sizes import too_big
from rehearsal.identities.workloads import workloads
from tests.rehearsal.identities.conftest import CHINA, EVERY, KEY, LONG, RICH, Resources

State = Callable[[str], Resources]

AWS_POLICIES = {
    "cluster-eksRole-role": ("AmazonEKSClusterPolicy",),
    **dict.fromkeys(
        ("cluster-system", "karpenter-nodes"),
        (
            *("AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy"),
            *("AmazonEKS_CNI_Policy", "AmazonSSMManagedInstanceCore"),
        ),
    ),
}
"""Content of AWS's policies is not here: a role has these, by name, and no other role has any."""

NODES = ("cluster-system", "karpenter-nodes")
PODS_ON_NODES = "AWS: AmazonEKSWorkerNodePolicy"
LIMITS = {
    "aws:iam/role:Role": 64,
    "aws:iam/policy:Policy": 128,
    "aws:iam/rolePolicy:RolePolicy": 128,
    "aws:cloudwatch/eventRule:EventRule": 64,
    "aws:sqs/queue:Queue": 80,
    "aws:ec2/launchTemplate:LaunchTemplate": 128,
    "aws:ec2/securityGroup:SecurityGroup": 255,
    "aws:eks/nodeGroup:NodeGroup": 63,
    "aws:eks/cluster:Cluster": 100,
    "aws:secretsmanager/secret:Secret": 512,
}
"""Characters of the name, its random end among them (service API models)."""


@pytest.fixture(params=EVERY)
def every(request: pytest.FixtureRequest) -> str:
    return request.param


def servers(identities: Identities) -> list[str]:
    return [name.removesuffix("-server") for name in identities.roles if name.endswith("-server")]


def expected(stack: str, identities: Identities, raw: dict[str, str]) -> Iterator[str]:
    """The whole list, with its reasons."""
    bucket, partition = raw["bucket"], raw["partition"]
    published, models = f"{bucket}/vllm-cache/", f"{bucket}/models/"
    account = f"arn:{partition}:iam::000000000000:role"
    ours = servers(identities)
    pods = sorted(it.role for it in identities.associations)
    by_bucket = {published: "models-policy: CachesByPublishers", models: "models-policy: ModelsByOnboarding"}
    read_models = [*(f"{it}-{what}" for it in ours for what in ("server", "publisher")), "mountpoint-reader"]
    for it in ours:
        # what a cache is for: any server may restore what a build has published
        yield from (f"{it}-publisher -> {published} -> {to}-server ({it}-publisher: Publish)" for to in ours)
    # what onboarding is for: builds and servers load its models, Mountpoint hands them on
    yield from (f"onboarding -> {models} -> {to} (onboarding: Onboard)" for to in read_models)
    # Karpenter starts nodes, with this role and no other
    of = "karpenter-controller-iam-integration: AllowPassingInstanceRole"
    yield f"karpenter-controller -> pass -> karpenter-nodes ({of})"
    # a node holds the tokens of its pods: whoever owns a node has the identity of every pod on it
    yield from (f"{node} -> pods on its nodes -> {to} ({PODS_ON_NODES})" for node in NODES for to in pods)
    # administrators of the cluster, by the stack file
    yield from (f"{account}/platform-team -> pods -> {to} (access entry: AmazonEKSClusterAdminPolicy)" for to in pods)
    # whom the bucket's policy lets in from outside: the deployer, to repair, and the writers of the stack file
    outside = {"vllm-eks-deployer": (published, models)} | ({"quantizer": (models,)} if stack == RICH else {})
    for who, may in outside.items():
        for what in may:
            # onboarding checks what it has written; a build looks for its own manifests
            reads = [*read_models, "onboarding"] if what == models else [it for it in read_models if it[:5] != "mount"]
            yield from (f"{account}/{who} -> {what} -> {to} ({by_bucket[what]})" for to in reads)
    if stack == RICH:
        # an agent that an external clock wakes patches its own pod's label; the API server refuses everything else
        stopped = f"Role {LONG}-agent; stopped by ValidatingAdmissionPolicy vllm-eks-agent"
        namespaces = {it.role: it.namespace for it in identities.associations}
        for to in pods:
            if namespaces[to] == "inference" and to != f"{LONG}-server":
                yield f"{LONG}-server -> pods -> {to} ({stopped})"


def facts(stack: str, resources: Resources) -> dict[str, str]:
    (bucket,) = [it["inputs"]["bucket"] for it in resources if it["type"] == "aws:s3/bucket:Bucket"]
    return {"bucket": bucket, "partition": "aws-cn" if stack == CHINA else "aws"}


def test_who_can_write_what_another_identity_executes(every: str, resources: State) -> None:
    identities = extract(resources(every))
    found = [str(it) for it in reach(identities, resources(every))]
    assert sorted(found) == sorted(expected(every, identities, facts(every, resources(every))))
    assert blind(identities) == []


def test_nothing_that_a_server_writes_is_executed_by_another_identity(every: str, resources: State) -> None:
    found = reach(extract(resources(every)), resources(every))
    assert [str(it) for it in found if it.writer.endswith("-server") and not it.stopped_by] == []


def test_no_document_is_too_big(every: str, resources: State) -> None:
    assert too_big(extract(resources(every))) == []


def test_a_role_has_the_policies_of_aws_that_are_known_for_it(every: str, resources: State) -> None:
    found = extract(resources(every)).roles
    assert {name: it.aws for name, it in found.items() if it.aws} == AWS_POLICIES


def test_PUL_10_every_name_has_room_for_its_random_end_and_stays_apart(every: str, resources: State) -> None:
    """The longest cluster and server names among them."""
    seen = set()
    for it in resources(every):
        if it["type"] in LIMITS:
            name = it["outputs"].get("nodeGroupName") or it["outputs"]["name"]
            assert len(name) <= LIMITS[it["type"]], it["urn"]
            assert (it["type"], it["outputs"].get("role"), name) not in seen
            seen.add((it["type"], it["outputs"].get("role"), name))
            seen.add(it["type"])
    assert {it for it in LIMITS if it not in seen} <= {
        *("aws:secretsmanager/secret:Secret", "aws:ec2/securityGroup:SecurityGroup")
    }


def test_PUL_10_the_queue_that_karpenter_is_given_is_the_queue(every: str, resources: State) -> None:
    (queue,) = [it["outputs"]["name"] for it in resources(every) if it["type"] == "aws:sqs/queue:Queue"]
    releases = [it["inputs"] for it in resources(every) if it["type"] == "kubernetes:helm.sh/v3:Release"]
    (given,) = [it["values"]["settings"] for it in releases if it["name"] == "karpenter"]
    (cluster,) = [it["outputs"]["name"] for it in resources(every) if it["type"] == "aws:eks/cluster:Cluster"]
    assert (given["interruptionQueue"], given["clusterName"]) == (queue, cluster)
    right = extract(resources(every)).roles["karpenter-controller"].managed
    (statement,) = next(it.statements for it in right if it.name.endswith("-interruption"))
    assert [it.rpartition(":")[2] for it in statement.resources] == [queue]


def test_IAM_01_trust_is_for_the_pods_of_one_account_and_pods_have_it(every: str, resources: State) -> None:
    """Principal, both actions, the session's own tags, no ARN of an association; every account is one that pods use."""
    identities = extract(resources(every))
    used = {it.account for it in workloads(resources(every))}
    of_addons = {("kube-system", "s3-csi-driver-sa")}
    assert len(identities.associations) == 3 + 2 * len(servers(identities))
    for it in identities.associations:
        (statement,) = identities.roles[it.role].trust.statements
        assert statement.principals == {"Service": ("pods.eks.amazonaws.com",)}
        assert statement.actions == ("sts:AssumeRole", "sts:TagSession")
        assert statement.conditions == {
            "StringEquals": {
                "aws:RequestTag/eks-cluster-name": (it.cluster,),
                "aws:RequestTag/kubernetes-namespace": (it.namespace,),
                "aws:RequestTag/kubernetes-service-account": (it.service_account,),
            }
        }
        assert (it.namespace, it.service_account) in used | of_addons
    addons = {it["inputs"]["addonName"] for it in resources(every) if it["type"] == "aws:eks/addon:Addon"}
    assert {"eks-pod-identity-agent", "aws-mountpoint-s3-csi-driver"} <= addons
    accounts = [it["inputs"] for it in resources(every) if it["type"] == "kubernetes:core/v1:ServiceAccount"]
    assert accounts
    assert "eks.amazonaws.com/role-arn" not in json.dumps(accounts)


def keys_of(identities: Identities) -> dict[str, set[tuple[str, tuple[str, ...]]]]:
    """Rights to keys, by role: action and resources."""
    return {
        name: {
            (action, it.resources)
            for d in role.documents
            for it in d.statements
            for action in it.actions
            if "kms:" in action
        }
        for name, role in identities.roles.items()
    }


def test_IAM_03_only_with_a_customer_key_and_only_to_it_there_are_rights(every: str, resources: State) -> None:
    found = {name: rights for name, rights in keys_of(extract(resources(every))).items() if rights}
    if every != RICH:
        assert found == {}
        return
    decrypt, encrypt = ("kms:Decrypt", (KEY,)), ("kms:GenerateDataKey", (KEY,))
    names = ("gemma", LONG)
    assert found == {
        **{f"{it}-server": {decrypt} for it in names},
        **{f"{it}-publisher": {decrypt, encrypt} for it in names},
        "mountpoint-reader": {decrypt},
        "onboarding": {decrypt, encrypt},
    }


def test_IAM_05_no_input_of_a_stack_in_china_names_another_partition(resources: State) -> None:
    text = json.dumps([it.get("inputs") for it in resources(CHINA)])
    assert text.count("arn:aws-cn:") > 50
    assert "arn:aws:" not in text
    trusted = {
        p for r in extract(resources(CHINA)).roles.values() for s in r.trust.statements for p in s.principals["Service"]
    }
    assert trusted == {"ec2.amazonaws.com.cn", "eks.amazonaws.com", "pods.eks.amazonaws.com"}


def test_EKS_01_each_node_role_has_one_way_in_and_the_rights_of_a_node(every: str, resources: State) -> None:
    """EKS makes the entry of a managed node group; Karpenter's nodes have one of type EC2_LINUX; no ConfigMap."""
    identities = extract(resources(every))
    nodes = {it.arn: name for name, it in identities.roles.items() if name in NODES}
    (group,) = [it["inputs"]["nodeRoleArn"] for it in resources(every) if it["type"] == "aws:eks/nodeGroup:NodeGroup"]
    entries: list[Any] = [it for it in identities.entries if it.principal in nodes]
    assert [(nodes[it.principal], it.kind, it.groups) for it in entries] == [("karpenter-nodes", "EC2_LINUX", ())]
    assert nodes[group] == "cluster-system"
    assert [it.principal for it in identities.entries if any(group.startswith("system:") for group in it.groups)] == []
    (cluster,) = [it["inputs"] for it in resources(every) if it["type"] == "aws:eks/cluster:Cluster"]
    assert cluster["accessConfig"]["authenticationMode"] == "API"
    assert "aws-auth" not in json.dumps([it.get("inputs") for it in resources(every)])
