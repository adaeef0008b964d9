"""What is left and what is new after an update in place."""

from dataclasses import replace

import pytest

from rehearsal.providers.values import UNKNOWN
from tests.rehearsal.conftest import urn

CLUSTER = "aws:eks/cluster:Cluster"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
VPC = "aws:ec2/vpc:Vpc"
CONTROL = {"name": "c", "roleArn": "r", "vpcConfig": {"subnetIds": ["a"]}}


def test_computed_values_inside_an_object_survive_an_update_of_that_object(eu, change):
    made = change(eu, CLUSTER, CONTROL, {**CONTROL, "vpcConfig": {"subnetIds": ["a", "b"]}})
    outputs = made.update()
    assert outputs == {**made.outputs, "vpcConfig": {**made.outputs["vpcConfig"], "subnetIds": ["a", "b"]}}
    assert outputs["vpcConfig"]["clusterSecurityGroupId"].startswith("sg-")
    assert eu.read(CLUSTER, made.id)[1] == outputs


def test_an_input_that_is_left_out_is_gone(eu, change):
    made = change(eu, CLUSTER, {**CONTROL, "tags": {"a": "b"}}, CONTROL)
    assert "tags" not in made.update()


def test_what_the_cloud_added_to_a_kubernetes_object_survives(connect, change):
    api = connect("kubernetes", kubeconfig="{}")
    metadata = {"name": "a", "namespace": "x"}
    made = change(
        api,
        "kubernetes:core/v1:Service",
        {"metadata": metadata, "spec": {"ports": [{"port": 80}]}},
        {"metadata": {**metadata, "labels": {"a": "b"}}, "spec": {"ports": [{"port": 81}]}},
    )
    outputs = made.update()
    assert outputs["metadata"] == {**made.outputs["metadata"], "labels": {"a": "b"}}
    assert outputs["spec"] == {**made.outputs["spec"], "ports": [{"port": 81}]}


def test_a_preview_keeps_what_the_update_will_not_change(eu, change):
    """Or everything that depends on the resource would be shown as changed, and replaced where it may not change."""
    made = change(eu, CLUSTER, CONTROL, {**CONTROL, "deletionProtection": True})
    assert made.update(preview=True) == {**made.outputs, "deletionProtection": True}
    assert eu.read(CLUSTER, made.id)[1] == made.outputs


def test_an_update_of_what_has_gone_is_refused(eu, change, refused):
    made = change(eu, VPC, {}, {"tags": {"a": "b"}})
    eu.delete(VPC, made.id)
    assert refused(made.update) == f"{urn(VPC, 'it')}: {made.id} does not exist in the offline cloud"


@pytest.mark.parametrize(
    ("new", "previewed", "after"),
    [
        ({"userData": "b"}, UNKNOWN, 2),
        ({"userData": "a", "tags": {"a": "b"}}, UNKNOWN, 1),
        ({"userData": "a", "description": "x"}, 1, 2),
        ({"userData": "a", "updateDefaultVersion": True}, 1, 1),
    ],
    ids=["contents", "tags", "description", "bookkeeping"],
)
def test_a_launch_template_gets_a_new_version(eu, change, new, previewed, after):
    made = change(eu, TEMPLATE, {"userData": "a"}, new)
    assert made.update(preview=True)["latestVersion"] == previewed
    assert made.update()["latestVersion"] == after
    if after == 2:
        again = replace(made, outputs=made.outputs | {"latestVersion": 2}, olds=made.news, news=made.olds)
        assert again.update()["latestVersion"] == 3


@pytest.mark.parametrize(("old", "new"), [("1.34", "1.36"), ("1.36", "1.35"), ("1.36", "2.0")])
def test_a_cluster_goes_one_minor_version_up_at_a_time(eu, change, refused, old, new):
    made = change(eu, CLUSTER, {**CONTROL, "version": old}, {**CONTROL, "version": new})
    assert made.update(preview=True)["version"] == new
    assert refused(made.update) == (
        f"{urn(CLUSTER, 'it')}: InvalidParameterException: Unsupported Kubernetes minor version update "
        f"from {old} to {new}"
    )
    assert eu.read(CLUSTER, made.id)[1]["version"] == old


def test_a_cluster_is_upgraded_in_place(eu, change):
    made = change(eu, CLUSTER, {**CONTROL, "version": "1.35"}, {**CONTROL, "version": "1.36"})
    assert made.update() == {**made.outputs, "version": "1.36"}
