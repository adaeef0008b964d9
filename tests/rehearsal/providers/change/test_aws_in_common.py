"""What AWS resources have in common when they change: tags, regions, names, ignored, unknown and secret values."""

from dataclasses import replace

import pytest

from rehearsal.providers.values import SECRET, SIGNATURE, UNKNOWN

BUCKET = "aws:s3/bucket:Bucket"
CLUSTER = "aws:eks/cluster:Cluster"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
NODES = "aws:eks/nodeGroup:NodeGroup"
REPOSITORY = "aws:ecr/repository:Repository"
ROLE = "aws:iam/role:Role"
SUBNET = "aws:ec2/subnet:Subnet"
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"
VPC = "aws:ec2/vpc:Vpc"

NODE_GROUP = {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": ["s"], "scalingConfig": {"desiredSize": 2}}
CONTROL = {"name": "c", "roleArn": "r", "vpcConfig": {"subnetIds": ["a", "b"]}}


@pytest.mark.parametrize(
    ("token", "old", "new"),
    [
        (VPC, {"cidrBlock": "10.0.0.0/16"}, {"cidrBlock": "10.0.0.0/16", "enableDnsSupport": True}),
        (CLUSTER, CONTROL, {**CONTROL, "vpcConfig": {"subnetIds": ["b", "a"], "endpointPublicAccess": True}}),
        (CLUSTER, {**CONTROL, "kubernetesNetworkConfig": {"ipFamily": "ipv4"}, "version": "1.36"}, CONTROL),
        (CLUSTER, CONTROL, {**CONTROL, "bootstrapSelfManagedAddons": True}),
        (NODES, {**NODE_GROUP, "instanceTypes": ["a"]}, {**NODE_GROUP, "instanceTypes": None}),
        (BUCKET, {"tags": {}}, {}),
        (GROUP, {}, {"description": "Managed by Pulumi"}),
        (REPOSITORY, {"imageScanningConfiguration": {"scanOnPush": True}}, {"imageTagMutability": "MUTABLE"}),
    ],
    ids=[
        "a default written out",
        "order of a set",
        "filled in by AWS",
        "default True",
        "computed list",
        "empty",
        "text",
        "suppressed block",
    ],
)
def test_what_says_the_same_changes_nothing(eu, change, token, old, new):
    answer = change(eu, token, old, new).diff()
    assert (answer.changes, answer.detail, answer.replaces, answer.delete_first) == (False, {}, [], False)


def test_a_tag_is_shown_with_all_tags_and_updates(connect, change):
    provider = connect("aws", region="eu-west-1", defaultTags='{"tags": {"team": "ml"}}')
    answer = change(provider, VPC, {"tags": {"Name": "a"}}, {"tags": {"Name": "b", "x": "y"}}).diff()
    assert answer.detail == {"tags.Name": "UPDATE", "tags.x": "ADD", "tagsAll.Name": "UPDATE", "tagsAll.x": "ADD"}
    assert answer.replaces == []


def test_other_default_tags_update_every_tagged_resource_and_no_other(connect, change):
    before = connect("aws", region="eu-west-1", defaultTags='{"tags": {"team": "ml"}}')
    after = connect("aws", region="eu-west-1", defaultTags='{"tags": {"team": "ops"}}')
    for token, detail in (
        (VPC, {"tagsAll.team": "UPDATE"}),
        (ROLE, {"tagsAll.team": "UPDATE"}),
        (VERSIONING, {}),
    ):
        made = change(before, token, {"bucket": "b"}, {})
        news = after.check(token, "it", {"bucket": "b"}, olds=made.olds, seed=b"")
        answer = replace(made, provider=after, news=news).diff()
        assert (answer.detail, answer.replaces) == (detail, [])


def test_another_region_replaces_regional_resources_and_leaves_global_ones(connect, change):
    before, after = (connect("aws", region=region) for region in ("eu-west-1", "us-east-1"))
    for token, detail in ((VPC, {"region": "UPDATE_REPLACE"}), (ROLE, {})):
        made = change(before, token, {}, {})
        news = after.check(token, "it", {}, olds=made.olds, seed=b"")
        answer = replace(made, provider=after, news=news).diff()
        assert (answer.detail, answer.replaces) == (detail, [*({"region"} if detail else ())])


def test_state_without_a_region_is_in_the_region_of_its_provider(eu, change):
    made = change(eu, VPC, {}, {})
    olds = {key: value for key, value in made.olds.items() if key != "region"}
    assert not replace(made, olds=olds).diff().changes


@pytest.mark.parametrize(
    ("old", "new", "first"),
    [
        ({"name": "mine"}, {"name": "mine", "path": "/x/"}, True),
        ({"name": "mine"}, {"name": "other"}, True),
        ({}, {"path": "/x/"}, False),
        ({}, {"name": "it-0123abc", "path": "/x/"}, False),
        ({"name": "mine"}, {"name": "mine", "description": "x"}, False),
    ],
    ids=["name kept", "new name", "generated name", "written as a generated one", "update"],
)
def test_what_the_program_named_is_deleted_before_it_is_made_again(eu, change, old, new, first):
    assert change(eu, ROLE, old, new).diff().delete_first is first


def test_what_has_no_name_is_made_before_the_old_one_goes(eu, change):
    made = change(eu, VPC, {"cidrBlock": "10.0.0.0/16"}, {"cidrBlock": "10.1.0.0/16"})
    assert made.diff().delete_first is False


def test_a_lowered_name_is_known_as_a_generated_one(eu, change):
    assert change(eu, BUCKET, {}, {"objectLockEnabled": True}, name="Weights").diff().delete_first is False


def test_ignored_changes_are_none(eu, change):
    old = {**CONTROL, "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True}}
    new = {**CONTROL, "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}}
    made = change(eu, CLUSTER, old, {**new, "bootstrapSelfManagedAddons": False})
    ignored = ("accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons")
    assert made.diff().replaces == ["accessConfig", "bootstrapSelfManagedAddons"]
    assert made.diff(ignored[0]).replaces == ["bootstrapSelfManagedAddons"]
    assert not made.diff(*ignored).changes
    assert not made.diff("*").changes


def test_an_ignored_path_may_have_quoted_keys_and_indexes(eu, change):
    made = change(eu, VPC, {"tags": {"a.b/c": "x"}}, {"tags": {"a.b/c": "y"}})
    assert made.diff().detail == {'tags["a.b/c"]': "UPDATE", 'tagsAll["a.b/c"]': "UPDATE"}
    assert not made.diff('tags["a.b/c"]', "tagsAll[*]").changes


def test_an_unknown_value_counts_as_another_one(eu, change):
    assert change(eu, SUBNET, {"vpcId": "v"}, {"vpcId": UNKNOWN}).diff().detail == {"vpcId": "UPDATE_REPLACE"}
    nodes = change(eu, NODES, NODE_GROUP, {**NODE_GROUP, "subnetIds": [UNKNOWN], "version": UNKNOWN})
    assert nodes.diff().detail == {"subnetIds[0]": "UPDATE_REPLACE", "version": "ADD"}
    key = change(
        eu,
        CLUSTER,
        {**CONTROL, "encryptionConfig": {"resources": ["secrets"]}},
        {**CONTROL, "encryptionConfig": UNKNOWN},
        name="keyed",
    )
    assert key.diff().detail == {"encryptionConfig": "UPDATE"}


def test_a_secret_is_compared_by_its_value_and_shows_only_its_place(eu, change):
    secret = {SIGNATURE: SECRET, "value": "hunter2"}
    other = {SIGNATURE: SECRET, "value": "hunter3"}
    assert not change(eu, ROLE, {"description": secret}, {"description": "hunter2"}).diff().changes
    answer = change(eu, ROLE, {"description": secret}, {"description": other}, name="other").diff()
    assert answer.detail == {"description": "UPDATE"}
    assert "hunter" not in str(answer)
