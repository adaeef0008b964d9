"""Every preset, engine version and instance type: whole stacks of such servers before a real API server."""

from pathlib import Path

import pytest

from rehearsal.admit import admit
from tests.harness import SECRETS
from tests.rehearsal.test_stacks import variant
from tests.serving.ladder.matrix import combinations, stack_of_all


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
def test_every_object_of_every_combination_is_admitted(tmp_path: Path, name: str) -> None:
    admission = admit("dev", project=variant(tmp_path, stack_of_all(name)), secrets=SECRETS)
    assert admission.report.refusals == ()
    assert [warning for it in admission.report.admitted for warning in it.warnings] == []
    assert [it.kind for it in admission.report.admitted].count("Pod of Deployment") >= len([*combinations()])
