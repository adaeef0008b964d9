"""What is replaced and deleted: what forces it, what only follows, what holds things that nobody brings back."""

import pytest

from ops.impact.resources import STATEFUL, grouped
from tests.ops.impact.plans import changed, resource

VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"


def found(*resources):
    return changed(lambda it: it["resources"].extend(resources)).resources


def replaced(token, name, forced, **more):
    return resource(token, name, {}, action="replace", changed=dict.fromkeys(forced, "update-replace"), **more)


def test_what_forces_a_replacement_is_told_and_what_follows_is_told_apart():
    vpc = replaced(VPC, "network", ["cidrBlock"])
    own = replaced(SUBNET, "own", ["cidrBlock", "vpcId"], propertyDependencies={"vpcId": [vpc["urn"]]})
    follows = replaced("aws:ec2/route:Route", "r", ["subnetIds[0]"], propertyDependencies={"subnetIds": [vpc["urn"]]})
    assert [(it.name, it.forced_by, it.follows) for it in found(vpc, own, follows).of("replace")] == [
        ("network", ("cidrBlock",), False),
        ("own", ("cidrBlock", "vpcId"), False),
        ("r", ("subnetIds[0]",), True),
    ]


def test_of_several_changes_only_the_forcing_one_is_told():
    changed_too = resource(VPC, "v", {}, action="replace", changed={"tags": "update", "cidrBlock": "update-replace"})
    assert [it.forced_by for it in found(changed_too).of("replace")] == [("cidrBlock",)]


@pytest.mark.parametrize("token", STATEFUL)
@pytest.mark.parametrize("action", ["replace", "delete"])
def test_what_holds_things_is_marked(token, action):
    (only,) = found(resource(token, "x", {}, action=action)).ended
    assert (only.stateful, only.retained) == (STATEFUL[token], False)


def test_what_is_given_up_and_stays_is_marked():
    (only,) = found(resource("aws:s3/bucket:Bucket", "x", {}, action="delete", retainOnDelete=True)).ended
    assert only.retained


def test_a_file_of_a_pod_is_routine():
    its = found(resource("kubernetes:core/v1:ConfigMap", "programs", {}, action="replace"))
    assert (its.of("replace"), [it.routine for it in its.ended]) == ((), [True])


def test_deletions_are_counted_by_their_component():
    parent = "urn:pulumi:dev::vllm-eks::vllm-eks:serving:VllmServer$vllm-eks:serving:Part::chat"
    its = found(*(resource(VPC, name, {}, action="delete", parent=parent) for name in "ab"))
    assert grouped(its.of("delete")) == {"Part chat": 2}


def test_components_and_providers_are_no_resources():
    its = found(
        resource("vllm-eks:infra:Thing", "t", {}, action="delete", custom=False),
        resource("pulumi:providers:kubernetes", "p", {}, action="replace"),
    )
    assert (its.ended, dict(its.counts)) == ((), {"same": 4})
