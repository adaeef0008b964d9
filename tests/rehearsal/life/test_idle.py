"""A schedule on the real engine: what comes, what a changed number does, and in which order it all goes."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.life import destroy, up
from rehearsal.plan.plan import Plan
from rehearsal.providers.journal import Journal
from tests.harness import stack_settings
from tests.rehearsal.life.calls import positions

IDLE = {"schedule": {"stop": "0 20 * * mon-fri", "start": "30 7 * * mon-fri", "timeZone": "Asia/Seoul"}}
CRON_JOB, DEPLOYMENT = "kubernetes:batch/v1:CronJob", "kubernetes:apps/v1:Deployment"
RIGHTS = ("kubernetes:rbac.authorization.k8s.io/v1:", "kubernetes:core/v1:ServiceAccount")


def settings(**server: Any) -> dict[str, Any]:
    raw = stack_settings("dev")
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 4
    raw["servers"]["gemma"] |= server
    return raw


def changed(plan: Plan) -> set[tuple[str, str, str]]:
    return {(it.action, it.type.rpartition(":")[2], it.name) for it in plan.changes() if it.custom}


@pytest.fixture
def asleep(state: Path, stack_file: Any) -> Path:
    """The dev stack, up, whose server has had a schedule since."""
    up("dev", project=stack_file(settings()), state=state)
    plan = up("dev", project=stack_file(settings(idle=IDLE)), state=state)
    assert changed(plan) == {
        ("create", "ServiceAccount", "gemma-scaler"),
        ("create", "Role", "gemma-scaler"),
        ("create", "RoleBinding", "gemma-scaler"),
        ("create", "CronJob", "gemma-stop"),
        ("create", "CronJob", "gemma-start"),
        # its annotation
        ("update", "Deployment", "gemma"),
    }
    return state


def test_another_number_of_pods_arrives_with_the_next_start(asleep: Path, stack_file: Any) -> None:
    project = stack_file(settings(idle=IDLE, replicas=2))
    assert changed(up("dev", project=project, state=asleep)) == {
        ("update", "CronJob", "gemma-start"),
        ("create", "PodDisruptionBudget", "gemma"),
    }
    assert changed(up("dev", project=project, state=asleep)) == set()


def test_a_schedule_that_goes_gives_the_number_back_to_the_stack_file(asleep: Path, stack_file: Any) -> None:
    up("dev", project=stack_file(settings(idle=IDLE, replicas=2)), state=asleep)
    journal = Journal()
    plan = up("dev", project=stack_file(settings(replicas=2)), state=asleep, journal=journal)
    assert {it for it in changed(plan) if it[0] != "delete"} == {("update", "Deployment", "gemma")}
    assert {it[2] for it in changed(plan) if it[0] == "delete"} == {"gemma-scaler", "gemma-stop", "gemma-start"}
    (update,) = [call for call in journal.calls if call.type == DEPLOYMENT and call.verb == "update"]
    assert update.inputs["spec"]["replicas"] == 2


def test_on_a_destroy_the_clock_goes_first_then_the_pods_then_the_rest(asleep: Path, stack_file: Any) -> None:
    journal = Journal()
    destroy("dev", project=stack_file(settings(idle=IDLE)), state=asleep, journal=journal)
    clocks = [place for place in positions(journal.calls, CRON_JOB) if journal.calls[place].name.startswith("gemma-st")]
    assert len(clocks) == 2
    deployments = [place for place in positions(journal.calls, DEPLOYMENT) if journal.calls[place].name == "gemma"]
    assert max(clocks) < min(deployments)
    rights = [place for place in positions(journal.calls, *RIGHTS) if journal.calls[place].name == "gemma-scaler"]
    assert len(rights) == 3
    assert max(clocks) < max(rights)
