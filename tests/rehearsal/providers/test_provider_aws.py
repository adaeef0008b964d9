"""The offline aws provider over a real gRPC connection."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pulumi.runtime.proto import provider_pb2

from rehearsal.providers.values import SECRET, SIGNATURE, UNKNOWN, to_struct
from tests.rehearsal.conftest import urn

BUCKET = "aws:s3/bucket:Bucket"
ROLE = "aws:iam/role:Role"
VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
CLUSTER = "aws:eks/cluster:Cluster"


def test_a_name_is_the_logical_name_and_seven_hex_digits_of_the_seed(eu):
    first = eu.check(ROLE, "reader", {}, seed=b"one")["name"]
    assert first == eu.check(ROLE, "reader", {}, seed=b"one")["name"]
    assert first != eu.check(ROLE, "reader", {}, seed=b"two")["name"]
    prefix, _, digits = first.rpartition("-")
    assert prefix == "reader"
    assert len(digits) == 7
    assert int(digits, 16) >= 0


def test_a_given_name_stays(eu):
    assert eu.check(ROLE, "reader", {"name": "mine"})["name"] == "mine"


def test_a_generated_name_survives_updates(eu):
    olds = eu.check(ROLE, "reader", {}, seed=b"one")
    assert eu.check(ROLE, "reader", {"path": "/x/"}, olds=olds, seed=b"two")["name"] == olds["name"]


@pytest.mark.parametrize(
    ("token", "key", "starts"),
    [
        (BUCKET, "bucket", "weights-"),
        ("aws:kms/alias:Alias", "name", "alias/Weights-"),
        ("aws:eks/nodeGroup:NodeGroup", "nodeGroupName", "Weights-"),
        ("aws:ec2/launchTemplate:LaunchTemplate", "name", "Weights-"),
    ],
)
def test_each_type_has_its_own_name_property(eu, token, key, starts):
    assert eu.check(token, "Weights", {})[key].startswith(starts)


def test_a_network_has_no_generated_name(eu):
    assert eu.check(VPC, "main", {"cidrBlock": "10.0.0.0/16"}) == {"cidrBlock": "10.0.0.0/16", "region": "eu-west-1"}


def test_a_logical_name_that_leaves_no_room_is_refused(eu):
    failure = eu.check(ROLE, "r" * 60, {}, seed=b"one")["failure"]
    assert failure.endswith(
        "has 68 characters, at most 64 are allowed: shorten the resource name or set `name` in the program"
    )


def test_the_stack_may_decide_the_names(eu):
    options = provider_pb2.CheckRequest.AutonamingOptions
    enforced = options(mode=options.ENFORCE, proposed_name="exactly-this")
    assert eu.check(ROLE, "reader", {}, autonaming=enforced)["name"] == "exactly-this"
    off = options(mode=options.DISABLE)
    assert eu.check(ROLE, "reader", {}, autonaming=off) == {
        "failure": "auto-naming is switched off for this stack: set `name` in the program"
    }


def test_default_tags_and_region_belong_to_the_provider_instance(connect):
    one = connect("aws", region="eu-west-1", defaultTags='{"tags": {"team": "ml", "env": "dev"}}')
    two = connect("aws", region="us-east-1", defaultTags='{"tags": {"team": "other"}}')
    plain = connect("aws", region="eu-west-1")
    assert one.check(BUCKET, "b", {"bucket": "b", "tags": {"env": "mine"}}) == {
        "bucket": "b",
        "region": "eu-west-1",
        "tags": {"env": "mine"},
        "tagsAll": {"team": "ml", "env": "mine"},
    }
    assert two.check(BUCKET, "b", {"bucket": "b"}) == {
        "bucket": "b",
        "region": "us-east-1",
        "tagsAll": {"team": "other"},
    }
    assert plain.check(BUCKET, "b", {"bucket": "b"}) == {"bucket": "b", "region": "eu-west-1"}


def test_twenty_instances_at_once_stay_apart(connect):
    providers = [connect("aws", region=f"region-{number}") for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        regions = pool.map(lambda it: it.check(VPC, "v", {})["region"], providers * 5)
    assert list(regions) == [f"region-{number}" for number in range(20)] * 5


def test_roles_live_in_no_region(eu):
    assert "region" not in eu.check(ROLE, "reader", {})


def test_a_region_of_the_resource_wins(eu):
    assert eu.check(BUCKET, "b", {"region": "eu-north-1"})["region"] == "eu-north-1"


def test_unknown_tags_leave_all_tags_unknown(eu):
    assert eu.check(VPC, "v", {"tags": UNKNOWN})["tagsAll"] == UNKNOWN


def test_secret_tags_stay_secret(connect):
    provider = connect("aws", region="eu-west-1", defaultTags='{"tags": {"team": "ml"}}')
    secret = {SIGNATURE: SECRET, "value": {"owner": "x"}}
    assert provider.check(VPC, "v", {"tags": secret})["tagsAll"] == {
        SIGNATURE: SECRET,
        "value": {"team": "ml", "owner": "x"},
    }


def test_a_preview_computes_nothing(eu):
    assert eu.create(VPC, "v", {"cidrBlock": "10.0.0.0/16"}, preview=True) == ("", {"cidrBlock": "10.0.0.0/16"})


def test_a_preview_leaves_computed_parts_of_an_object_unknown(eu):
    _, outputs = eu.create(CLUSTER, "c", {"name": "c", "vpcConfig": {"subnetIds": ["s"]}}, preview=True)
    assert outputs["vpcConfig"] == {"subnetIds": ["s"], "clusterSecurityGroupId": UNKNOWN, "vpcId": UNKNOWN}


def test_create_gives_what_aws_gives(eu):
    identifier, outputs = eu.make(CLUSTER, "c", name="dev", vpcConfig={"subnetIds": ["s"]})
    assert identifier == "dev"
    assert outputs["arn"] == "arn:aws:eks:eu-west-1:111122223333:cluster/dev"
    assert outputs["endpoint"].endswith(".gr7.eu-west-1.eks.amazonaws.com")
    assert outputs["identities"][0]["oidcs"][0]["issuer"].startswith("https://oidc.eks.eu-west-1.amazonaws.com/id/")
    assert outputs["certificateAuthority"]["data"]
    assert outputs["vpcConfig"]["subnetIds"] == ["s"]
    assert outputs["vpcConfig"]["clusterSecurityGroupId"].startswith("sg-")


@pytest.mark.parametrize(
    ("region", "partition", "suffix"),
    [("eu-west-1", "aws", "amazonaws.com"), ("cn-north-1", "aws-cn", "amazonaws.com.cn")],
)
def test_a_repository_is_found_under_its_registry(connect, region, partition, suffix):
    provider = connect("aws", region=region, allowedAccountIds='["111122223333"]')
    identifier, outputs = provider.make("aws:ecr/repository:Repository", "r", name="a/b")
    assert identifier == "a/b"
    assert outputs["arn"] == f"arn:{partition}:ecr:{region}:111122223333:repository/a/b"
    assert outputs["repositoryUrl"] == f"111122223333.dkr.ecr.{region}.{suffix}/a/b"


def test_a_version_belongs_to_its_secret(eu):
    secret, _ = eu.make("aws:secretsmanager/secret:Secret", "s", name="a/b")
    assert secret.startswith("arn:aws:secretsmanager:eu-west-1:111122223333:secret:a/b-")
    first, outputs = eu.make("aws:secretsmanager/secretVersion:SecretVersion", "v", secretId=secret, secretString="x")
    second, _ = eu.make("aws:secretsmanager/secretVersion:SecretVersion", "v", secretId=secret, secretString="y")
    assert outputs["secretArn"] == outputs["arn"] == secret
    assert first != second
    assert first.startswith(f"{secret}|")


def test_create_is_the_same_in_every_run_and_differs_between_resources(connect):
    eu = connect("aws", region="eu-west-1")
    one, _ = eu.make(VPC, "a")
    other, _ = eu.make(VPC, "b")
    eu.delete(VPC, one)
    again, _ = eu.make(VPC, "a")
    assert (one, again) == ("vpc-4c978f878b712e9c4", "vpc-4c978f878b712e9c4")
    assert other != one


def test_a_replacement_gets_an_id_of_its_own_next_to_the_old_one(eu):
    old, _ = eu.make(SUBNET, "s", cidrBlock="10.0.0.0/24")
    new, _ = eu.make(SUBNET, "s", cidrBlock="10.0.1.0/24")
    assert old != new
    assert eu.read(SUBNET, old)[1]["cidrBlock"] == "10.0.0.0/24"


def test_a_name_that_is_taken_is_refused(eu, refused):
    eu.make(ROLE, "reader", name="taken")
    assert refused(lambda: eu.make(ROLE, "other", name="taken")) == (
        f"{urn(ROLE, 'other')}: EntityAlreadyExists: taken already exists in the offline cloud with the same "
        'name "taken"'
    )


def test_read_update_delete_go_through_the_store(eu):
    identifier, created = eu.make(BUCKET, "b", bucket="b-1")
    assert eu.read(BUCKET, identifier) == (identifier, created)
    request = provider_pb2.UpdateRequest(
        urn=urn(BUCKET, "b"),
        type=BUCKET,
        id=identifier,
        olds=to_struct(created),
        old_inputs=to_struct({"bucket": "b-1", "region": "eu-west-1"}),
        news=to_struct({"bucket": "b-1", "region": "eu-west-1", "tags": {"a": "b"}}),
    )
    eu.stub.Update(request)
    assert eu.read(BUCKET, identifier)[1] == {**created, "tags": {"a": "b"}}
    eu.delete(BUCKET, identifier)
    assert eu.read(BUCKET, identifier) == ("", {})
    eu.delete(BUCKET, identifier)


def test_an_unknown_type_is_refused_with_the_places_to_extend(eu, refused):
    expected = (
        "the offline aws provider does not know the resource type `aws:sns/topic:Topic`: add it to KINDS of its "
        "subject in rehearsal/providers/aws/ and its rule to change/rows/"
    )
    assert refused(lambda: eu.check("aws:sns/topic:Topic", "t", {})) == expected
    assert refused(lambda: eu.create("aws:sns/topic:Topic", "t", {})) == expected


def test_an_unknown_invoke_is_refused(eu, refused):
    request = provider_pb2.InvokeRequest(tok="aws:ec2/getAmi:getAmi")
    assert refused(lambda: eu.stub.Invoke(request)) == (
        "the offline aws provider cannot answer the look-up `aws:ec2/getAmi:getAmi`: "
        "pass the value in the program instead, or teach it the answer"
    )


def test_a_known_invoke_answers_for_its_instance(eu):
    response = eu.stub.Invoke(provider_pb2.InvokeRequest(tok="aws:index/getCallerIdentity:getCallerIdentity"))
    assert getattr(response, "return")["accountId"] == "111122223333"


def test_a_bucket_of_somebody_else_is_found_where_it_is_looked_for(eu):
    """Its arguments are plain, so the program must read the answer in a preview already."""
    args = to_struct({"bucket": "b-1"})
    response = eu.stub.Invoke(provider_pb2.InvokeRequest(tok="aws:s3/getBucket:getBucket", args=args))
    found = getattr(response, "return")
    assert (found["bucket"], found["bucketRegion"], found["arn"]) == ("b-1", "eu-west-1", "arn:aws:s3:::b-1")


def test_a_call_before_configure_is_refused(connect, refused):
    provider = connect("aws", configured=False)
    assert refused(lambda: provider.check(VPC, "v", {})) == (
        "the offline aws provider was called before it was configured"
    )


def test_every_known_type_exists_in_the_sdk():
    """A token with a typo would be accepted by nobody and refused by nobody."""
    import importlib

    from rehearsal.providers.aws import KINDS

    for token in KINDS:
        package, module, name = token.split(":")
        service = importlib.import_module(f"pulumi_{package}.{module.split('/')[0]}")
        assert getattr(service, name).pulumi_type == token
