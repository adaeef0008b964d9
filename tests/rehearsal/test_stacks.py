"""The checked-in stack files on the real Pulumi engine, and what it sees compared with what the mocks saw."""

from functools import cache

from rehearsal.plan import UNKNOWN, Plan, PlannedResource
from rehearsal.preview import preview
from tests.harness import ROOT, stack_recording, stack_settings

INSIDE_EKS = "eks:index:Cluster$"
"""The component's own children: the engine sees them, mocks do not."""


@cache
def planned(stack: str) -> Plan:
    return preview(stack, project=ROOT)


def test_engine_and_mocks_see_the_same_resources(stack: str) -> None:
    engine = {
        (resource.type, resource.name)
        for resource in planned(stack).resources
        if INSIDE_EKS not in resource.urn and resource.type != "pulumi:pulumi:Stack" and not _engines_own(resource)
    }
    assert engine == {(r.kind, r.name) for r in stack_recording(stack).registered}


def test_nothing_stands_below_an_unexpected_parent(stack: str) -> None:
    plan = planned(stack)
    for resource in plan.resources:
        if resource.custom and not resource.type.startswith("pulumi:providers:"):
            assert "vllm-eks:" in resource.urn, f"{resource.urn} hangs off no component of ours"


def test_addon_versions_are_left_to_aws_and_never_invented(stack: str) -> None:
    addons = planned(stack).of("aws:eks/addon:Addon")
    assert len(addons) == 6
    assert [addon.name for addon in addons if "addonVersion" in addon.inputs] == []


def test_default_tags_reach_every_taggable_aws_resource(stack: str) -> None:
    tags = stack_settings(stack)["tags"]
    tagged = [r for r in planned(stack).resources if "tagsAll" in r.inputs]
    assert len(tagged) > 20
    for resource in tagged:
        assert tags.items() <= resource.inputs["tagsAll"].items(), resource.urn


def test_what_only_aws_knows_is_unknown_in_the_plan(stack: str) -> None:
    plan = planned(stack)
    assert plan.outputs["kubeconfig"] == UNKNOWN
    assert plan.outputs["clusterName"] == stack_settings(stack)["name"]
    assert plan.one("pulumi:providers:kubernetes", "kubernetes").inputs["kubeconfig"] == UNKNOWN


def test_policies_are_readable_in_the_plan(stack: str) -> None:
    """They name the bucket and the cluster by values that are known before `up`: a reviewer sees them."""
    policies = planned(stack).of("aws:iam/rolePolicy:RolePolicy")
    assert len(policies) == 2
    for policy in policies:
        assert stack_settings(stack)["modelBucket"]["name"] in policy.inputs["policy"]


def test_PUL_01_no_text_of_the_plan_holds_an_output_instead_of_its_value(stack: str) -> None:
    assert "Output object" not in repr(planned(stack).as_json())


def _engines_own(resource: PlannedResource) -> bool:
    """Default providers of `eks` (it has no settings of its own) and of the engine's built-in resources."""
    return resource.type.startswith("pulumi:providers:") and resource.name.startswith("default")
