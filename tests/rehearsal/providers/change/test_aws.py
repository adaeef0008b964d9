"""Which change updates an AWS resource and which one replaces it, type by type, over gRPC."""

import pytest

from rehearsal.providers.aws.change.table import RULES

TOKENS = {token.rpartition(":")[2]: token for token in RULES}
FACETS = (
    *("BucketVersioning", "BucketOwnershipControls", "BucketPublicAccessBlock", "BucketLifecycleConfiguration"),
    *("BucketServerSideEncryptionConfiguration", "BucketPolicy"),
)
# What a resource of the type has besides the property that changes.
BASE = {
    **{facet: {"bucket": "b"} for facet in FACETS},
    "AccessEntry": {"clusterName": "c", "principalArn": "p"},
    "AccessPolicyAssociation": {
        "clusterName": "c",
        "principalArn": "p",
        "policyArn": "a",
        "accessScope": {"type": "t"},
    },
    "Addon": {"clusterName": "c", "addonName": "a"},
    "Alias": {"targetKeyId": "k"},
    "Cluster": {"name": "c", "roleArn": "r", "vpcConfig": {"subnetIds": ["a", "b"]}},
    "EventRule": {"name": "r", "eventPattern": "{}"},
    "EventTarget": {"rule": "r", "arn": "a"},
    "NatGateway": {"allocationId": "a", "subnetId": "s"},
    "NodeGroup": {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": ["s"], "scalingConfig": {"desiredSize": 2}},
    "LifecyclePolicy": {"repository": "r", "policy": "p"},
    "PodIdentityAssociation": {"clusterName": "c", "namespace": "n", "serviceAccount": "s", "roleArn": "r"},
    "QueuePolicy": {"queueUrl": "u", "policy": "{}"},
    "RolePolicy": {"role": "r", "policy": "{}"},
    "RolePolicyAttachment": {"role": "r", "policyArn": "a"},
    "PullThroughCacheRule": {"ecrRepositoryPrefix": "p", "upstreamRegistryUrl": "u"},
    "RepositoryCreationTemplate": {"prefix": "p", "appliedFors": ["PULL_THROUGH_CACHE"]},
    "Route": {"routeTableId": "t", "destinationCidrBlock": "0.0.0.0/0"},
    "RouteTableAssociation": {"routeTableId": "t", "subnetId": "s"},
    "SecretVersion": {"secretId": "s", "secretString": "t"},
    "SecurityGroupIngressRule": {
        "securityGroupId": "g",
        "ipProtocol": "tcp",
        "fromPort": 443,
        "cidrIpv4": "10.0.0.0/8",
    },
    "SecurityGroupEgressRule": {"securityGroupId": "g", "ipProtocol": "-1", "cidrIpv4": "0.0.0.0/0"},
    "VpcEndpoint": {"vpcId": "v", "serviceName": "s3"},
}
# Type, property, old value (None: absent), new value, what happens to the property.
CASES = [
    ("Vpc", "cidrBlock", "10.0.0.0/16", "10.1.0.0/16", "UPDATE_REPLACE"),
    ("Vpc", "enableDnsHostnames", False, True, "UPDATE"),
    ("Vpc", "enableDnsSupport", None, False, "UPDATE"),
    ("Subnet", "cidrBlock", "10.0.0.0/24", "10.0.1.0/24", "UPDATE_REPLACE"),
    ("Subnet", "availabilityZone", "a", "b", "UPDATE_REPLACE"),
    ("Subnet", "vpcId", "v", "w", "UPDATE_REPLACE"),
    ("Subnet", "mapPublicIpOnLaunch", None, True, "UPDATE"),
    ("InternetGateway", "vpcId", "v", "w", "UPDATE"),
    ("Eip", "domain", None, "vpc", "ADD_REPLACE"),
    ("NatGateway", "subnetId", "s", "t", "UPDATE_REPLACE"),
    ("NatGateway", "allocationId", "a", "b", "UPDATE_REPLACE"),
    ("RouteTable", "vpcId", "v", "w", "UPDATE_REPLACE"),
    ("Route", "destinationCidrBlock", "0.0.0.0/0", "10.0.0.0/8", "UPDATE_REPLACE"),
    ("Route", "routeTableId", "t", "u", "UPDATE_REPLACE"),
    ("Route", "natGatewayId", "n", "m", "UPDATE"),
    ("RouteTableAssociation", "subnetId", "s", "t", "UPDATE_REPLACE"),
    ("RouteTableAssociation", "routeTableId", "t", "u", "UPDATE"),
    ("VpcEndpoint", "serviceName", "s3", "sts", "UPDATE_REPLACE"),
    ("VpcEndpoint", "vpcId", "v", "w", "UPDATE_REPLACE"),
    ("VpcEndpoint", "vpcEndpointType", None, "Interface", "UPDATE_REPLACE"),
    ("SecurityGroup", "name", "a", "b", "UPDATE_REPLACE"),
    ("SecurityGroup", "description", "a", "b", "UPDATE_REPLACE"),
    ("SecurityGroup", "vpcId", "v", "w", "UPDATE_REPLACE"),
    ("DefaultSecurityGroup", "vpcId", "v", "w", "UPDATE_REPLACE"),
    ("LaunchTemplate", "name", "a", "b", "UPDATE_REPLACE"),
    ("LaunchTemplate", "userData", "a", "b", "UPDATE"),
    ("SecurityGroupIngressRule", "cidrIpv4", "10.0.0.0/8", "10.0.0.0/9", "UPDATE"),
    ("SecurityGroupIngressRule", "fromPort", 443, 444, "UPDATE"),
    ("SecurityGroupIngressRule", "securityGroupId", "g", "h", "UPDATE_REPLACE"),
    ("SecurityGroupEgressRule", "securityGroupId", "g", "h", "UPDATE_REPLACE"),
    ("Cluster", "name", "c", "d", "UPDATE_REPLACE"),
    ("Cluster", "roleArn", "r", "q", "UPDATE_REPLACE"),
    ("Cluster", "version", "1.35", "1.36", "UPDATE"),
    ("Cluster", "kubernetesNetworkConfig", None, {"serviceIpv4Cidr": "10.9.0.0/16"}, "ADD_REPLACE"),
    ("Cluster", "kubernetesNetworkConfig", None, {"elasticLoadBalancing": {"enabled": True}}, "ADD"),
    ("Cluster", "bootstrapSelfManagedAddons", None, False, "UPDATE_REPLACE"),
    ("Cluster", "encryptionConfig", None, {"resources": ["secrets"]}, "ADD"),
    ("Cluster", "encryptionConfig", {"resources": ["secrets"]}, None, "DELETE_REPLACE"),
    ("Cluster", "deletionProtection", False, True, "UPDATE"),
    ("NodeGroup", "amiType", "a", "b", "UPDATE_REPLACE"),
    ("NodeGroup", "capacityType", "ON_DEMAND", "SPOT", "UPDATE_REPLACE"),
    ("NodeGroup", "clusterName", "c", "d", "UPDATE_REPLACE"),
    ("NodeGroup", "diskSize", 20, 40, "UPDATE_REPLACE"),
    ("NodeGroup", "nodeGroupName", "a", "b", "UPDATE_REPLACE"),
    ("NodeGroup", "nodeRoleArn", "r", "q", "UPDATE_REPLACE"),
    ("NodeGroup", "launchTemplate", {"id": "l", "version": "1"}, None, "DELETE_REPLACE"),
    ("NodeGroup", "version", "1.35", "1.36", "UPDATE"),
    ("Addon", "addonName", "a", "b", "UPDATE_REPLACE"),
    ("Addon", "clusterName", "c", "d", "UPDATE_REPLACE"),
    ("Addon", "addonVersion", "v1", "v2", "UPDATE"),
    ("Addon", "podIdentityAssociations", None, [{"roleArn": "r", "serviceAccount": "s"}], "ADD"),
    ("PodIdentityAssociation", "clusterName", "c", "d", "UPDATE_REPLACE"),
    ("PodIdentityAssociation", "namespace", "n", "m", "UPDATE_REPLACE"),
    ("PodIdentityAssociation", "serviceAccount", "s", "t", "UPDATE_REPLACE"),
    ("PodIdentityAssociation", "roleArn", "r", "q", "UPDATE"),
    ("AccessEntry", "principalArn", "p", "q", "UPDATE_REPLACE"),
    ("AccessEntry", "type", None, "EC2_LINUX", "UPDATE_REPLACE"),
    ("AccessEntry", "userName", "a", "b", "UPDATE"),
    ("AccessPolicyAssociation", "policyArn", "a", "b", "UPDATE_REPLACE"),
    ("Role", "name", "a", "b", "UPDATE_REPLACE"),
    ("Role", "path", None, "/x/", "UPDATE_REPLACE"),
    ("Role", "assumeRolePolicy", "a", "b", "UPDATE"),
    ("Policy", "description", "a", "b", "UPDATE_REPLACE"),
    ("Policy", "policy", "a", "b", "UPDATE"),
    ("RolePolicy", "role", "r", "q", "UPDATE_REPLACE"),
    ("RolePolicy", "policy", "{}", "[]", "UPDATE"),
    ("RolePolicyAttachment", "role", "r", "q", "UPDATE_REPLACE"),
    ("RolePolicyAttachment", "policyArn", "a", "b", "UPDATE_REPLACE"),
    ("Key", "multiRegion", None, True, "ADD_REPLACE"),
    ("Key", "keyUsage", None, "SIGN_VERIFY", "UPDATE_REPLACE"),
    ("Key", "description", "a", "b", "UPDATE"),
    ("Alias", "name", "alias/a", "alias/b", "UPDATE_REPLACE"),
    ("Alias", "targetKeyId", "k", "l", "UPDATE"),
    ("Bucket", "bucket", "a", "b", "UPDATE_REPLACE"),
    ("Bucket", "objectLockEnabled", None, True, "ADD_REPLACE"),
    ("Bucket", "forceDestroy", None, True, "UPDATE"),
    *((facet, "bucket", "a", "b", "UPDATE_REPLACE") for facet in FACETS),
    ("BucketPolicy", "policy", "a", "b", "UPDATE"),
    ("Repository", "name", "a", "b", "UPDATE_REPLACE"),
    ("Repository", "imageTagMutability", None, "IMMUTABLE", "UPDATE"),
    ("LifecyclePolicy", "policy", "a", "b", "UPDATE_REPLACE"),
    ("LifecyclePolicy", "repository", "a", "b", "UPDATE_REPLACE"),
    ("PullThroughCacheRule", "ecrRepositoryPrefix", "a", "b", "UPDATE_REPLACE"),
    ("PullThroughCacheRule", "upstreamRegistryUrl", "a", "b", "UPDATE_REPLACE"),
    ("PullThroughCacheRule", "credentialArn", None, "a", "ADD"),
    ("RepositoryCreationTemplate", "prefix", "a", "b", "UPDATE_REPLACE"),
    ("RepositoryCreationTemplate", "lifecyclePolicy", "a", "b", "UPDATE"),
    ("Secret", "name", "a", "b", "UPDATE_REPLACE"),
    ("Secret", "recoveryWindowInDays", None, 0, "UPDATE"),
    ("SecretVersion", "secretId", "a", "b", "UPDATE_REPLACE"),
    ("SecretVersion", "secretString", "a", "b", "UPDATE_REPLACE"),
    ("Queue", "name", "a", "b", "UPDATE_REPLACE"),
    ("Queue", "fifoQueue", None, True, "UPDATE_REPLACE"),
    ("Queue", "messageRetentionSeconds", None, 300, "UPDATE"),
    ("Queue", "sqsManagedSseEnabled", True, False, "UPDATE"),
    ("QueuePolicy", "queueUrl", "u", "v", "UPDATE_REPLACE"),
    ("QueuePolicy", "policy", "{}", "[]", "UPDATE"),
    ("EventRule", "name", "a", "b", "UPDATE_REPLACE"),
    ("EventRule", "eventBusName", None, "b", "UPDATE_REPLACE"),
    ("EventRule", "eventPattern", "{}", "[]", "UPDATE"),
    ("EventTarget", "rule", "r", "s", "UPDATE_REPLACE"),
    ("EventTarget", "targetId", "a", "b", "UPDATE_REPLACE"),
    ("EventTarget", "arn", "a", "b", "UPDATE"),
]

# Type, what is there besides BASE before and after, what happens at each place.
INSIDE = [
    ("VpcEndpoint", {"routeTableIds": ["a", "c"]}, {"routeTableIds": ["a", "b", "c"]}, {"routeTableIds[1]": "ADD"}),
    (
        "SecurityGroupIngressRule",
        {},
        {"cidrIpv4": None, "referencedSecurityGroupId": "h"},
        {"cidrIpv4": "DELETE_REPLACE", "referencedSecurityGroupId": "ADD_REPLACE"},
    ),
    (
        "Cluster",
        {"accessConfig": {"authenticationMode": "API"}},
        {"accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}},
        {"accessConfig.bootstrapClusterCreatorAdminPermissions": "UPDATE_REPLACE"},
    ),
    (
        "Cluster",
        {"encryptionConfig": {"provider": {"keyArn": "k"}, "resources": ["secrets"]}},
        {"encryptionConfig": {"provider": {"keyArn": "l"}, "resources": ["secrets"]}},
        {"encryptionConfig.provider.keyArn": "UPDATE"},
    ),
    (
        "Cluster",
        {},
        {"vpcConfig": {"subnetIds": ["b", "c"]}},
        {"vpcConfig.subnetIds[0]": "DELETE", "vpcConfig.subnetIds[1]": "ADD"},
    ),
    ("NodeGroup", {}, {"subnetIds": ["s", "t"]}, {"subnetIds[1]": "ADD_REPLACE"}),
    ("NodeGroup", {"instanceTypes": ["a"]}, {"instanceTypes": ["b"]}, {"instanceTypes[0]": "UPDATE_REPLACE"}),
    ("NodeGroup", {"instanceTypes": ["a", "b"]}, {"instanceTypes": ["b"]}, {"instanceTypes[0]": "DELETE_REPLACE"}),
    (
        "NodeGroup",
        {"launchTemplate": {"id": "l", "version": "1"}},
        {"launchTemplate": {"id": "l", "version": "2"}},
        {"launchTemplate.version": "UPDATE"},
    ),
    (
        "NodeGroup",
        {"launchTemplate": {"id": "l", "version": "1"}},
        {"launchTemplate": {"id": "k", "version": "1"}},
        {"launchTemplate.id": "UPDATE_REPLACE"},
    ),
    ("NodeGroup", {}, {"scalingConfig": {"desiredSize": 3}}, {"scalingConfig.desiredSize": "UPDATE"}),
    ("AccessEntry", {"kubernetesGroups": ["a", "b"]}, {"kubernetesGroups": ["b"]}, {"kubernetesGroups[0]": "DELETE"}),
    (
        "AccessPolicyAssociation",
        {},
        {"accessScope": {"type": "namespace", "namespaces": ["a"]}},
        {"accessScope.type": "UPDATE_REPLACE", "accessScope.namespaces": "ADD_REPLACE"},
    ),
    (
        "BucketVersioning",
        {"versioningConfiguration": {"status": "Enabled"}},
        {"versioningConfiguration": {"status": "Suspended"}},
        {"versioningConfiguration.status": "UPDATE"},
    ),
    ("LaunchTemplate", {}, {"tagSpecifications": [{"tags": {"a": "b"}}]}, {"tagSpecifications": "ADD"}),
]


@pytest.mark.parametrize(("name", "key", "old", "new", "kind"), CASES, ids=lambda it: it if isinstance(it, str) else "")
def test_a_change_of_one_property_updates_or_replaces(eu, change, name, key, old, new, kind):
    base = BASE.get(name, {})
    answer = change(eu, TOKENS[name], {**base, key: old}, {**base, key: new}).diff()
    assert (answer.changes, answer.detail, answer.diffs) == (True, {key: kind}, [key])
    assert answer.replaces == ([key] if kind.endswith("_REPLACE") else [])


@pytest.mark.parametrize(("name", "old", "new", "detail"), INSIDE)
def test_a_change_inside_is_shown_at_its_place_and_replaces_by_its_top_level_name(eu, change, name, old, new, detail):
    base = BASE.get(name, {})
    answer = change(eu, TOKENS[name], {**base, **old}, {**base, **new}).diff()
    assert answer.detail == detail
    tops = {path.replace("[", ".").split(".")[0]: kind for path, kind in detail.items()}
    assert answer.diffs == sorted(tops)
    assert answer.replaces == sorted(top for top, kind in tops.items() if kind.endswith("_REPLACE"))


def test_every_type_is_changed_by_a_case():
    assert {case[0] for case in CASES} == TOKENS.keys()
