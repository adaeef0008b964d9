"""The template of cache builds: the server's own engine, alone, in a folder that no traffic has touched."""

from typing import Any, get_args

import pytest
from pulumi_aws import eks, iam

import build as build_program
from build_report import Outcome, Report
from infra.naming import cache_build
from serving.engine import ROOT, START_LIMIT, STARTUP_SLACK
from serving.jobs import FAILED_CHECK, USAGE
from serving.jobs.cache_build import DEADLINE, builds, folders
from serving.programs import BUILD, files
from settings import parse
from tests.harness import REGION, Recording, document, record_program, stack_settings
from tests.recording import Registration

CRON_JOB = "kubernetes:batch/v1:CronJob"
PRIORITY_CLASS = "kubernetes:scheduling.k8s.io/v1:PriorityClass"
CANDIDATE = {"version": "0.33.0", "image": "registry.example/vllm:v2", "args": {"enforce-eager": True}}
CRON_JOB_NAME_LIMIT = 52
"""The API adds eleven characters of a time to it and keeps the sum within 63."""


def changed(**server: Any) -> dict[str, Any]:
    raw = stack_settings("dev")
    raw["servers"]["gemma"] |= server
    return raw


def recorded(**server: Any) -> Recording:
    return record_program(changed(**server))


def job(recording: Recording, name: str = "gemma-cache-build") -> dict[str, Any]:
    (found,) = [it.inputs for it in recording.all(CRON_JOB) if it.inputs["metadata"]["name"] == name]
    return found["spec"]["jobTemplate"]["spec"]  # type: ignore[no-any-return]


def engines(recording: Recording) -> tuple[dict[str, Any], dict[str, Any]]:
    """The engine container of the build and of the server."""
    (built,) = job(recording)["template"]["spec"]["containers"]
    (served,) = recording.one("kubernetes:apps/v1:Deployment").inputs["spec"]["template"]["spec"]["containers"]
    return built, served


def options(container: dict[str, Any]) -> Any:
    return build_program.parsed(container["args"])


def test_the_build_starts_the_engine_exactly_as_the_server_does(recording: Recording) -> None:
    """Another flag or variable is another cache, or one that kills the server that restores it."""
    built, served = engines(recording)
    for part in ("image", "env", "resources", "securityContext"):
        assert built[part] == served[part], part
    assert options(built).command == ["vllm", "serve", *served["args"]]


def test_the_build_passes_what_the_program_takes(recording: Recording) -> None:
    built, _ = engines(recording)
    given = options(built)
    (prefix,) = [it["cachePrefix"] for it in recording.outputs["servers"].values()]
    assert given.folder.prefix == prefix
    assert given.bucket == recording.outputs["modelBucket"]
    assert f"--port={given.port}" in given.command
    assert given.limit == START_LIMIT + STARTUP_SLACK
    assert given.root.as_posix() == ROOT
    assert f"v{given.engine_version}" in built["image"]


def test_what_has_seen_traffic_is_never_published(dev: Recording) -> None:
    """The node's folder holds what a serving pod wrote, and caches are pickles."""
    spec = job(dev)["template"]["spec"]
    assert {"name": "cache", "emptyDir": {}} in spec["volumes"]
    (mount,) = [it for it in spec["containers"][0]["volumeMounts"] if it["name"] == "cache"]
    assert mount == {"name": "cache", "mountPath": ROOT}
    assert not [volume for volume in spec["volumes"] if "hostPath" in volume]


def test_a_build_has_no_probe_no_port_and_nothing_beside_it(dev: Recording) -> None:
    spec = job(dev)["template"]["spec"]
    (container,) = spec["containers"]
    assert not {"ports", "startupProbe", "readinessProbe", "livenessProbe", "lifecycle"} & container.keys()
    assert "initContainers" not in spec
    service = dev.one("kubernetes:core/v1:Service").inputs["spec"]["selector"]
    assert not service.items() <= job(dev)["template"]["metadata"]["labels"].items()


def test_a_build_runs_on_the_servers_pool_and_takes_only_a_pause_pods_place(dev: Recording) -> None:
    """A server between two pods would else wait for the build's end, an hour and a half at most."""
    spec = job(dev)["template"]["spec"]
    served = dev.one("kubernetes:apps/v1:Deployment").inputs["spec"]["template"]["spec"]
    for part in ("nodeSelector", "tolerations"):
        assert spec[part] == served[part]
    priorities = {it.inputs["metadata"]["name"]: it.inputs["value"] for it in dev.all(PRIORITY_CLASS)}
    build, server = (priorities[it["priorityClassName"]] for it in (spec, served))
    assert priorities["vllm-warm-nodes"] < build < 0 < server
    assert job(dev)["template"]["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}


def templates(recording: Recording) -> list[Registration]:
    """Every CronJob but those of a server that sleeps by the clock."""
    found = [it for it in recording.all(CRON_JOB) if "vllm-eks:serving:ScheduledIdle" not in it.parent]
    assert {it.name for it in found} >= {"gemma-cache-build", "weights"}
    return found


def test_a_template_never_runs_by_itself(recording: Recording) -> None:
    for one in templates(recording):
        assert one.inputs["spec"]["suspend"] is True
        assert one.inputs["spec"]["schedule"] == "0 0 31 2 *"


def test_an_ended_job_stays_for_a_day_however_many_others_end(recording: Recording) -> None:
    """The controller keeps one failed Job and three others of a CronJob by default, also of those made by hand."""
    for one in templates(recording):
        assert one.inputs["spec"]["jobTemplate"]["spec"]["ttlSecondsAfterFinished"] == 24 * 3600
        assert one.inputs["spec"]["successfulJobsHistoryLimit"] == one.inputs["spec"]["failedJobsHistoryLimit"] == 100


def test_a_template_says_whose_it_is(recording: Recording, stack: str) -> None:
    settings = stack_settings(stack)
    for one in recording.all(CRON_JOB):
        assert one.inputs["metadata"]["annotations"] == {
            "vllm-eks/account": settings["account"]["id"],
            "vllm-eks/cluster": settings["name"],
        }


def test_every_object_of_a_namespace_comes_after_it(recording: Recording) -> None:
    namespace = recording.one("kubernetes:core/v1:Namespace")
    inside = [
        it
        for it in recording.registered
        if it.kind.startswith("kubernetes:")
        and it.inputs.get("metadata", {}).get("namespace") == namespace.inputs["metadata"]["name"]
    ]
    assert len(inside) >= 9
    assert [it.urn for it in inside if namespace.urn not in recording.needs(it.urn)] == []


def test_programs_outlive_an_update_for_jobs_that_run(dev: Recording) -> None:
    """A Job that loses its node after an `up` would wait for a ConfigMap that nobody makes again."""
    programs = [it for it in dev.all("kubernetes:core/v1:ConfigMap") if it.name.startswith("programs-")]
    assert len(programs) > 3
    assert all(it.options["retain_on_delete"] for it in programs)


def test_a_build_that_has_failed_a_check_is_not_tried_again_and_one_that_lost_its_node_is(dev: Recording) -> None:
    lost, failed = job(dev)["podFailurePolicy"]["rules"]
    assert lost == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    assert failed["action"] == "FailJob"
    assert failed["onExitCodes"] == {"containerName": "vllm", "operator": "In", "values": [FAILED_CHECK, USAGE]}
    # 3 is neither: S3 gave no usable answer, and may the next time
    assert {Report(outcome=outcome).code for outcome in get_args(Outcome)} == {0, FAILED_CHECK, 3}
    assert job(dev)["template"]["spec"]["restartPolicy"] == "Never"


def test_a_build_may_start_twice_within_its_deadline(dev: Recording) -> None:
    assert job(dev)["activeDeadlineSeconds"] == DEADLINE > 2 * (START_LIMIT + STARTUP_SLACK)


def test_the_builds_program_is_mounted_with_all_that_it_imports(dev: Recording) -> None:
    spec = job(dev)["template"]["spec"]
    (container,) = spec["containers"]
    (volume,) = [it for it in spec["volumes"] if it["name"] == "programs"]
    (found,) = [
        it.inputs
        for it in dev.all("kubernetes:core/v1:ConfigMap")
        if it.inputs["metadata"]["name"] == volume["configMap"]["name"]
    ]
    assert container["command"] == ["python3", "-B", "/scripts/build.py"]
    assert found["data"] == dict(files(*BUILD))
    assert found["immutable"] is True


def test_a_build_runs_as_the_publisher_and_the_server_does_not(dev: Recording) -> None:
    account = job(dev)["template"]["spec"]["serviceAccountName"]
    assert account == "gemma-publisher"
    association = dev.one(eks.PodIdentityAssociation, "gemma-publisher")
    assert association.inputs["serviceAccount"] == account
    (cron_job,) = [it for it in dev.all(CRON_JOB) if it.inputs["metadata"]["name"] == "gemma-cache-build"]
    # credentials are injected when a pod is admitted, never later
    assert association.urn in dev.needs(cron_job.urn)


def written(recording: Recording) -> list[str]:
    """Where the publisher may put objects, below the bucket."""
    statements = document(recording.one(iam.RolePolicy, "gemma-publisher"), "policy")["Statement"]
    (put,) = [it for it in statements if "s3:PutObject" in it["Action"]]
    return sorted(arn.partition(":::")[2].partition("/")[2] for arn in put["Resource"])


def test_the_publisher_may_write_the_keys_of_its_server_and_no_other() -> None:
    recording = recorded()
    key = recording.outputs["servers"]["gemma"]["cachePrefix"]
    folder = key.removesuffix("/").rpartition("/")[0]
    assert written(recording) == sorted([f"{key}*", f"{folder}/base/*"])


def test_a_candidate_gets_a_template_and_keys_before_it_is_rolled_out() -> None:
    """A release that finds its cache built does not pay a cold compile in production."""
    before, after = recorded(), recorded(candidate=CANDIDATE)
    names = {it.inputs["metadata"]["name"] for it in after.all(CRON_JOB)}
    assert names == {"gemma-cache-build", "gemma-cache-build-candidate", "weights-onboard"}
    container = job(after, "gemma-cache-build-candidate")["template"]["spec"]["containers"][0]
    assert container["image"] == CANDIDATE["image"]
    assert "--enforce-eager" in container["args"]
    assert set(written(before)) < set(written(after))
    prefix = options(container).folder.prefix
    assert f"{prefix}*" in written(after)
    # nothing of the server that runs differs
    assert after.one("kubernetes:apps/v1:Deployment").inputs == before.one("kubernetes:apps/v1:Deployment").inputs


def test_a_candidate_that_is_promoted_finds_what_was_built_for_it() -> None:
    candidate = recorded(candidate=CANDIDATE)
    engine = {**stack_settings("dev")["servers"]["gemma"]["engine"], **CANDIDATE}
    promoted = recorded(engine=engine)
    container = job(candidate, "gemma-cache-build-candidate")["template"]["spec"]["containers"][0]
    assert promoted.outputs["servers"]["gemma"]["cachePrefix"] == options(container).folder.prefix


def test_a_server_that_restores_nothing_has_no_publisher() -> None:
    recording = recorded(preset="step-2")
    assert {it.inputs["metadata"]["name"] for it in recording.all(CRON_JOB)} == {"weights-onboard"}
    accounts = {it.inputs["serviceAccount"] for it in recording.all(eks.PodIdentityAssociation)}
    assert "gemma-publisher" not in accounts


def test_names_of_templates_fit_for_the_longest_server() -> None:
    assert len(cache_build("x" * 30, candidate=True)) <= CRON_JOB_NAME_LIMIT


@pytest.mark.parametrize("candidate", [None, CANDIDATE])
def test_every_prefix_is_granted_once(candidate: dict[str, Any] | None) -> None:
    settings = parse(changed(**({"candidate": candidate} if candidate else {})), REGION)
    (of_server,) = builds(settings.servers, settings.gpu_pools, REGION).values()
    prefixes = folders(of_server)
    assert len(prefixes) == len(set(prefixes)) == (4 if candidate else 2)
    assert all(prefix.startswith("vllm-cache/") and prefix.endswith("/") for prefix in prefixes)
