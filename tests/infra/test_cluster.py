"""The control plane's arguments, and the order around the first nodes."""

import json

import pytest
from pulumi_aws import ec2, eks, iam, kms

from infra.node_role import NODE_POLICIES
from tests.harness import Recording, document, record_program, stack_settings

CLUSTER = "eks:index:Cluster"
BEFORE = ("cluster-vpc-cni", "cluster-kube-proxy", "cluster-eks-pod-identity-agent")
AFTER = ("cluster-coredns", "cluster-metrics-server", "mountpoint-aws-mountpoint-s3-csi-driver")


def test_the_component_makes_no_nodes_groups_or_addons_of_its_own(recording: Recording) -> None:
    inputs = recording.one(CLUSTER).inputs
    assert inputs["skipDefaultNodeGroup"] is True
    assert inputs["skipDefaultSecurityGroups"] is True
    assert inputs["bootstrapSelfManagedAddons"] is False
    assert inputs["useDefaultVpcCni"] is True
    assert inputs["corednsAddonOptions"] == {"enabled": False}
    assert inputs["kubeProxyAddonOptions"] == {"enabled": False}
    assert inputs["createOidcProvider"] is False


def test_the_control_plane_has_its_interfaces_in_private_subnets(recording: Recording, stack: str) -> None:
    inputs = recording.one(CLUSTER).inputs
    zones = stack_settings(stack)["cluster"]["zones"]
    assert inputs["privateSubnetIds"] == [f"network-private-{zone}-id" for zone in zones]
    assert "publicSubnetIds" not in inputs


def test_EKS_01_authentication_is_api_with_explicit_entries_and_none_for_the_node_role(recording: Recording) -> None:
    """EKS makes the entry of a managed node group's role itself; a second one is a 409."""
    inputs = recording.one(CLUSTER).inputs
    assert inputs["authenticationMode"] == "API"
    assert "roleMappings" not in inputs
    assert "userMappings" not in inputs
    assert inputs["accessEntries"] == {
        "platform-team": {
            "principalArn": "arn:aws:iam::000000000000:role/platform-team",
            "accessPolicies": {
                "policy": {
                    "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
                    "accessScope": {"type": "cluster"},
                }
            },
        }
    }
    assert [r.name for r in recording.maybe(eks.AccessEntry)] == ["karpenter-nodes"]
    maps = {r.inputs["metadata"]["name"] for r in recording.maybe("kubernetes:core/v1:ConfigMap")}
    assert "aws-auth" not in maps


def test_EKS_01_the_node_role_has_worker_cni_and_pull_rights(recording: Recording) -> None:
    attached = [r for r in recording.all(iam.RolePolicyAttachment) if r.parent.endswith("::cluster-system")]
    assert {r.inputs["policyArn"] for r in attached} == {f"arn:aws:iam::aws:policy/{name}" for name in NODE_POLICIES}
    assert {"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"} <= set(
        NODE_POLICIES
    )
    trust = document(recording.one(iam.Role, "cluster-system"), "assumeRolePolicy")["Statement"]
    assert [s["Principal"] for s in trust] == [{"Service": "ec2.amazonaws.com"}]


def test_an_entry_for_namespaces_is_scoped_to_them() -> None:
    raw = stack_settings("dev")
    raw["cluster"]["access"]["platform-team"] |= {"policy": "edit", "namespaces": ["chat"]}
    (policy,) = record_program(raw).one(CLUSTER).inputs["accessEntries"]["platform-team"]["accessPolicies"].values()
    assert policy["accessScope"] == {"type": "namespace", "namespaces": ["chat"]}


def test_the_stack_file_decides_endpoint_logs_and_protection(recording: Recording, stack: str) -> None:
    settings, inputs = stack_settings(stack)["cluster"], recording.one(CLUSTER).inputs
    assert inputs["version"] == settings["version"]
    assert inputs["endpointPrivateAccess"] is True
    assert inputs["endpointPublicAccess"] is (settings["publicAccess"] != [])
    assert inputs.get("publicAccessCidrs", []) == settings["publicAccess"]
    assert inputs["enabledClusterLogTypes"] == settings["logs"]
    assert inputs["deletionProtection"] is settings["deletionProtection"]
    assert inputs["kubernetesServiceIpAddressRange"] == settings["serviceCidr"]


@pytest.mark.parametrize(
    ("wish", "made", "given"),
    [("aws", 0, None), ("stack", 1, "key"), ("arn:aws:kms:us-west-2:000000000000:key/1", 0, "key/1")],
)
def test_secrets_are_encrypted_with_the_wished_key(wish: str, made: int, given: str | None) -> None:
    raw = stack_settings("dev")
    raw["cluster"]["secretsKey"] = wish
    recorded = record_program(raw)
    assert [key.inputs["enableKeyRotation"] for key in recorded.maybe(kms.Key)] == [True] * made
    arn = recorded.one(CLUSTER).inputs.get("encryptionConfigKeyArn")
    assert (arn is None) if given is None else (given in arn or "cluster-secrets" in arn)


def test_agents_come_before_nodes_and_deployments_after(recording: Recording) -> None:
    """The CNI after nodes leaves them NotReady; CoreDNS before nodes is DEGRADED (aws.md 0.24)."""
    nodes = recording.one(eks.NodeGroup)
    addons = {r.name: r for r in recording.all(eks.Addon)}
    assert set(addons) == {*BEFORE, *AFTER}
    for name in BEFORE:
        assert addons[name].urn in recording.needs(nodes.urn)
    for name in AFTER:
        assert nodes.urn in recording.needs(addons[name].urn)


def test_the_control_plane_goes_before_the_network_and_comes_after_it(recording: Recording) -> None:
    """No id of a route or gateway is an input of the cluster: without the edge they are destroyed beside the nodes."""
    needed = recording.needs(recording.one(CLUSTER).urn)
    for kind in (ec2.Route, ec2.NatGateway, ec2.VpcEndpoint, ec2.RouteTableAssociation):
        assert {r.urn for r in recording.all(kind)} <= needed


def test_addons_take_over_what_stands_in_their_place(recording: Recording) -> None:
    for addon in recording.all(eks.Addon):
        assert addon.inputs["resolveConflictsOnCreate"] == "OVERWRITE"
        assert addon.inputs["resolveConflictsOnUpdate"] == "OVERWRITE"


def test_an_old_minor_is_upgraded_instead_of_paid_for(recording: Recording) -> None:
    assert recording.one(CLUSTER).inputs["upgradePolicy"] == {"supportType": "STANDARD"}


def test_nodes_wait_for_their_rights_and_their_routes(recording: Recording) -> None:
    needed = recording.needs(recording.one(eks.NodeGroup).urn)
    rights = {r.urn for r in recording.all(iam.RolePolicyAttachment) if r.name.startswith("cluster-system-")}
    assert len(rights) == len(NODE_POLICIES)
    routes = {
        r.urn for r in (*recording.all(ec2.Route), *recording.all(ec2.NatGateway), *recording.all(ec2.VpcEndpoint))
    }
    assert rights | routes <= needed


def test_system_nodes_stand_in_the_two_zones_of_the_cluster(recording: Recording) -> None:
    assert recording.one(eks.NodeGroup).inputs["subnetIds"] == [
        "network-private-us-west-2a-id",
        "network-private-us-west-2b-id",
    ]


def test_system_nodes_follow_the_control_plane_and_are_as_many_as_wished(recording: Recording, stack: str) -> None:
    settings, group = stack_settings(stack)["cluster"], recording.one(eks.NodeGroup).inputs
    count = settings["systemNodes"]["count"]
    assert group["version"] == settings["version"]
    assert group["scalingConfig"] == {"minSize": count, "desiredSize": count, "maxSize": count}
    assert group["instanceTypes"] == settings["systemNodes"]["instanceTypes"]
    assert group["amiType"] == "AL2023_x86_64_STANDARD"
    assert group["launchTemplate"]["id"] == "cluster-system-id"
    (disk,) = recording.one(ec2.LaunchTemplate).inputs["blockDeviceMappings"]
    assert disk["ebs"]["volumeSize"] == settings["systemNodes"]["diskGib"]


def test_a_protected_stack_stops_a_destroy_at_its_start(recording: Recording, stack: str) -> None:
    """EKS's own protection speaks when workloads and nodes are gone already.

    An access entry must stay removable. The key of the secrets and the bucket are what no other setting may take away.
    """
    protected = {r.name for r in recording.registered if r.options["protect"]}
    settings = stack_settings(stack)["cluster"]
    guarded = {"network", "models", *(["cluster-secrets"] if settings["secretsKey"] == "stack" else [])}
    assert protected == (guarded if settings["deletionProtection"] else set())


def test_system_nodes_hide_their_role_from_pods_and_carry_the_stacks_tags(recording: Recording, stack: str) -> None:
    template = recording.one(ec2.LaunchTemplate).inputs
    assert template["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
    }
    assert template["blockDeviceMappings"][0]["ebs"]["encrypted"] == "true"
    for specification in template["tagSpecifications"]:
        assert specification["tags"] == {"Name": f"inference-{stack}-system", **stack_settings(stack)["tags"]}


def test_agents_run_on_tainted_gpu_nodes(recording: Recording) -> None:
    """The Pod Identity agent without a toleration leaves GPU pods without credentials (terraform-aws-eks#3621)."""
    configuration = {r.name: json.loads(r.inputs.get("configurationValues", "{}")) for r in recording.all(eks.Addon)}
    assert configuration == {
        "cluster-vpc-cni": {"enableNetworkPolicy": "true"},
        "cluster-kube-proxy": {},
        "cluster-eks-pod-identity-agent": {"tolerations": [{"operator": "Exists"}]},
        "cluster-coredns": {},
        "cluster-metrics-server": {},
        "mountpoint-aws-mountpoint-s3-csi-driver": {"node": {"tolerateAllTaints": True}},
    }


def test_default_leaves_the_version_to_aws_and_a_pin_is_passed_on() -> None:
    raw = stack_settings("dev")
    raw["cluster"]["addons"]["coredns"] = "v1.12.4-eksbuild.1"
    versions = {r.name: r.inputs.get("addonVersion") for r in record_program(raw).all(eks.Addon)}
    assert versions.pop("cluster-coredns") == "v1.12.4-eksbuild.1"
    assert set(versions.values()) == {None}


def test_the_kubernetes_provider_comes_after_the_whole_cluster(recording: Recording) -> None:
    """So that objects are created after nodes and add-ons, and destroyed before them (aws.md 8.4)."""
    provider = recording.one("pulumi:providers:kubernetes")
    needed = recording.needs(provider.urn)
    for kind in (eks.NodeGroup, ec2.NatGateway, ec2.Route):
        assert {r.urn for r in recording.all(kind)} <= needed
    assert {r.urn for r in recording.all(eks.Addon) if r.name.startswith("cluster-")} <= needed
