"""Which fields make Karpenter replace nodes, and which only decide how it acts."""

import pytest

from infra.gpu_pools import GPU_RESOURCE
from ops.impact import drift
from ops.impact.drift import CLASS_TYPE, CLUSTER_TYPE, GROUP_TYPE, POOL_TYPE
from tests.ops.impact.plans import UNKNOWN, changed, resource, spec

WINDOW = "0 9 * * sun UTC for 6h"


def of_pool(change):
    return changed(lambda it: change(spec(it, POOL_TYPE))).drifts


def of_class(change):
    return changed(lambda it: change(spec(it, CLASS_TYPE))).drifts


def said(drifts):
    return [(cause.field, cause.nodes) for it in drifts for cause in it.causes]


def requirement(place, values):
    return lambda its: its["template"]["spec"]["requirements"][place].update(values=values)


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it["limits"].update({GPU_RESOURCE: "9"}),
        lambda it: it["disruption"].update(consolidateAfter="1h", budgets=[]),
        lambda it: it.update(weight=10, replicas=2),
        lambda it: it["template"]["spec"]["taints"].reverse(),
        lambda it: it["template"]["spec"]["requirements"].reverse(),
        requirement(2, ["g6e.2xlarge", "g6e.4xlarge", "g6e.8xlarge"]),
        lambda it: it["template"]["spec"]["requirements"].pop(1),
    ],
    ids=["limits", "disruption", "weight", "taint order", "requirement order", "more types", "less required"],
)
def test_what_only_decides_how_karpenter_acts_drifts_no_node(change):
    assert of_pool(change) == ()


@pytest.mark.parametrize(
    ("change", "field", "nodes"),
    [
        (lambda it: it["template"]["spec"].update(expireAfter="24h"), "template.spec.expireAfter", "all"),
        (
            lambda it: it["template"]["spec"].update(terminationGracePeriod="1m"),
            "template.spec.terminationGracePeriod",
            "all",
        ),
        (lambda it: it["template"]["metadata"]["labels"].update(a="b"), "template.metadata.labels.a", "all"),
        (lambda it: it["template"]["spec"]["nodeClassRef"].update(name="x"), "template.spec.nodeClassRef.name", "all"),
        (lambda it: it["template"]["spec"]["taints"].pop(), "template.spec.taints[b].key", "all"),
        (
            requirement(2, ["g6e.2xlarge"]),
            "template.spec.requirements[node.kubernetes.io/instance-type]",
            "those with g6e.4xlarge",
        ),
        (requirement(1, ["400"]), "template.spec.requirements[x/nvme]", "those that no longer fit"),
        (
            lambda it: it["template"]["spec"]["requirements"].append(
                {"key": "zone", "operator": "In", "values": ["a"]}
            ),
            "template.spec.requirements[zone]",
            "those that no longer fit",
        ),
    ],
    ids=["expiry", "grace", "label", "class", "taint", "fewer types", "more disk", "a new requirement"],
)
def test_the_template_of_a_pool_drifts_its_nodes(change, field, nodes):
    assert (f"NodePool {field}", nodes) in said(of_pool(change))
    assert {it.pool for it in of_pool(change)} == {"l40s"}


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it["subnetSelectorTerms"].append({"id": "subnet-3"}),
        lambda it: it["capacityReservationSelectorTerms"].append({"id": "cr-2"}),
        lambda it: it["subnetSelectorTerms"].reverse(),
        lambda it: it.update(ipPrefixCount=1),
        lambda it: it.update(amiFamily="AL2023"),
    ],
    ids=["a subnet more", "a reservation more", "subnet order", "prefixes", "the family that the alias means"],
)
def test_what_is_not_hashed_of_a_class_drifts_no_node(change):
    assert of_class(change) == ()


@pytest.mark.parametrize(
    ("change", "field", "nodes"),
    [
        (lambda it: it["amiSelectorTerms"][0].update(alias="al2023@v2"), "amiSelectorTerms", "all"),
        (lambda it: it["securityGroupSelectorTerms"].append({"id": "sg-2"}), "securityGroupSelectorTerms", "all"),
        (lambda it: it["subnetSelectorTerms"].pop(), "subnetSelectorTerms", "those in a removed subnet"),
        (
            lambda it: it["subnetSelectorTerms"][0].update(id=UNKNOWN),
            "subnetSelectorTerms",
            "those in a removed subnet",
        ),
        (
            lambda it: it["capacityReservationSelectorTerms"].clear(),
            "capacityReservationSelectorTerms",
            "those of a removed reservation",
        ),
        (lambda it: it.update(userData="#!/bin/bash"), "userData", "all"),
        (lambda it: it["tags"].update(a="c"), "tags.a", "all"),
        (lambda it: it["kubelet"].clear(), "kubelet", "all"),
        (
            lambda it: it["blockDeviceMappings"][0]["ebs"].update(volumeSize="60Gi"),
            "blockDeviceMappings[/dev/xvda].ebs.volumeSize",
            "all",
        ),
        (lambda it: it.update(neverHeardOf=True), "neverHeardOf", "all"),
    ],
    ids=[
        *("image", "security group", "subnet less", "subnet replaced", "reservation less"),
        *("userData", "tag", "kubelet", "disk", "unknown field"),
    ],
)
def test_a_class_drifts_the_nodes_that_it_would_not_make_again(change, field, nodes):
    found = of_class(change)
    assert (f"EC2NodeClass {field}", nodes) in said(found)
    assert [(it.pool, it.at_most, it.gone, it.window) for it in found] == [("l40s", 4, False, WINDOW)]


def test_another_kubernetes_minor_drifts_all_nodes():
    def upgrade(document):
        next(it for it in document["resources"] if it["type"] == CLUSTER_TYPE)["inputs"]["version"] = "1.37"

    assert said(changed(upgrade).drifts) == [("cluster version", "all")]


@pytest.mark.parametrize("action", ["delete", "replace"])
def test_the_nodes_of_a_pool_that_goes_go_with_it_whatever_the_window_says(action):
    def end(document):
        next(it for it in document["resources"] if it["type"] == POOL_TYPE)["action"] = action

    (found,) = changed(end, tree=lambda it: it["gpuPools"]["l40s"].update(updateWindow="never")).drifts
    assert (found.gone, found.stays) == (True, False)


@pytest.mark.parametrize(("window", "stays"), [("always", False), ("never", True)])
def test_the_window_is_the_proposed_one(window, stays):
    impact = changed(
        lambda it: spec(it, CLASS_TYPE).update(userData="x"),
        tree=lambda it: it["gpuPools"]["l40s"].update(updateWindow=window),
    )
    assert [(it.window, it.stays) for it in impact.drifts] == [(window, stays)]


IGNORED = {
    "subnetSelectorTerms",
    "securityGroupSelectorTerms",
    "capacityReservationSelectorTerms",
    "ipPrefixCount",
    "amiSelectorTerms",
    "amiFamily",
}
"""`hash:"ignore"` in pkg/apis/v1/ec2nodeclass.go of karpenter-provider-aws 1.14.1 and 1.15.0 (kubelet apart)."""


def test_every_field_that_the_hash_ignores_has_a_rule_of_its_own():
    assert {*drift._REMOVED, *drift._SETS, *drift._NEVER} == IGNORED


TEMPLATE_TYPE = "aws:ec2/launchTemplate:LaunchTemplate"


def system_nodes(document):
    """A node group of two with a launch template of its own."""
    template = resource(TEMPLATE_TYPE, "system", {"ebs": {"volumeSize": 50}})
    inputs = {"version": "1.36", "scalingConfig": {"desiredSize": 2}, "launchTemplate": {"version": UNKNOWN}}
    document["resources"] += [
        template,
        resource(GROUP_TYPE, "system", inputs, propertyDependencies={"launchTemplate": [template["urn"]]}),
    ]


def larger_disk(document):
    """The template is updated, and with it the group, which has its version."""
    template, group = document["resources"][-2:]
    template["inputs"]["ebs"]["volumeSize"] = 60
    template["action"] = group["action"] = "update"


def upgraded(document):
    document["resources"][-1].update(action="update")
    document["resources"][-1]["inputs"]["version"] = "1.37"


def scaled(document):
    document["resources"][-1].update(action="update")
    document["resources"][-1]["inputs"]["scalingConfig"]["desiredSize"] = 3


def replaced(document):
    larger_disk(document)
    document["resources"][-1]["action"] = "replace"


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (larger_disk, ["launch template ebs.volumeSize"]),
        (upgraded, ["node group version"]),
        (scaled, []),
        (replaced, []),
    ],
    ids=["template", "version", "more of them", "told with what is replaced"],
)
def test_system_nodes_go_for_another_template_or_version(change, fields):
    found = changed(change, before=system_nodes).system_nodes
    assert [(it.group, it.nodes) for it in found] == ([("system", 2)] if fields else [])
    assert [cause.field for it in found for cause in it.causes] == fields
