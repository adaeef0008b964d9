"""Node supply as a whole: what must stand before what, and what must be the same on both sides."""

from typing import Any

import pytest
from pulumi_aws import cloudwatch, ec2, eks, iam, sqs

from infra.gpu_pools import GPU_RESOURCE
from infra.gpu_pools.device_plugin import IMAGE as DEVICE_PLUGIN
from infra.image_cache.rewrite import image_cache_facts, rewritten
from infra.image_cache.settings import ImageCacheSettings
from infra.naming import Place, partition_of
from tests.harness import REGION, Recording, document, record_program, stack_settings
from tests.images import images, pulled_at_boot
from tests.recording import Registration

RELEASE = "kubernetes:helm.sh/v3:Release"
NODE_POOL, NODE_CLASS = "kubernetes:karpenter.sh/v1:NodePool", "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


def of_karpenter(recording: Recording) -> list[Registration]:
    """Everything in AWS without which the controller cannot end a node, or a node cannot leave."""
    return [r for r in recording.registered if "KarpenterIdentity$" in r.urn and not r.kind.startswith("vllm-eks:")]


def way_out(recording: Recording) -> list[Registration]:
    kinds = (ec2.Route, ec2.NatGateway, ec2.VpcEndpoint, ec2.InternetGateway, ec2.RouteTableAssociation)
    return [r for kind in kinds for r in recording.all(kind)]


@pytest.mark.parametrize("kind", [NODE_POOL, NODE_CLASS])
def test_pools_come_after_all_that_their_end_needs(recording: Recording, kind: str) -> None:
    """The engine destroys in reverse: nodes are drained and ended by a controller that still works (aws.md 8.4)."""
    needed_kinds = {r.kind.rpartition(":")[2] for r in of_karpenter(recording)}
    assert needed_kinds == {
        *("Role", "RolePolicy", "RolePolicyAttachment", "Policy", "PodIdentityAssociation", "AccessEntry"),
        *("Queue", "QueuePolicy", "EventRule", "EventTarget"),
    }
    for pool in recording.all(kind):
        needed = recording.needs(pool.urn)
        assert {r.urn for r in of_karpenter(recording)} <= needed
        assert {r.urn for r in way_out(recording)} <= needed
        assert {r.urn for r in recording.all(RELEASE)} <= needed
        cluster = {r.urn for r in (*recording.all(eks.NodeGroup), *recording.all(eks.Addon))}
        assert {urn for urn in cluster if "Cluster" in urn} <= needed


def test_PUL_12_every_custom_resource_comes_after_the_chart_that_defines_it(recording: Recording) -> None:
    definitions = recording.one(RELEASE, "karpenter-crd")
    custom = [r for r in recording.registered if r.kind.startswith("kubernetes:karpenter.")]
    assert {r.kind for r in custom} == {NODE_POOL, NODE_CLASS}
    assert [r.label for r in custom if definitions.urn not in recording.needs(r.urn)] == []
    assert definitions.urn in recording.needs(recording.one(RELEASE, "karpenter").urn)


def test_the_controller_starts_with_rights_queue_and_nodes_of_its_own(recording: Recording) -> None:
    """Credentials are injected at admission: a pod that came before its association has none, for ever."""
    needed = recording.needs(recording.one(RELEASE, "karpenter").urn)
    assert {r.urn for r in of_karpenter(recording)} <= needed
    assert recording.one(eks.NodeGroup).urn in needed
    assert recording.one(eks.Addon, "cluster-coredns").urn in needed


def test_karpenters_identity_waits_for_no_node(recording: Recording) -> None:
    nodes = recording.one(eks.NodeGroup).urn
    assert [r.label for r in of_karpenter(recording) if nodes in recording.needs(r.urn)] == []


def test_a_pod_on_a_gpu_comes_after_its_pool(recording: Recording) -> None:
    pools = {r.urn for r in recording.all(NODE_POOL)}
    for deployment in recording.all(DEPLOYMENT):
        assert pools <= recording.needs(deployment.urn)


def test_a_node_finds_its_device_plugin(recording: Recording) -> None:
    plugin = recording.one(RELEASE, "device-plugin").urn
    assert all(plugin in recording.needs(pool.urn) for pool in recording.all(NODE_POOL))


def test_nodes_pull_by_rules_that_stand(recording: Recording) -> None:
    rules = {r.urn for r in recording.all("aws:ecr/pullThroughCacheRule:PullThroughCacheRule")}
    in_the_cluster = [r for r in recording.registered if r.kind.startswith("kubernetes:")]
    assert [r.label for r in in_the_cluster if not rules <= recording.needs(r.urn)] == []


def test_KRP_07_the_controller_reads_the_queue_that_the_rules_fill(recording: Recording) -> None:
    """By its name, never its ARN (karpenter-provider-aws#6024)."""
    queue = recording.one(sqs.Queue).inputs["name"]
    values = recording.one(RELEASE, "karpenter").inputs["values"]
    assert values["settings"]["interruptionQueue"] == queue
    targets = recording.all(cloudwatch.EventTarget)
    assert len(targets) == len(recording.all(cloudwatch.EventRule)) == 5
    assert {target.inputs["arn"].rpartition(":")[2] for target in targets} == {queue}
    assert len({target.inputs["rule"] for target in targets}) == 5


def test_KRP_07_the_controller_may_pass_the_role_of_its_nodes_and_no_other(recording: Recording) -> None:
    policy = document(recording.one(iam.Policy, "karpenter-controller-iam-integration"), "policy")
    (passing,) = [s for s in policy["Statement"] if s["Action"] == ["iam:PassRole"]]
    (role,) = {r.inputs["spec"]["role"] for r in recording.all(NODE_CLASS)}
    assert passing["Resource"] == [f"arn:aws:iam::000000000000:role/{role}"]
    assert role != recording.one(eks.NodeGroup).inputs["nodeRoleArn"].rpartition("/")[2]


def test_EKS_01_each_node_role_has_one_way_into_the_cluster(recording: Recording) -> None:
    """EKS makes the entry of a managed node group; a second one would answer 409."""
    entry = recording.one(eks.AccessEntry).inputs
    (role,) = {r.inputs["spec"]["role"] for r in recording.all(NODE_CLASS)}
    assert (entry["type"], entry["principalArn"]) == ("EC2_LINUX", f"arn:aws:iam::000000000000:role/{role}")
    assert "kubernetesGroups" not in entry
    attached = {r.inputs["policyArn"].rpartition("/")[2] for r in recording.all(iam.RolePolicyAttachment)}
    assert {"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"} <= attached


@pytest.mark.parametrize("role", ["cluster-system", "karpenter-nodes"])
def test_ECR_02_both_node_roles_may_fill_the_cache_and_neither_when_there_is_none(role: str) -> None:
    raw = stack_settings("dev")
    (statement,) = document(record_program(raw).one(iam.RolePolicy, role), "policy")["Statement"]
    assert statement["Action"] == ["ecr:BatchImportUpstreamImage", "ecr:CreateRepository"]
    assert all(":repository/inference-dev/" in resource for resource in statement["Resource"])
    raw["imageCache"]["upstreams"] = []
    assert role not in {r.name for r in record_program(raw).all(iam.RolePolicy)}


def prepulling(stack: str) -> dict[str, Any]:
    """The stack with two servers of different images on pools that pre-pull."""
    raw = stack_settings(stack)
    for pool in raw["gpuPools"].values():
        pool.update(updateWindow="never", maxGpus=8)
    (name, server), *_ = raw["servers"].items()
    server["preset"] = "step-4"
    image = {"image": "quay.io/acme/vllm-openai:v0.33.0-acme"}
    raw["servers"]["second"] = {**server, "engine": {**server["engine"], **image}}
    assert name != "second"
    return raw


@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_ECR_04_a_node_pulls_ahead_the_very_references_of_the_pods_that_may_land_on_it(stack: str) -> None:
    """Another spelling of the same image is another image to kubelet (kubernetes#124286)."""
    raw = prepulling(stack)
    recording = record_program(raw)
    cache = ImageCacheSettings.model_validate(raw["imageCache"])
    facts = image_cache_facts(cache, Place(partition_of(REGION), REGION, raw["account"]["id"]))
    for node_class in recording.all(NODE_CLASS):
        pool = node_class.inputs["metadata"]["name"]
        pods = [
            template["spec"]
            for r in recording.all(DEPLOYMENT)
            if (template := r.inputs["spec"]["template"])["spec"]["nodeSelector"]["vllm-eks/pool"] == pool
            and r.inputs["metadata"]["name"] in raw["servers"]
        ]
        engines = {image for pod in pods for image in images(pod)}
        assert len(engines) == 3  # two engines and the front proxy
        pulled = list(pulled_at_boot(node_class.inputs["spec"]["userData"]))
        assert set(pulled) == engines | {rewritten(DEVICE_PLUGIN, facts)}
        assert len(pulled) == len(set(pulled))
        # the large ones first: the plugin is there before they are
        assert pulled[-1] == rewritten(DEVICE_PLUGIN, facts)


def warm(stack: str) -> Recording:
    """The stack with a node of each pool that stays ready."""
    raw = stack_settings(stack)
    for pool in raw["gpuPools"].values():
        pool.update(warmNodes=1, maxGpus=8)
    return record_program(raw)


@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_pause_pods_come_after_the_pools_and_go_before_them(stack: str) -> None:
    """Else a destroy would end nodes that the pods ask for again."""
    recording = warm(stack)
    pools = {r.urn for r in recording.all(NODE_POOL)}
    pause = [r for r in recording.all(DEPLOYMENT) if r.name.startswith("warm-nodes-")]
    assert len(pause) == len(pools)
    assert [r.label for r in pause if not pools <= recording.needs(r.urn)] == []


@pytest.mark.parametrize("stack", ["dev", "staging", "prod"])
def test_KRP_10_pause_pods_tolerate_what_servers_tolerate_and_give_way_to_them(stack: str) -> None:
    recording = warm(stack)
    pods = {r.name: r.inputs["spec"]["template"]["spec"] for r in recording.all(DEPLOYMENT)}
    assert len({str(pod["tolerations"]) for pod in pods.values()}) == 1
    values = {
        r.inputs["metadata"]["name"]: r.inputs["value"]
        for r in recording.all("kubernetes:scheduling.k8s.io/v1:PriorityClass")
    }
    priorities = {name: values[pod["priorityClassName"]] for name, pod in pods.items()}
    lowest = {priorities[name] for name in pods if name.startswith("warm-nodes-")}
    assert lowest
    assert max(lowest) < 0 < min(value for name, value in priorities.items() if not name.startswith("warm-nodes-"))


def test_KRP_10_whatever_asks_for_a_gpu_tolerates_the_taint_of_every_pool(recording: Recording) -> None:
    taints = [t for pool in recording.all(NODE_POOL) for t in pool.inputs["spec"]["template"]["spec"]["taints"]]
    assert taints
    for deployment in recording.all(DEPLOYMENT):
        pod = deployment.inputs["spec"]["template"]["spec"]
        assert any(GPU_RESOURCE in container["resources"]["limits"] for container in pod["containers"])
        for taint in taints:
            assert any(
                toleration.get("key") in (None, taint["key"])
                and toleration["operator"] == "Exists"
                and toleration.get("effect") in (None, taint["effect"])
                for toleration in pod["tolerations"]
            )


def test_only_servers_come_before_other_pods(recording: Recording) -> None:
    classes = {
        r.inputs["metadata"]["name"]: r.inputs for r in recording.all("kubernetes:scheduling.k8s.io/v1:PriorityClass")
    }
    pods = {r.name: r.inputs["spec"]["template"]["spec"]["priorityClassName"] for r in recording.all(DEPLOYMENT)}
    assert {classes[name]["value"] for name in pods.values()} == {1000}
    assert [name for name, given in classes.items() if given["globalDefault"]] == []
