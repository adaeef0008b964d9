"""Every key of the stack file, changed once on a stack that is up: what the real engine would do about it.

The same table as tests/stack/test_stability.py, which sees inputs. Here the providers decide what a changed input
means, so a Diff that never finds anything, or one that replaces what should stay, shows.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rehearsal.engine.run import RunFailedError
from rehearsal.life import up
from rehearsal.plan.plan import Action, Plan, PlannedResource
from rehearsal.preview import preview
from tests.harness import ROOT, SECRETS
from tests.stack.toggles import TOGGLES, Toggle

STATEFUL = {
    "aws:ec2/vpc:Vpc",
    "aws:ec2/subnet:Subnet",
    "aws:eks/cluster:Cluster",
    "aws:eks/nodeGroup:NodeGroup",
    "aws:s3/bucket:Bucket",
    "aws:ecr/repository:Repository",
}


NEEDED = {"prod": SECRETS}
"""By stack. A secret that is set costs a run of the CLI, half a second a row."""


@pytest.fixture(scope="module")
def standing(brought_up, tmp_path_factory) -> Callable[[str], tuple[Path, Plan]]:
    """`standing("prod")`: the state folder of a stack that is up, and the plan that changes nothing."""
    folders = {"dev": brought_up[0]}
    plans: dict[str, Plan] = {}

    def find(stack: str) -> tuple[Path, Plan]:
        if stack not in folders:
            folders[stack] = tmp_path_factory.mktemp(stack) / "state"
            up(stack, project=ROOT, state=folders[stack], secrets=NEEDED.get(stack, ()))
        if stack not in plans:
            plans[stack] = preview(stack, project=ROOT, state=folders[stack], secrets=NEEDED.get(stack, ()))
        return folders[stack], plans[stack]

    return find


def label(resource: PlannedResource) -> str:
    if resource.type.startswith("pulumi:providers:"):
        return f"Provider {resource.name}"
    kind = resource.type.rpartition(":")[2]
    # the table speaks of the component, whose child the engine sees
    return f"{kind} {'cluster' if resource.name == 'cluster-eksCluster' else resource.name}"


def labels(plan: Plan, *actions: Action, stateful: bool = False) -> set[str]:
    return {label(it) for it in plan.resources if it.action in actions and (not stateful or it.type in STATEFUL)}


def guarded_otherwise(plan: Plan, unchanged: Plan) -> set[str]:
    """What the engine alone remembers: no provider hears of it."""
    before = {it.urn: (it.protect, it.retain_on_delete) for it in unchanged.resources}
    return {label(it) for it in plan.resources if (it.protect, it.retain_on_delete) != before.get(it.urn)}


def followers(plan: Plan) -> Iterator[str]:
    """What is made anew for no other reason than another id of something else."""
    for it in plan.resources:
        forced = {path for path, kind in it.changed.items() if kind.endswith("-replace")}
        if it.action == "replace" and all(
            path.split(".")[0].split("[")[0] in it.property_dependencies for path in forced
        ):
            yield label(it)


@pytest.mark.parametrize("toggle", TOGGLES, ids=str)
def test_a_changed_setting_does_to_a_standing_stack_what_the_table_says(toggle: Toggle, standing, stack_file):
    state, unchanged = standing(toggle.stack)
    folder = stack_file(toggle.settings(), toggle.stack)
    if toggle.refused is not None:
        with pytest.raises(RunFailedError) as refusal:
            preview(toggle.stack, project=folder, state=state, secrets=NEEDED.get(toggle.stack, ()))
        assert str(refusal.value) == f"the stack file has 1 mistake:\n  {toggle.refused}"
        return
    if toggle.stopped is not None:
        with pytest.raises(RunFailedError) as refusal:
            preview(toggle.stack, project=folder, state=state, secrets=NEEDED.get(toggle.stack, ()))
        (guard,) = [it.urn for it in unchanged.resources if label(it) == toggle.stopped]
        assert f'resource "{guard}" cannot be deleted because it is protected.' in str(refusal.value)
        return
    plan = preview(toggle.stack, project=folder, state=state, secrets=NEEDED.get(toggle.stack, ()))
    outputs = {name for name in plan.outputs if plan.outputs[name] != unchanged.outputs.get(name)}

    assert labels(plan, "create", stateful=True) == set(toggle.adds)
    assert labels(plan, "delete", stateful=True) == set(toggle.removes)
    replaced = labels(plan, "replace", stateful=True)
    assert set(toggle.replaces) <= replaced
    assert replaced - set(toggle.replaces) <= (set(followers(plan)) if toggle.replaces else set())
    # The engine itself sees that a component has other inputs: only what a provider was asked about shows that its
    # Diff saw something.
    moved = [it for it in plan.changes() if it.custom or it.action in {"create", "delete"}]
    touched = {label(it) for it in moved} | guarded_otherwise(plan, unchanged)
    if any("eks:index:Cluster$" in it.urn for it in moved):
        touched.add("Cluster cluster")
    assert set(toggle.changes) <= touched
    assert set(toggle.outputs) <= outputs
    if toggle.options_only or toggle.nothing:
        assert plan.changes() == ()
    if not toggle.nothing:
        assert touched or outputs
