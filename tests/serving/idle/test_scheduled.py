"""The Jobs that stop and start a server: their clock, their rights, their pod, and whose the number of pods is."""

from typing import Any

import pytest

from infra.cluster.system_nodes import SYSTEM_LABEL
from serving.idle import DEADLINE
from serving.programs import SCALE, files
from tests.harness import Recording, record_program, stack_settings

CRON_JOB = "kubernetes:batch/v1:CronJob"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
RBAC = "kubernetes:rbac.authorization.k8s.io/v1"
IDLE = {"schedule": {"stop": "0 20 * * mon-fri", "start": "30 7 * * mon-fri", "timeZone": "Asia/Seoul"}}
BOTH = ("stop", "start")


def with_idle(**server: Any) -> Recording:
    raw = stack_settings("dev")
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 8
    raw["servers"]["gemma"] |= {"idle": IDLE, **server}
    return record_program(raw)


@pytest.fixture(scope="module")
def sleeping() -> Recording:
    return with_idle(replicas=3)


def spec(recording: Recording, what: str) -> dict[str, Any]:
    return recording.one(CRON_JOB, f"gemma-{what}").inputs["spec"]  # type: ignore[no-any-return]


def pod(recording: Recording, what: str) -> dict[str, Any]:
    return spec(recording, what)["jobTemplate"]["spec"]["template"]["spec"]  # type: ignore[no-any-return]


def container(recording: Recording, what: str) -> dict[str, Any]:
    (only,) = pod(recording, what)["containers"]
    return only  # type: ignore[no-any-return]


def test_a_stop_asks_for_none_and_a_start_for_what_the_stack_file_says(sleeping: Recording) -> None:
    for what, count in (("stop", 0), ("start", 3)):
        assert container(sleeping, what)["args"] == [
            "--namespace=inference",
            "--deployment=gemma",
            f"--replicas={count}",
            "--credentials=/var/run/secrets/kubernetes.io/serviceaccount",
        ]


def test_each_strikes_at_its_own_time_in_the_zone_of_the_stack_file(sleeping: Recording) -> None:
    assert {what: (spec(sleeping, what)["schedule"], spec(sleeping, what)["timeZone"]) for what in BOTH} == {
        "stop": ("0 20 * * mon-fri", "Asia/Seoul"),
        "start": ("30 7 * * mon-fri", "Asia/Seoul"),
    }
    assert not any("suspend" in spec(sleeping, what) for what in BOTH)


def test_what_was_missed_is_made_good_and_never_beside_its_opposite(sleeping: Recording) -> None:
    # 11 h 30 to the start, 12 h 30 to the stop; less the hour of a clock change, less the Job's own deadline
    assert spec(sleeping, "stop")["startingDeadlineSeconds"] == 690 * 60 - 3600 - DEADLINE
    assert spec(sleeping, "start")["startingDeadlineSeconds"] == 750 * 60 - 3600 - DEADLINE
    for what in BOTH:
        assert spec(sleeping, what)["concurrencyPolicy"] == "Forbid"
        assert spec(sleeping, what)["jobTemplate"]["spec"]["activeDeadlineSeconds"] == DEADLINE


def test_a_refusal_is_final_and_what_nobody_could_tell_is_tried_again(sleeping: Recording) -> None:
    for what in BOTH:
        job = spec(sleeping, what)["jobTemplate"]["spec"]
        assert job["backoffLimit"] == 5
        assert job["podFailurePolicy"]["rules"][1] == {
            "action": "FailJob",
            "onExitCodes": {"containerName": "scale", "operator": "In", "values": [1, 2]},
        }
        assert job["ttlSecondsAfterFinished"] == 7 * 24 * 3600
        assert (spec(sleeping, what)["successfulJobsHistoryLimit"], spec(sleeping, what)["failedJobsHistoryLimit"]) == (
            3,
            3,
        )


def test_its_rights_are_the_scale_of_one_deployment_and_nothing_else(sleeping: Recording) -> None:
    assert sleeping.one(f"{RBAC}:Role").inputs["rules"] == [
        {
            "apiGroups": ["apps"],
            "resources": ["deployments/scale"],
            "resourceNames": ["gemma"],
            "verbs": ["get", "patch"],
        }
    ]
    binding = sleeping.one(f"{RBAC}:RoleBinding").inputs
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gemma-scaler"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "gemma-scaler", "namespace": "inference"}]
    assert [sleeping.maybe(f"{RBAC}:Cluster{kind}") for kind in ("Role", "RoleBinding")] == [[], []]
    assert {pod(sleeping, what)["serviceAccountName"] for what in BOTH} == {"gemma-scaler"}
    for what in BOTH:
        needed = sleeping.needs(sleeping.one(CRON_JOB, f"gemma-{what}").urn)
        assert sleeping.one(f"{RBAC}:RoleBinding").urn in needed


def test_the_token_is_mounted_there_and_in_no_other_pod(sleeping: Recording) -> None:
    for what in BOTH:
        assert pod(sleeping, what)["automountServiceAccountToken"] is False
        (volume,) = [it for it in pod(sleeping, what)["volumes"] if "projected" in it]
        assert volume["projected"]["sources"] == [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        ]
        (mount,) = [it for it in container(sleeping, what)["volumeMounts"] if it["name"] == volume["name"]]
        assert (mount["mountPath"], mount["readOnly"]) == ("/var/run/secrets/kubernetes.io/serviceaccount", True)
    account = sleeping.one("kubernetes:core/v1:ServiceAccount", "gemma-scaler").inputs
    assert account["automountServiceAccountToken"] is False
    holders = [it.name for it in sleeping.registered if "serviceAccountToken'" in str(it.inputs)]
    assert sorted(holders) == ["gemma-start", "gemma-stop"]


def test_the_pod_passes_the_restricted_pod_security_standard(sleeping: Recording) -> None:
    for what in BOTH:
        its = pod(sleeping, what)
        assert its["securityContext"]["runAsNonRoot"] is True
        assert its["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert its["enableServiceLinks"] is False
        assert container(sleeping, what)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }


def test_it_runs_on_a_system_node_with_the_small_image_through_the_cache(sleeping: Recording) -> None:
    (onboarding,) = sleeping.one(CRON_JOB, "weights").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"][
        "containers"
    ]
    for what in BOTH:
        assert pod(sleeping, what)["nodeSelector"] == {SYSTEM_LABEL: "true"}
        assert "tolerations" not in pod(sleeping, what)
        assert "nvidia.com/gpu" not in str(pod(sleeping, what))
        assert container(sleeping, what)["image"] == onboarding["image"]
        assert "cpu" not in container(sleeping, what)["resources"]["limits"]
    assert "/ecr-public/" in onboarding["image"]


def test_its_program_is_mounted_with_all_that_it_imports(sleeping: Recording) -> None:
    found = sleeping.one("kubernetes:core/v1:ConfigMap", "programs-scale").inputs
    assert found["data"] == dict(files(*SCALE))
    for what in BOTH:
        maps = [it["configMap"]["name"] for it in pod(sleeping, what)["volumes"] if "configMap" in it]
        assert maps == [found["metadata"]["name"]]
        assert container(sleeping, what)["command"] == ["python", "-B", "/scripts/scale.py"]


def test_no_service_sends_requests_to_a_job(sleeping: Recording) -> None:
    selector = sleeping.one("kubernetes:core/v1:Service", "gemma").inputs["spec"]["selector"]
    for what in BOTH:
        labels = spec(sleeping, what)["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
        assert not selector.items() <= labels.items()


def test_KED_05_with_a_schedule_the_clock_owns_the_replicas_and_without_one_pulumi_does(sleeping: Recording) -> None:
    """Else each `up` would wake what sleeps, or end in a conflict of field managers (pulumi-kubernetes#2569)."""
    asleep, ever = (it.one(DEPLOYMENT, "gemma") for it in (sleeping, record_program(stack_settings("dev"))))
    assert asleep.options["ignore_changes"] == ("spec.replicas",)
    assert ever.options["ignore_changes"] == ()
    assert (asleep.inputs["spec"]["replicas"], ever.inputs["spec"]["replicas"]) == (3, 1)


def test_a_schedule_that_goes_is_a_change_of_the_deployment_that_says_the_number_again(sleeping: Recording) -> None:
    """`replicas` alone is no change: the state has held the same number all the time."""
    asleep, ever = (
        it.one(DEPLOYMENT, "gemma").inputs["metadata"]["annotations"]
        for it in (sleeping, record_program(stack_settings("dev")))
    )
    assert asleep == {**ever, "vllm-eks/idle": "schedule"}
    # no conflict with whoever has set the number while pods ran
    assert ever["pulumi.com/patchForce"] == "true"


def test_a_schedule_restarts_no_pod_and_needs_no_other_cache() -> None:
    asleep, ever = with_idle(replicas=1), record_program(stack_settings("dev"))
    pods = [it.one(DEPLOYMENT, "gemma").inputs["spec"]["template"] for it in (asleep, ever)]
    assert pods[0] == pods[1]
    assert asleep.outputs["servers"] == ever.outputs["servers"]


def test_jobs_come_after_the_deployment_that_they_scale(sleeping: Recording) -> None:
    """And go before it: a start in the middle of a destroy would bring pods back."""
    for what in BOTH:
        needed = sleeping.needs(sleeping.one(CRON_JOB, f"gemma-{what}").urn)
        assert sleeping.one(DEPLOYMENT, "gemma").urn in needed


def test_only_servers_that_ask_for_it_sleep() -> None:
    raw = stack_settings("dev")
    raw["servers"]["second"] = {**raw["servers"]["gemma"], "idle": IDLE}
    found = record_program(raw)
    assert [it.name for it in found.all("vllm-eks:serving:ScheduledIdle")] == ["second"]
    assert found.one(f"{RBAC}:Role").inputs["rules"][0]["resourceNames"] == ["second"]
    assert found.one(DEPLOYMENT, "gemma").options["ignore_changes"] == ()
    names = {it.inputs["metadata"]["name"] for it in found.all(CRON_JOB)}
    assert {"second-stop", "second-start"} <= names
    assert all(len(f"{'s' * 30}-{what}") <= 52 for what in BOTH)
