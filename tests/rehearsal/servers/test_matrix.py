"""Every preset, engine version and instance type: whole stacks of such servers before a real API server."""

from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.control_plane.objects.manifest import Report
from serving.arguments import ENGINES
from tests.harness import SECRETS, STACKS, record_program
from tests.rehearsal.node_supply.test_pools_admitted import whole
from tests.serving.ladder.matrix import combinations, stack_of_all


def objects(stack: str, engine: str) -> list[dict[str, Any]]:
    """What the program registers, with the names that the provider gives to what has none."""
    recording = record_program(stack_of_all(stack, engine), secrets=dict(SECRETS))
    found = []
    for each in recording.registered:
        # charts are no objects, and pools have a matrix of their own (test_pools_admitted.py)
        if each.kind.startswith("kubernetes:") and not each.kind.startswith(
            ("kubernetes:helm", "kubernetes:karpenter")
        ):
            body = whole(each.inputs)
            body["metadata"].setdefault("name", f"{each.name}-1a2b3c4d")
            found.append(body)
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("stack", STACKS)
def test_every_object_of_every_combination_is_admitted(ask: Callable[..., Report], stack: str, engine: str) -> None:
    report = ask(*objects(stack, engine))
    assert report.refusals == ()
    assert [warning for it in report.admitted for warning in it.warnings] == []
    kinds = [it.kind for it in report.admitted]
    count = len([*combinations(engine)])
    # the pods of the servers; of the device plugin there is a DaemonSet
    assert kinds.count("Deployment") == kinds.count("Pod of Deployment") == count
    assert count >= 40
