"""The pod of a server: probes, shutdown, isolation, and what it asks of its node."""

from typing import Any

import pytest

from infra.gpu_pools import LONGEST_GRACE, TAINT
from serving.engine import (
    PROGRESS_DEADLINE,
    PULUMI_SLACK,
    START_LIMIT,
    STARTUP_SLACK,
    TEARDOWN,
)
from serving.ladder import PRESETS
from serving.pod.probes import READY_SECONDS, probes
from tests.harness import Recording, Registration, record_program, stack_settings
from tests.serving.situations import pod

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
SERVICE = "kubernetes:core/v1:Service"


@pytest.fixture
def deployment(recording: Recording) -> Registration:
    return recording.one(DEPLOYMENT)


@pytest.fixture
def spec(deployment: Registration) -> dict[str, Any]:
    return deployment.inputs["spec"]["template"]["spec"]


@pytest.fixture
def container(spec: dict[str, Any]) -> dict[str, Any]:
    (only,) = spec["containers"]
    return only


def environment(container: dict[str, Any]) -> dict[str, str]:
    names = [item["name"] for item in container["env"]]
    assert len(names) == len(set(names))
    return {item["name"]: item["value"] for item in container["env"]}


def test_VLM_01_no_service_of_the_namespace_sets_variables_in_the_pod(spec: dict[str, Any]) -> None:
    """A Service `vllm` sets VLLM_PORT=tcp://... and vLLM dies (vllm#34199)."""
    assert spec["enableServiceLinks"] is False


def test_VLM_01_no_variable_of_ours_is_named_like_a_service_link(container: dict[str, Any]) -> None:
    endings = ("_PORT", "_SERVICE_HOST", "_SERVICE_PORT")
    assert [name for name in environment(container) if name.endswith(endings)] == []


def test_VLM_01_the_service_is_not_called_vllm(recording: Recording) -> None:
    assert recording.one(SERVICE).inputs["metadata"]["name"] == "gemma"


@pytest.mark.parametrize("limit", [60, 600, 2400])
def test_VLM_02_the_startup_probe_outlasts_the_start_limit(limit: int) -> None:
    """Liveness alone restarts a server before its weights are in, for ever (gke-labs/kube-agents#712)."""
    found = probes(pod([]), limit)
    startup = found["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= limit + STARTUP_SLACK
    assert {"startupProbe", "readinessProbe", "livenessProbe"} == set(found)


@pytest.mark.parametrize("names", [[], ["fast-probes"]], ids=["", "fast-probes"])
def test_VLM_02_a_pod_that_is_asked_more_often_is_not_given_up_sooner(names: list[str]) -> None:
    readiness = probes(pod(names))["readinessProbe"]
    each = max(readiness["periodSeconds"], readiness["timeoutSeconds"])
    assert each * readiness["failureThreshold"] == READY_SECONDS


def test_VLM_02_probes_agree_with_ports_and_with_each_other(stack: str) -> None:
    raw = stack_settings(stack)
    raw["servers"]["gemma"]["techniques"] = []
    recording = record_program(raw)
    (container,) = recording.one(DEPLOYMENT).inputs["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    (served,) = recording.one(SERVICE).inputs["spec"]["ports"]
    startup, readiness, liveness = (container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness"))
    for probe in (readiness, liveness):
        assert probe["httpGet"] == {"path": "/health", "port": port["name"]}
    # asks the same on loopback, and ends the mark of the start (ready.py)
    assert startup["exec"]["command"][-1] == f"{port['containerPort']:.0f}"
    assert not [probe for probe in (startup, readiness, liveness) if "initialDelaySeconds" in probe]
    assert served["targetPort"] == port["name"]
    assert served["port"] == port["containerPort"]
    assert f"--port={port['containerPort']:.0f}" in container["args"]
    assert (
        readiness["periodSeconds"] * readiness["failureThreshold"]
        < liveness["periodSeconds"] * liveness["failureThreshold"]
    )
    assert startup["periodSeconds"] * startup["failureThreshold"] >= START_LIMIT


def test_VLM_03_a_new_pod_never_waits_for_the_gpu_of_the_old_one(deployment: Registration) -> None:
    """25 % of one replica surges to a second pod that stays pending (LLMKube#192)."""
    assert deployment.inputs["spec"]["strategy"] == {"type": "Recreate"}
    assert deployment.inputs["spec"]["replicas"] == 1


def test_VLM_03_a_surge_takes_nothing_away_before_the_new_pod_serves() -> None:
    raw = stack_settings("dev")
    raw["servers"]["gemma"]["rollout"] = "surge"
    strategy = record_program(raw).one(DEPLOYMENT).inputs["spec"]["strategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def test_replicas_are_spread_and_go_one_at_a_time() -> None:
    raw = stack_settings("dev")
    raw["servers"]["gemma"]["replicas"] = 2
    recording = record_program(raw)
    deployment = recording.one(DEPLOYMENT).inputs["spec"]
    pods = deployment["template"]
    spread = pods["spec"]["topologySpreadConstraints"]
    assert [it["topologyKey"] for it in spread] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    assert {it["whenUnsatisfiable"] for it in spread} == {"ScheduleAnyway"}
    budget = recording.one("kubernetes:policy/v1:PodDisruptionBudget").inputs["spec"]
    assert budget["maxUnavailable"] == 1
    for selector in (*(it["labelSelector"] for it in spread), budget["selector"]):
        assert selector["matchLabels"].items() <= pods["metadata"]["labels"].items()
    assert deployment["replicas"] == 2


def test_another_number_of_replicas_changes_no_pod() -> None:
    raw = stack_settings("dev")
    one = record_program(raw).one(DEPLOYMENT).inputs["spec"]["template"]
    raw["servers"]["gemma"]["replicas"] = 2
    assert record_program(raw).one(DEPLOYMENT).inputs["spec"]["template"] == one


def test_one_replica_is_not_kept_from_a_drain(recording: Recording) -> None:
    assert "kubernetes:policy/v1:PodDisruptionBudget" not in {one.kind for one in recording.registered}


def test_VLM_03_every_deadline_outlasts_the_one_below_it(deployment: Registration, container: dict[str, Any]) -> None:
    deadline = deployment.inputs["spec"]["progressDeadlineSeconds"]
    startup = container["startupProbe"]
    assert environment(container)["VLLM_ENGINE_READY_TIMEOUT_S"] == str(START_LIMIT)
    assert START_LIMIT < startup["periodSeconds"] * startup["failureThreshold"] < deadline == PROGRESS_DEADLINE
    assert deployment.options["create"] == deployment.options["update"] == f"{int(deadline) + PULUMI_SLACK}s"
    assert PULUMI_SLACK > 0


def test_requests_get_their_time_between_the_service_and_the_kill(
    spec: dict[str, Any], container: dict[str, Any]
) -> None:
    """SIGTERM closes the port at once (gpu.md 10): what is still routed must arrive during preStop."""
    drain = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    (timeout,) = [int(item.partition("=")[2]) for item in container["args"] if item.startswith("--shutdown-timeout=")]
    assert drain + timeout + TEARDOWN <= spec["terminationGracePeriodSeconds"] <= LONGEST_GRACE
    assert drain >= 5
    assert timeout > 0


def test_the_pod_runs_on_its_pool_and_tolerates_its_taint(spec: dict[str, Any]) -> None:
    assert spec["nodeSelector"] == {
        "vllm-eks/pool": "rtx-pro-6000",
        "karpenter.k8s.aws/instance-gpu-name": "rtx-pro-server-6000",
    }
    assert spec["tolerations"] == [{"key": TAINT["key"], "operator": "Exists", "effect": TAINT["effect"]}]


def test_gpus_are_requested_as_many_as_the_engine_splits_over() -> None:
    raw = stack_settings("dev")
    raw["gpuPools"]["rtx-pro-6000"] |= {"instanceTypes": ["g7e.12xlarge"], "maxGpus": 2}
    raw["servers"]["gemma"]["engine"]["tensorParallel"] = 2
    (container,) = record_program(raw).one(DEPLOYMENT).inputs["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"]["nvidia.com/gpu"] == "2"
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert "--tensor-parallel-size=2" in container["args"]


def test_memory_is_bounded_and_cpu_is_not(container: dict[str, Any]) -> None:
    """A throttled import is a longer cold start."""
    resources = container["resources"]
    assert resources["limits"]["memory"] == resources["requests"]["memory"] == "50Gi"
    assert "cpu" not in resources["limits"]


def test_shared_memory_is_there_for_tensor_parallelism(spec: dict[str, Any], container: dict[str, Any]) -> None:
    volumes = {v["name"]: v for v in spec["volumes"]}
    mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    assert volumes["shm"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "2Gi"}
    assert mounts["shm"].endswith("/shm")
    beside = [it["name"] for one in spec["initContainers"] for it in one["volumeMounts"]]
    assert {*mounts, *beside} == set(volumes)


def test_the_environment_of_the_baseline_is_complete_and_the_same_everywhere(container: dict[str, Any]) -> None:
    """HOME and the ready time-out are part of vLLM's compile-cache key (gpu.md 5): they never differ."""
    assert environment(container) == {
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": "us-west-2",
        "CUDA_CACHE_PATH": "/vllm-cache/nv",
        "FLASHINFER_WORKSPACE_BASE": "/vllm-cache/flashinfer",
        "HF_HOME": "/vllm-cache/home/.cache/huggingface",
        "HF_HUB_OFFLINE": "1",
        "HOME": "/vllm-cache/home",
        "PYTHONPYCACHEPREFIX": "/vllm-cache/pycache",
        "RUNAI_STREAMER_S3_TARGET_GBPS": "50",
        "TORCHINDUCTOR_CACHE_DIR": "/vllm-cache/inductor",
        "TRITON_CACHE_DIR": "/vllm-cache/triton",
        "USER": "vllm",
        "VLLM_CACHE_ROOT": "/vllm-cache/vllm",
        "VLLM_ENGINE_READY_TIMEOUT_S": "1800",
        "VLLM_NO_USAGE_STATS": "1",
        "XDG_CACHE_HOME": "/vllm-cache/home/.cache",
    }


def test_VLM_08_no_variable_meant_for_another_store_is_set(container: dict[str, Any]) -> None:
    assert not {"AWS_ENDPOINT_URL", "RUNAI_STREAMER_S3_ENDPOINT", "AWS_ACCESS_KEY_ID"} & set(environment(container))


def test_the_engine_holds_no_kubernetes_token_and_no_capability(
    spec: dict[str, Any], container: dict[str, Any]
) -> None:
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


def test_KRP_01_consolidation_leaves_a_serving_pod_alone(deployment: Registration) -> None:
    template = deployment.inputs["spec"]["template"]["metadata"]
    assert template["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    assert "karpenter.sh/do-not-disrupt" not in deployment.inputs["metadata"]["annotations"]


def test_the_deployment_says_what_its_start_is_made_of(deployment: Registration, stack: str) -> None:
    """On the Deployment alone: in the pod's template a word would restart the server."""
    assert deployment.inputs["metadata"]["annotations"] == {
        "vllm-eks/techniques": ",".join((*PRESETS["frontier"].techniques, "front-proxy")),
        "pulumi.com/patchForce": "true",
        **({"vllm-eks/idle": "schedule"} if "idle" in stack_settings(stack)["servers"]["gemma"] else {}),
    }


def test_the_image_is_pinned_by_its_engine_version(container: dict[str, Any], stack: str) -> None:
    version = stack_settings(stack)["servers"]["gemma"]["engine"]["version"]
    assert container["image"].endswith(f"vllm/vllm-openai:v{version}")
    assert container["imagePullPolicy"] == "IfNotPresent"


def test_the_service_and_the_deployment_select_the_pods(recording: Recording, deployment: Registration) -> None:
    labels = deployment.inputs["spec"]["template"]["metadata"]["labels"]
    assert recording.one(SERVICE).inputs["spec"]["selector"].items() <= labels.items()
    assert deployment.inputs["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_objects_come_after_their_namespace_and_the_service_after_its_pods(
    recording: Recording, deployment: Registration
) -> None:
    namespace = recording.one("kubernetes:core/v1:Namespace")
    objects = [r for r in recording.registered if ":VllmServer$kubernetes:" in r.urn]
    assert len(objects) == 5
    for one in objects:
        assert namespace.urn in recording.needs(one.urn), one.urn
        if "namespace" in one.inputs["metadata"]:
            assert one.inputs["metadata"]["namespace"] == namespace.inputs["metadata"]["name"]
    assert deployment.urn in recording.needs(recording.one(SERVICE).urn)


def test_the_model_is_mounted_read_only_and_alone(stack: str) -> None:
    """The driver's own rights end at models/; an un-prefixed mount would list the bucket and be denied."""
    raw = stack_settings(stack)
    raw["servers"]["gemma"]["preset"] = "step-3"
    recording = record_program(raw)
    spec = recording.one(DEPLOYMENT).inputs["spec"]["template"]["spec"]
    volume = recording.one("kubernetes:core/v1:PersistentVolume").inputs["spec"]
    bucket = stack_settings(stack)["modelBucket"]["name"]
    assert volume["mountOptions"] == ["read-only", "prefix=models/gemma-4-31b-it-nvfp4/r1/", "region us-west-2"]
    assert volume["csi"]["volumeAttributes"] == {"bucketName": bucket, "authenticationSource": "driver"}
    assert volume["csi"]["volumeHandle"] == "inference-gemma-models-gemma-4-31b-it-nvfp4-r1"
    claim = recording.one("kubernetes:core/v1:PersistentVolumeClaim").inputs["spec"]
    assert claim["volumeName"] == "gemma-models-1a2b3c4d"
    assert claim["storageClassName"] == ""
    (models,) = [v for v in spec["volumes"] if v["name"] == "models"]
    assert models["persistentVolumeClaim"] == {"claimName": "gemma-models-1a2b3c4d", "readOnly": True}
