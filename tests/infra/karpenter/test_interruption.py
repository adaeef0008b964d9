"""The queue of interruption notices: one for a cluster, filled by every rule, open to nobody else."""

import json

import pytest
from pulumi_aws import cloudwatch, sqs

from infra.karpenter.interruption import InterruptionQueue, InterruptionQueueArgs
from infra.naming import SQS_NAME_LIMIT, interruption_queue
from tests.harness import Recording, document, record
from tests.infra.karpenter import scene
from tests.infra.karpenter.scene import ACCOUNT, CLUSTER, LONGEST, REGION, scope

KINDS = {
    ("aws.health", "AWS Health Event"),
    ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    ("aws.ec2", "EC2 Instance State-change Notification"),
    ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""What Karpenter reads (pkg/controllers/interruption/messages of 1.14)."""


def recorded(cluster: str = CLUSTER, region: str = REGION) -> Recording:
    args = InterruptionQueueArgs(cluster_name=cluster, place=scope(region).place)
    return record(lambda: InterruptionQueue("interruption", args), region=region, account=ACCOUNT)


@pytest.fixture(scope="module")
def queue() -> Recording:
    return recorded()


def test_KRP_07_notices_are_short_lived_and_encrypted_without_a_key(queue: Recording) -> None:
    """With a key of one's own EventBridge needs a right to it, and without that right it drops every notice."""
    assert queue.one(sqs.Queue).inputs == {
        "name": f"{CLUSTER}-karpenter",
        "messageRetentionSeconds": 300,
        "sqsManagedSseEnabled": True,
    }


def test_KRP_07_the_policy_is_the_queues_and_names_no_other(queue: Recording) -> None:
    policy = queue.one(sqs.QueuePolicy)
    assert document(policy, "policy") == scene.document(scene.queue(scope()))
    assert queue.one(sqs.Queue).urn in queue.needs(policy.urn)
    arns = {statement["Resource"] for statement in document(policy, "policy")["Statement"]}
    assert arns == {f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue.one(sqs.Queue).inputs['name']}"}


def test_KRP_07_every_kind_of_notice_has_one_rule_with_one_target(queue: Recording) -> None:
    rules, targets = queue.all(cloudwatch.EventRule), queue.all(cloudwatch.EventTarget)
    patterns = [json.loads(rule.inputs["eventPattern"]) for rule in rules]
    assert all(set(pattern) == {"source", "detail-type"} for pattern in patterns)
    assert sorted((*pattern["source"], *pattern["detail-type"]) for pattern in patterns) == sorted(KINDS)
    assert sorted(target.inputs["rule"] for target in targets) == sorted(f"{rule.name}-1a2b3c4" for rule in rules)
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue.one(sqs.Queue).inputs['name']}"
    assert {target.inputs["arn"] for target in targets} == {arn}
    assert [target.name for target in targets if "roleArn" in target.inputs] == []  # the queue's policy lets them in


def test_KRP_07_nothing_is_sent_before_the_queue_lets_it_in(queue: Recording) -> None:
    policy = queue.one(sqs.QueuePolicy).urn
    assert [t.name for t in queue.all(cloudwatch.EventTarget) if policy not in t.dependencies] == []


def test_KRP_07_two_clusters_have_two_queues() -> None:
    """On one queue they would take each other's notices away."""
    names = {recorded(cluster).one(sqs.Queue).inputs["name"] for cluster in (CLUSTER, f"{CLUSTER}-2")}
    assert len(names) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LONGEST, LONGEST[:-1] + "d"),
        ("c" * 80 + "a", "c" * 80 + "b"),
        ("c" * 80, "c" * 81),
        ("c" * 71, "c" * 72),
    ],
)
def test_PUL_10_queue_names_fit_and_stay_apart(first: str, second: str) -> None:
    names = [interruption_queue(cluster) for cluster in (first, second)]
    assert names[0] != names[1]
    assert max(map(len, names)) <= SQS_NAME_LIMIT == 80


def test_PUL_10_the_shortened_name_is_the_one_that_everybody_is_given() -> None:
    recording = recorded(LONGEST)
    name = interruption_queue(LONGEST)
    assert recording.one(sqs.Queue).inputs["name"] == name
    assert {t.inputs["arn"].rpartition(":")[2] for t in recording.all(cloudwatch.EventTarget)} == {name}
    (outputs,) = recording.completed.values()
    assert outputs == {"name": name, "arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"}
