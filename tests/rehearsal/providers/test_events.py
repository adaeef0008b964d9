"""Queues, and the rules that fill them, over a real gRPC connection."""

import pytest

from tests.rehearsal.conftest import urn

QUEUE = "aws:sqs/queue:Queue"
POLICY = "aws:sqs/queuePolicy:QueuePolicy"
RULE = "aws:cloudwatch/eventRule:EventRule"
TARGET = "aws:cloudwatch/eventTarget:EventTarget"
PERMISSIONS = "aws:iam/policy:Policy"
URL = "https://sqs.eu-west-1.amazonaws.com/111122223333/q"


@pytest.mark.parametrize(
    ("token", "inputs", "computed"),
    [
        (QUEUE, {"name": "q"}, {"arn", "url"}),
        (POLICY, {"queueUrl": URL, "policy": "{}"}, set()),
        (RULE, {"name": "r", "eventPattern": "{}"}, {"arn", "state"}),
        (TARGET, {"rule": "r", "arn": "a", "targetId": "t"}, set()),
        (PERMISSIONS, {"name": "p", "policy": "{}"}, {"arn", "policyId"}),
    ],
)
def test_a_preview_knows_what_is_given_and_nothing_that_aws_decides(eu, token, inputs, computed):
    checked = eu.check(token, "it", inputs)
    _, previewed = eu.create(token, "it", checked, preview=True)
    assert previewed == checked
    assert previewed.items() >= inputs.items()
    _, made = eu.create(token, "it", checked)
    assert made.keys() - previewed.keys() >= computed


@pytest.mark.parametrize(("token", "key"), [(QUEUE, "name"), (RULE, "name"), (TARGET, "targetId")])
def test_a_name_that_is_not_given_is_known_before_creation(eu, token, key):
    checked = eu.check(token, "it", {})
    assert checked[key].startswith("it-")
    assert eu.create(token, "it", checked, preview=True)[1][key] == checked[key]


@pytest.mark.parametrize(
    ("region", "partition", "suffix"),
    [("eu-west-1", "aws", "amazonaws.com"), ("cn-north-1", "aws-cn", "amazonaws.com.cn")],
)
def test_a_queue_is_known_by_its_url(connect, region, partition, suffix):
    provider = connect("aws", region=region, allowedAccountIds='["111122223333"]')
    identifier, outputs = provider.make(QUEUE, "q", name="q", visibilityTimeoutSeconds=60)
    assert identifier == outputs["url"] == f"https://sqs.{region}.{suffix}/111122223333/q"
    assert outputs["arn"] == f"arn:{partition}:sqs:{region}:111122223333:q"
    assert (outputs["messageRetentionSeconds"], outputs["visibilityTimeoutSeconds"]) == (345600, 60)
    assert outputs["sqsManagedSseEnabled"] is True


def test_a_rule_and_its_target_are_named_after_their_bus_unless_it_is_the_default_one(eu):
    assert eu.make(RULE, "r", name="r", eventBusName="default")[0] == "r"
    identifier, outputs = eu.make(RULE, "r", name="r", eventBusName="b")
    assert (identifier, outputs["arn"]) == ("b/r", "arn:aws:events:eu-west-1:111122223333:rule/b/r")
    assert eu.make(TARGET, "t", rule="r", arn="a", targetId="t")[0] == "r-t"
    assert eu.make(TARGET, "t", rule="r", arn="a", targetId="t", eventBusName="b")[0] == "b-r-t"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"messageRetentionSeconds": 300}),
        ({"messageRetentionSeconds": 300}, {}),
        ({"visibilityTimeoutSeconds": 60}, {"visibilityTimeoutSeconds": 61}),
        ({}, {"sqsManagedSseEnabled": False}),
        ({}, {"kmsMasterKeyId": "k"}),
        ({"redrivePolicy": "a"}, {"redrivePolicy": "b"}),
    ],
)
def test_a_second_queue_of_a_name_is_refused_when_an_attribute_differs(eu, refused, one, other):
    eu.make(QUEUE, "one", name="q", **one)
    assert refused(lambda: eu.make(QUEUE, "two", name="q", **other)) == (
        f"{urn(QUEUE, 'two')}: QueueAlreadyExists: {URL} already exists in the offline cloud with the same "
        'name "q", other attributes'
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {}),
        ({}, {"delaySeconds": 0, "fifoQueue": False, "sqsManagedSseEnabled": True, "policy": ""}),
        ({"redrivePolicy": "a", "kmsMasterKeyId": "k"}, {}),
        (
            {"name": "q.fifo", "fifoQueue": True, "contentBasedDeduplication": True},
            {"name": "q.fifo", "fifoQueue": True, "contentBasedDeduplication": False},
        ),
        ({"tags": {"a": "b"}}, {"tags": {"a": "c"}}),
    ],
    ids=["none", "defaults", "not sent", "false is not sent", "tags"],
)
def test_a_second_queue_with_the_same_attributes_is_the_first_one(eu, one, other):
    first, _ = eu.make(QUEUE, "one", **{"name": "q", **one})
    assert eu.make(QUEUE, "two", **{"name": "q", **other})[0] == first
    eu.delete(QUEUE, first)
    assert eu.read(QUEUE, first) == ("", {})


def test_a_name_is_free_again_as_soon_as_its_queue_is_gone(eu):
    eu.delete(QUEUE, eu.make(QUEUE, "one", name="q")[0])
    assert eu.make(QUEUE, "two", name="q", delaySeconds=5)[0] == URL


def test_queues_of_two_regions_do_not_collide(eu, connect):
    us = connect("aws", region="us-east-1")
    assert eu.make(QUEUE, "one", name="q")[0] != us.make(QUEUE, "two", name="q", delaySeconds=5)[0]


@pytest.mark.parametrize(
    ("token", "inputs", "other"),
    [
        (POLICY, {"queueUrl": URL, "policy": "{}"}, {"policy": "[]"}),
        (RULE, {"name": "r", "eventPattern": "{}"}, {"eventPattern": "[]"}),
        (TARGET, {"rule": "r", "arn": "a", "targetId": "t"}, {"arn": "b"}),
    ],
)
def test_what_is_put_is_overwritten_and_gone_with_the_first_removal(eu, token, inputs, other):
    first, _ = eu.make(token, "one", **inputs)
    second, outputs = eu.make(token, "two", **{**inputs, **other})
    assert first == second
    assert eu.read(token, first)[1] == outputs
    eu.delete(token, first)
    assert eu.read(token, second) == ("", {})


@pytest.mark.parametrize(
    ("token", "old", "new"),
    [
        (QUEUE, {"name": "q"}, {"name": "q", "maxMessageSize": 262144, "visibilityTimeoutSeconds": 30}),
        (QUEUE, {"name": "q", "sqsManagedSseEnabled": True}, {"name": "q"}),
        (RULE, {"name": "r", "state": "DISABLED"}, {"name": "r", "eventBusName": "default"}),
        (TARGET, {"rule": "r", "targetId": "t"}, {"rule": "r"}),
    ],
)
def test_what_says_the_same_changes_nothing(eu, change, token, old, new):
    assert change(eu, token, old, new).diff().detail == {}
