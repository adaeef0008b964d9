"""One key changed at a time: it changes something, and nothing that holds state is made anew unless the table says so.

This sees inputs, not what the cloud does with them: which input forces a replacement is written down here.
"""

from typing import Any

import pulumi
import pytest

from tests.harness import STACKS, record_program, stack_recording, stack_settings
from tests.recording import Registration
from tests.stack.toggles import TOGGLES, Toggle
from tests.stack.toggles.fields import keys, paths

FORCES = {
    "aws:ec2/vpc:Vpc": ("cidrBlock",),
    "aws:ec2/subnet:Subnet": ("vpcId", "cidrBlock", "availabilityZone"),
    "eks:index:Cluster": ("name", "vpcId", "kubernetesServiceIpAddressRange", "authenticationMode"),
    "aws:s3/bucket:Bucket": ("bucket",),
    "aws:ecr/repository:Repository": ("name",),
    "aws:eks/nodeGroup:NodeGroup": (
        *("nodeGroupName", "clusterName", "nodeRoleArn", "subnetIds", "amiType", "instanceTypes", "capacityType"),
        *("diskSize", "launchTemplate.id"),
    ),
}
"""What holds state, and the inputs whose change makes it anew."""

SET_ONCE = {"eks:index:Cluster": ("encryptionConfigKeyArn",)}
"""Inputs that may be set later, and whose removal after that makes anew."""

SETS = ("subnetIds",)
"""Lists whose order means nothing to the provider."""


def of(inputs: dict[str, Any], path: str) -> Any:
    value: Any = inputs
    for step in path.split("."):
        value = (value or {}).get(step)
    return sorted(value) if path in SETS and value else value


def made_anew(before: Registration, after: Registration) -> bool:
    def differs(path: str) -> bool:
        return bool(of(before.inputs, path) != of(after.inputs, path))

    return any(differs(path) for path in FORCES.get(before.kind, ())) or any(
        before.inputs.get(path) is not None and after.inputs.get(path) is None for path in SET_ONCE.get(before.kind, ())
    )


def labels(registered: dict[str, Registration], urns: set[str], *, stateful: bool = False) -> set[str]:
    return {registered[urn].label for urn in urns if not stateful or registered[urn].kind in FORCES}


def facts(registration: Registration) -> tuple[Any, ...]:
    """What makes it another resource. Not its dependencies: an edge is nothing that a setting can be for."""
    return (registration.inputs, registration.options, registration.provider)


@pytest.mark.parametrize("toggle", TOGGLES, ids=str)
def test_a_changed_key_changes_what_it_should_and_moves_nothing_that_holds_state(toggle: Toggle) -> None:
    old = stack_recording(toggle.stack)
    account = stack_settings(toggle.stack)["account"]["id"]
    if toggle.refused is not None:
        with pytest.raises(pulumi.RunError) as refusal:
            record_program(toggle.settings())
        assert str(refusal.value) == f"the stack file has 1 mistake:\n  {toggle.refused}"
        return
    new = record_program(toggle.settings(), account=account)
    before = {r.urn: r for r in old.registered}
    after = {r.urn: r for r in new.registered}
    kept, came, gone = before.keys() & after.keys(), after.keys() - before.keys(), before.keys() - after.keys()
    different = {urn for urn in kept if facts(before[urn]) != facts(after[urn])}
    outputs = {name for name in old.outputs if old.outputs[name] != new.outputs[name]}

    assert labels(after, came, stateful=True) == set(toggle.adds)
    assert labels(before, gone, stateful=True) == set(toggle.removes)
    assert labels(before, {urn for urn in kept if made_anew(before[urn], after[urn])}) == set(toggle.replaces)
    assert set(toggle.changes) <= labels(before, different) | labels(after, came) | labels(before, gone)
    assert outputs == set(toggle.outputs)
    if toggle.nothing:
        assert different | came | gone | outputs == set()
    if toggle.options_only:
        assert [urn for urn in kept if before[urn].inputs != after[urn].inputs] == []


@pytest.mark.parametrize("toggle", [it for it in TOGGLES if it.also and it.nothing is None], ids=str)
def test_it_is_the_key_that_changes_something_and_not_what_changes_with_it(toggle: Toggle) -> None:
    try:
        beside = record_program(toggle.settings_without())
    except pulumi.RunError:
        return  # one is refused without the other: they are one change
    both = record_program(toggle.settings())
    before, after = (({r.urn: facts(r) for r in it.registered}, it.outputs) for it in (beside, both))
    assert before != after


@pytest.mark.parametrize("toggle", TOGGLES, ids=str)
def test_a_toggle_says_exactly_one_thing_about_a_key_that_exists(toggle: Toggle) -> None:
    acts = bool(toggle.changes or toggle.outputs or toggle.replaces or toggle.adds or toggle.removes)
    assert [toggle.refused is not None, toggle.nothing is not None, acts].count(True) == 1
    assert toggle.settings() != stack_settings(toggle.stack)
    for path in (toggle.path, *toggle.also):
        assert [key.pattern for key in keys() if key.covers(path)], f"{path} is no key of the stack file"


@pytest.mark.parametrize("pattern", [key.pattern for key in keys()])
def test_every_key_of_a_stack_file_is_toggled(pattern: str) -> None:
    """Config that is read and then ignored is a lie. A new key needs a row in tests/stack/toggles."""
    (key,) = [key for key in keys() if key.pattern == pattern]
    accepted = [toggle for toggle in TOGGLES if toggle.refused is None and key.covers(toggle.path)]
    assert accepted, f"tests/stack/toggles: no row changes {pattern} to something that is accepted"


@pytest.mark.parametrize("stack", STACKS)
def test_the_walk_over_the_sections_finds_every_key_of_the_stack_files(stack: str) -> None:
    found = list(paths(stack_settings(stack)))
    assert len(found) > 40
    for path in found:
        assert len([key for key in keys() if key.covers(path)]) == 1, path


@pytest.mark.parametrize(
    ("kind", "before", "after", "anew"),
    [
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}, {"cidrBlock": "10.1.0.0/16"}, True),
        ("aws:ec2/vpc:Vpc", {"tags": {"a": "b"}}, {}, False),
        ("aws:eks/nodeGroup:NodeGroup", {"subnetIds": ["a", "b"]}, {"subnetIds": ["b", "a"]}, False),
        ("aws:eks/nodeGroup:NodeGroup", {"subnetIds": ["a", "b"]}, {"subnetIds": ["a", "c"]}, True),
        ("aws:eks/nodeGroup:NodeGroup", {"launchTemplate": {"id": "a"}}, {"launchTemplate": {"id": "b"}}, True),
        ("aws:eks/nodeGroup:NodeGroup", {"launchTemplate": {"version": "1"}}, {"launchTemplate": {}}, False),
        ("eks:index:Cluster", {}, {"encryptionConfigKeyArn": "a"}, False),
        ("eks:index:Cluster", {"encryptionConfigKeyArn": "a"}, {}, True),
        ("eks:index:Cluster", {"encryptionConfigKeyArn": "a"}, {"encryptionConfigKeyArn": "b"}, False),
        ("kubernetes:core/v1:Service", {"spec": 1}, {"spec": 2}, False),
    ],
)
def test_what_forces_a_replacement(kind: str, before: dict[str, Any], after: dict[str, Any], anew: bool) -> None:
    def one(inputs: dict[str, Any]) -> Registration:
        return Registration("", kind, "x", inputs, "", "", frozenset(), {}, frozenset())

    assert made_anew(one(before), one(after)) is anew
