"""Karpenter, its pools and what both need, in the order in which a real destroy and a real up touch them."""

import pytest

from tests.rehearsal.life.calls import positions

POOLS = ("kubernetes:karpenter.sh/v1:NodePool", "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
CONTROLLER = "kubernetes:helm.sh/v3:Release"
WAY_OUT = ("aws:ec2/natGateway:", "aws:ec2/route:", "aws:ec2/routeTableAssociation:", "aws:ec2/vpcEndpoint:")
SUPPLY = {
    "controller": (CONTROLLER,),
    "rights": ("aws:iam/policy:", "aws:iam/rolePolicyAttachment:", "aws:iam/role:"),
    "identity": ("aws:eks/podIdentityAssociation:", "aws:eks/accessEntry:"),
    "queue": ("aws:sqs/", "aws:cloudwatch/"),
    "nodes and their agents": ("aws:eks/nodeGroup:", "aws:eks/addon:"),
    "network": WAY_OUT,
}


@pytest.mark.parametrize("needed", SUPPLY)
def test_pools_go_while_everything_that_ends_a_node_still_stands(taken_down, needed):
    """Else instances go on without anybody who ends them (karpenter-provider-aws#1134, #4223)."""
    assert max(positions(taken_down, *POOLS)) < min(positions(taken_down, *SUPPLY[needed]))


@pytest.mark.parametrize("needed", SUPPLY)
def test_pools_come_when_everything_that_a_node_needs_stands(brought_up, needed):
    """A pod that waits makes a node at once."""
    assert max(positions(brought_up[1], *SUPPLY[needed])) < min(positions(brought_up[1], *POOLS))


def test_workloads_go_before_the_pools_that_hold_their_nodes(taken_down):
    assert max(positions(taken_down, "kubernetes:apps/v1:Deployment")) < min(positions(taken_down, *POOLS))


def test_a_pool_goes_before_its_class(taken_down):
    """The class waits for every claim, then deletes the instance profile that holds the node role."""
    pools, classes = (positions(taken_down, kind) for kind in POOLS)
    assert max(pools) < min(classes)


def test_the_controller_goes_before_its_definitions_and_both_before_its_rights(taken_down):
    releases = [call.name for call in taken_down if call.type == CONTROLLER]
    assert releases.index("karpenter") < releases.index("karpenter-crd")
    rights = [index for index, call in enumerate(taken_down) if call.name.startswith("karpenter-controller")]
    assert rights
    assert max(positions(taken_down, CONTROLLER)) < min(rights)


def test_an_access_entry_goes_before_the_role_that_it_is_bound_to(taken_down):
    of_nodes = [call.type for call in taken_down if call.name == "karpenter-nodes"]
    assert of_nodes.index("aws:eks/accessEntry:AccessEntry") < of_nodes.index("aws:iam/role:Role")
