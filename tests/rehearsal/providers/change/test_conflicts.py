"""What AWS and Kubernetes refuse because it is there already, and what they overwrite."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from rehearsal.providers.values import SECRET, SIGNATURE
from tests.rehearsal.conftest import urn

ROLE = "aws:iam/role:Role"
SUBNET = "aws:ec2/subnet:Subnet"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"

INTERFACE = {"vpcId": "v", "serviceName": "sts", "vpcEndpointType": "Interface", "privateDnsEnabled": True}
RULE = {"securityGroupId": "g", "ipProtocol": "tcp", "fromPort": 1, "toPort": 2, "cidrIpv4": "10.0.0.0/8"}

# Type, a resource, another one that the cloud refuses beside it, what the message says behind the URN (the first
# one's id at {}).
CASES = [
    (
        "aws:ecr/pullThroughCacheRule:PullThroughCacheRule",
        {"ecrRepositoryPrefix": "p", "upstreamRegistryUrl": "quay.io"},
        {"upstreamRegistryUrl": "ghcr.io"},
        "PullThroughCacheRuleAlreadyExistsException: {} already exists in the offline cloud with the same "
        'ecrRepositoryPrefix "p"',
    ),
    (
        "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate",
        {"prefix": "p", "appliedFors": ["PULL_THROUGH_CACHE"]},
        {"description": "x"},
        'TemplateAlreadyExistsException: {} already exists in the offline cloud with the same prefix "p"',
    ),
    (
        "aws:ecr/repository:Repository",
        {"name": "r"},
        {"imageTagMutability": "IMMUTABLE"},
        'RepositoryAlreadyExistsException: {} already exists in the offline cloud with the same name "r"',
    ),
    (
        "aws:secretsmanager/secret:Secret",
        {"name": "s"},
        {"description": "x"},
        'ResourceExistsException: {} already exists in the offline cloud with the same name "s"',
    ),
    (
        IDENTITY,
        {"clusterName": "c", "namespace": "n", "serviceAccount": "s", "roleArn": "r"},
        {"roleArn": "q"},
        'ResourceInUseException: {} already exists in the offline cloud with the same clusterName "c", '
        'namespace "n", serviceAccount "s"',
    ),
    (
        "aws:eks/accessEntry:AccessEntry",
        {"clusterName": "c", "principalArn": "p"},
        {"type": "EC2_LINUX"},
        'ResourceInUseException: {} already exists in the offline cloud with the same clusterName "c", '
        'principalArn "p"',
    ),
    (
        "aws:eks/addon:Addon",
        {"clusterName": "c", "addonName": "a"},
        {"addonVersion": "v2"},
        'ResourceInUseException: {} already exists in the offline cloud with the same clusterName "c", addonName "a"',
    ),
    (
        "aws:eks/nodeGroup:NodeGroup",
        {"clusterName": "c", "nodeGroupName": "g"},
        {"diskSize": 2},
        'ResourceInUseException: {} already exists in the offline cloud with the same clusterName "c", '
        'nodeGroupName "g"',
    ),
    (
        "aws:eks/cluster:Cluster",
        {"name": "c"},
        {"roleArn": "r"},
        'ResourceInUseException: {} already exists in the offline cloud with the same name "c"',
    ),
    (
        "aws:ec2/route:Route",
        {"routeTableId": "t", "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "g"},
        {"gatewayId": None, "natGatewayId": "n"},
        'RouteAlreadyExists: {} already exists in the offline cloud with the same routeTableId "t", '
        'destinationCidrBlock "0.0.0.0/0"',
    ),
    (
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        {"subnetId": "s", "routeTableId": "t"},
        {"routeTableId": "u"},
        'Resource.AlreadyAssociated: {} already exists in the offline cloud with the same subnetId "s"',
    ),
    (
        SUBNET,
        {"vpcId": "v", "cidrBlock": "10.0.0.0/20"},
        {"cidrBlock": "10.0.8.0/24"},
        'InvalidSubnet.Conflict: {} already exists in the offline cloud with the same vpcId "v", '
        "an overlapping cidrBlock",
    ),
    (
        "aws:ec2/securityGroup:SecurityGroup",
        {"vpcId": "v", "name": "g"},
        {"description": "x"},
        'InvalidGroup.Duplicate: {} already exists in the offline cloud with the same vpcId "v", name "g"',
    ),
    (
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        RULE,
        {"description": "x"},
        'InvalidPermission.Duplicate: {} already exists in the offline cloud with the same securityGroupId "g", '
        'ipProtocol "tcp", fromPort 1, toPort 2, cidrIpv4 "10.0.0.0/8"',
    ),
    (
        "aws:ec2/natGateway:NatGateway",
        {"allocationId": "a", "subnetId": "s"},
        {"subnetId": "t"},
        'Resource.AlreadyAssociated: {} already exists in the offline cloud with the same allocationId "a"',
    ),
    (
        "aws:ec2/internetGateway:InternetGateway",
        {"vpcId": "v"},
        {},
        'InvalidParameterValue: {} already exists in the offline cloud with the same vpcId "v"',
    ),
    (
        ENDPOINT,
        {"vpcId": "v", "serviceName": "s3", "routeTableIds": ["a", "b"]},
        {"routeTableIds": ["b", "c"]},
        'RouteAlreadyExists: {} already exists in the offline cloud with the same vpcId "v", serviceName "s3", '
        "a route table in common",
    ),
    (
        ENDPOINT,
        INTERFACE,
        {},
        'InvalidParameter: {} already exists in the offline cloud with the same vpcId "v", serviceName "sts", '
        "private DNS on both",
    ),
    (
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"name": "t"},
        {},
        "InvalidLaunchTemplateName.AlreadyExistsException: {} already exists in the offline cloud with the same "
        'name "t"',
    ),
    (
        ROLE,
        {"name": "r"},
        {"path": "/x/"},
        'EntityAlreadyExists: {} already exists in the offline cloud with the same name "r"',
    ),
    (
        "aws:iam/policy:Policy",
        {"name": "p"},
        {"path": "/x/"},
        'EntityAlreadyExists: {} already exists in the offline cloud with the same name "p"',
    ),
    (
        "aws:kms/alias:Alias",
        {"name": "alias/a", "targetKeyId": "k"},
        {"targetKeyId": "l"},
        'AlreadyExistsException: {} already exists in the offline cloud with the same name "alias/a"',
    ),
    (
        "aws:s3/bucket:Bucket",
        {"bucket": "b"},
        {},
        'BucketAlreadyOwnedByYou: {} already exists in the offline cloud with the same bucket "b"',
    ),
]


@pytest.mark.parametrize(("token", "one", "other", "message"), CASES)
def test_what_is_there_already_is_refused_with_what_is_in_the_way(eu, refused, token, one, other, message):
    identifier, _ = eu.make(token, "one", **one)
    assert refused(lambda: eu.make(token, "two", **{**one, **other})) == f"{urn(token, 'two')}: " + message.format(
        identifier
    )
    # The old one of a replacement is in the way too, and no longer when it has gone.
    assert refused(lambda: eu.make(token, "one", **{**one, **other})) == f"{urn(token, 'one')}: " + message.format(
        identifier
    )
    eu.delete(token, identifier)
    assert eu.make(token, "one", **{**one, **other})[0]


def test_the_engine_can_tell_a_conflict_from_other_refusals(eu):
    eu.make(ROLE, "one", name="r")
    with pytest.raises(grpc.RpcError) as caught:
        eu.make(ROLE, "two", name="r")
    assert caught.value.code() is grpc.StatusCode.ALREADY_EXISTS


@pytest.mark.parametrize(
    ("token", "one", "other"),
    [
        (SUBNET, {"vpcId": "v", "cidrBlock": "10.0.0.0/24"}, {"vpcId": "v", "cidrBlock": "10.0.1.0/24"}),
        (SUBNET, {"vpcId": "v", "cidrBlock": "10.0.0.0/24"}, {"vpcId": "w", "cidrBlock": "10.0.0.0/24"}),
        (ENDPOINT, {"vpcId": "v", "serviceName": "s3", "routeTableIds": ["a"]}, {"vpcId": "v", "serviceName": "s3"}),
        (ENDPOINT, INTERFACE, {**INTERFACE, "privateDnsEnabled": False}),
        ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", RULE, {**RULE, "cidrIpv4": "10.0.0.0/9"}),
        ("aws:ec2/natGateway:NatGateway", {"connectivityType": "private"}, {"connectivityType": "private"}),
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}, {"cidrBlock": "10.0.0.0/16"}),
        ("aws:ec2/eip:Eip", {}, {}),
    ],
)
def test_what_does_not_collide_lives_side_by_side(eu, token, one, other):
    assert eu.make(token, "one", **one)[0] != eu.make(token, "two", **other)[0]


def test_regions_do_not_collide_but_buckets_and_roles_do_everywhere(eu, connect, refused):
    us = connect("aws", region="us-east-1")
    for token, inputs in (("aws:ec2/launchTemplate:LaunchTemplate", {"name": "t"}), (SUBNET, {"vpcId": "v"})):
        assert eu.make(token, "one", **inputs)[0] != us.make(token, "two", **inputs)[0]
    for token, inputs in ((ROLE, {"name": "r"}), ("aws:s3/bucket:Bucket", {"bucket": "b"})):
        eu.make(token, "one", **inputs)
        assert "already exists" in refused(lambda token=token, inputs=inputs: us.make(token, "two", **inputs))


@pytest.mark.parametrize(
    ("token", "inputs"),
    [
        ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", {"role": "r", "policyArn": "p"}),
        ("aws:iam/rolePolicy:RolePolicy", {"role": "r", "name": "n", "policy": "{}"}),
        (
            "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
            {"clusterName": "c", "principalArn": "p", "policyArn": "a"},
        ),
        ("aws:s3/bucketPolicy:BucketPolicy", {"bucket": "b", "policy": "{}"}),
        ("aws:ecr/lifecyclePolicy:LifecyclePolicy", {"repository": "r", "policy": "{}"}),
    ],
)
def test_what_aws_overwrites_is_overwritten_and_gone_with_the_first_removal(eu, token, inputs):
    first, second = eu.make(token, "one", **inputs)[0], eu.make(token, "two", **inputs)[0]
    assert first == second
    eu.delete(token, first)
    assert eu.read(token, second) == ("", {})


def test_of_two_that_come_at_once_one_is_refused(eu):
    def make(number):
        try:
            return eu.make(ROLE, f"r{number}", name="same")[0]
        except grpc.RpcError as refusal:
            return refusal.code()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(make, range(8)))
    assert sorted(map(str, results)) == sorted(["same", *[str(grpc.StatusCode.ALREADY_EXISTS)] * 7])


def test_a_secret_that_is_in_the_way_is_not_shown(eu, refused):
    secret = {SIGNATURE: SECRET, "value": "hunter2"}
    eu.make(ROLE, "one", name="hunter2")
    message = refused(lambda: eu.create(ROLE, "two", {"name": secret}))
    assert message.endswith("with the same name [secret]")


def test_an_object_that_is_there_already_is_taken_over_when_nothing_differs(connect):
    api = connect("kubernetes", kubeconfig="{}")
    metadata = {"name": "a", "namespace": "x"}
    identifier, one = api.make(CONFIG_MAP, "one", metadata=metadata, data={"a": "b"})
    again, two = api.make(CONFIG_MAP, "two", metadata=metadata, data={"a": "b"}, immutable=True)
    assert (again, two) == (identifier, {**one, "immutable": True})


def test_an_object_that_is_there_already_is_refused_for_the_fields_that_differ(connect, refused):
    api = connect("kubernetes", kubeconfig="{}")
    metadata = {"name": "a", "namespace": "x"}
    api.make(CONFIG_MAP, "one", metadata=metadata, data={"a": "b", "c.d": "e"})
    assert refused(lambda: api.make(CONFIG_MAP, "two", metadata=metadata, data={"a": "x", "c.d": "y"})) == (
        f"{urn(CONFIG_MAP, 'two')}: Conflict: x/a already exists in the offline cluster, and another manager has set "
        '.data.a, .data["c.d"] to something else'
    )
    assert api.make(CONFIG_MAP, "two", metadata={**metadata, "namespace": "y"}, data={"a": "x"})[0] == "y/a"
