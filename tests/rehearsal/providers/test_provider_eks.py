"""What `eks.Cluster` registers on the real engine, and what it refuses.

The table is that of the real component (pulumi-eks 4.4 run from source).
"""

import json

import pytest

from rehearsal.plan.plan import UNKNOWN
from rehearsal.providers.eks.arguments import refuse_unmodelled

GOOD = {
    "name": "dev",
    "version": "1.36",
    "vpcId": "vpc-1",
    "privateSubnetIds": ["a"],
    "skipDefaultNodeGroup": True,
    "skipDefaultSecurityGroups": True,
    "useDefaultVpcCni": True,
    "bootstrapSelfManagedAddons": False,
    "authenticationMode": "API",
    "kubeProxyAddonOptions": {"enabled": False},
}


def _children(plan):
    below = [it for it in plan.resources if "eks:index:Cluster$" in it.urn]
    return {(it.type, it.name): it for it in below}


def test_the_children_are_those_of_the_real_component(tiny):
    parents = {key: child.parent.rpartition("::")[2] for key, child in _children(tiny).items()}
    assert parents == {
        ("eks:index:ServiceRole", "tiny-eksRole"): "tiny",
        ("aws:iam/role:Role", "tiny-eksRole-role"): "tiny-eksRole",
        ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "tiny-eksRole-4b490823"): "tiny-eksRole",
        ("aws:eks/cluster:Cluster", "tiny-eksCluster"): "tiny",
        ("aws:eks/accessEntry:AccessEntry", "tiny-admin"): "tiny",
        ("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", "tiny-admin-a"): "tiny-admin",
        ("pulumi:providers:kubernetes", "tiny-eks-k8s"): "tiny",
    }


def test_the_cluster_has_the_inputs_of_the_real_component(tiny):
    cluster = tiny.one("aws:eks/cluster:Cluster")
    assert cluster.inputs == {
        "name": "tiny-dev",
        "version": "1.36",
        "region": "eu-west-1",
        "roleArn": UNKNOWN,
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
        "bootstrapSelfManagedAddons": False,
        "vpcConfig": {
            "subnetIds": [UNKNOWN, UNKNOWN],
            "endpointPrivateAccess": True,
            "endpointPublicAccess": True,
            "publicAccessCidrs": ["203.0.113.0/24"],
        },
        "tags": {"Name": "tiny-eksCluster"},
        "tagsAll": {"Name": "tiny-eksCluster", "team": "ml", "stack": "dev"},
    }


def test_the_role_trusts_eks_to_assume_and_to_tag(tiny):
    policy = json.loads(tiny.one("aws:iam/role:Role").inputs["assumeRolePolicy"])
    assert policy["Statement"] == [
        {
            "Action": ["sts:AssumeRole", "sts:TagSession"],
            "Effect": "Allow",
            "Principal": {"Service": ["eks.amazonaws.com"]},
        }
    ]


def test_aws_children_are_on_the_provider_that_the_component_was_given(tiny):
    providers = {it.provider for it in _children(tiny).values() if it.type.startswith("aws:")}
    assert providers == {tiny.one("pulumi:providers:aws", "main").urn}


def test_the_cluster_waits_for_the_policy_and_gets_its_values_from_role_and_subnets(tiny):
    cluster = tiny.one("aws:eks/cluster:Cluster")
    assert tiny.one("aws:iam/rolePolicyAttachment:RolePolicyAttachment").urn in cluster.dependencies
    subnets = {it.urn for it in tiny.of("aws:ec2/subnet:Subnet")}
    assert subnets <= set(cluster.property_dependencies["vpcConfig"])
    assert set(cluster.property_dependencies["roleArn"]) == {tiny.one("aws:iam/role:Role").urn}


def test_the_component_waits_for_what_it_depends_on_with_all_its_children(tiny):
    component = tiny.one("eks:index:Cluster")
    network = {it.urn for it in tiny.resources if "tiny:index:Network$" in it.urn}
    assert len(network) == 3
    assert network <= set(component.dependencies)


def test_what_only_exists_after_up_is_unknown_in_the_program(tiny):
    assert tiny.outputs["securityGroup"] == UNKNOWN
    assert tiny.one("pulumi:providers:kubernetes", "api").inputs["kubeconfig"] == UNKNOWN


def test_the_arguments_that_the_program_uses_are_honoured():
    refuse_unmodelled("c", GOOD)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"skipDefaultNodeGroup": False},
            "`skipDefaultNodeGroup`: set it to True; the offline eks provider does not model a default node group",
        ),
        (
            {"skipDefaultSecurityGroups": None},
            "`skipDefaultSecurityGroups`: set it to True; the offline eks provider does not model default security "
            "groups",
        ),
        (
            {"bootstrapSelfManagedAddons": True},
            "`bootstrapSelfManagedAddons`: set it to False; the offline eks provider does not model self-managed "
            "add-ons",
        ),
        (
            {"authenticationMode": "CONFIG_MAP"},
            "`authenticationMode`: set it to 'API'; the offline eks provider does not model an aws-auth ConfigMap",
        ),
        (
            {"kubeProxyAddonOptions": None},
            "`kubeProxyAddonOptions`: set enabled=False; the offline eks provider does not model an add-on",
        ),
        (
            {"corednsAddonOptions": {"enabled": True}},
            "`corednsAddonOptions`: set enabled=False; the offline eks provider does not model an add-on",
        ),
        (
            {"createOidcProvider": True},
            "`createOidcProvider`: leave it off; the offline eks provider does not model an OIDC provider",
        ),
        (
            {"vpcId": None},
            "`vpcId`: set it; the offline eks provider does not model a look-up of the default VPC",
        ),
        (
            {"fargate": True},
            "the offline eks provider does not model `fargate`: leave it out, or build it in "
            "rehearsal/providers/eks/cluster.py",
        ),
        (
            {"publicAccessCidrs": ["10.0.0.0/8"], "endpointPublicAccess": False},
            "`publicAccessCidrs` can only be set when `endpointPublicAccess` is true",
        ),
    ],
)
def test_an_argument_that_is_not_modelled_is_refused(change, message):
    with pytest.raises(ValueError, match=r"^eks\.Cluster") as caught:
        refuse_unmodelled("c", {**GOOD, **change})
    assert str(caught.value) == f"eks.Cluster 'c': {message}"
