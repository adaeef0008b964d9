"""Pods that own their node, or serve what only developers should reach."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked

POD = "kubernetes:core/v1:Pod"
DEV = {"name": "VLLM_SERVER_DEV_MODE", "value": "1"}
LORA = {"name": "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "value": "True"}


def pod(*containers: Any, **spec: Any):
    return resource(POD, {"spec": {"containers": list(containers), **spec}})


def engine(*args: Any, env: Any = (DEV,), **more: Any):
    return pod({"name": "engine", "args": list(args), "env": list(env), **more})


def listens(name: str = "VLLM_SERVER_DEV_MODE") -> list[str]:
    return [f"container engine: {name} is on and it listens for everybody; add --host=127.0.0.1"]


def test_a_pod_of_its_own_passes():
    security = {"privileged": False, "capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]}}
    assert found("privileged-pods", pod({"name": "a", "securityContext": security}, hostNetwork=False)) == []
    assert found("privileged-pods", pod({"name": "a"}, volumes=[{"name": "c", "emptyDir": {}}])) == []


@pytest.mark.parametrize("key", ["hostNetwork", "hostPID", "hostIPC"])
def test_what_is_the_hosts_is_refused(key):
    assert found("privileged-pods", pod(**{key: True})) == [f"{key} is on; take it away"]


@pytest.mark.parametrize("key", ["containers", "initContainers"])
def test_privileged_containers_are_refused(key):
    its = resource(POD, {"spec": {key: [{"name": "a", "securityContext": {"privileged": True}}]}})
    assert found("privileged-pods", its) == ["container a: privileged; take it away"]


def test_capabilities_that_own_the_node_are_refused():
    added = {"capabilities": {"add": ["CAP_SYS_ADMIN", "all", "NET_ADMIN", UNKNOWN]}}
    its = pod({"name": "a", "securityContext": added})
    assert found("privileged-pods", its) == ["container a: adds ALL, SYS_ADMIN; name the capabilities that it needs"]
    assert unchecked("privileged-pods", its) == ["spec.containers[0].securityContext.capabilities.add[3]"]
    assert found("privileged-pods", its, config={"capabilities": ["NET_ADMIN"]}) == [
        "container a: adds NET_ADMIN; name the capabilities that it needs"
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "//",
        "/var",
        "/var/lib",
        "/etc/kubernetes",
        "/mnt/../proc",
        "/var/run/docker.sock",
        "/run/containerd/x.sock",
    ],
)
def test_folders_of_the_node_are_refused(path):
    assert found("privileged-pods", pod(volumes=[{"name": "host", "hostPath": {"path": path}}])) == [
        f"volume host: hostPath {path} is the node's own; mount a folder for data alone"
    ]


@pytest.mark.parametrize(
    "path", ["/mnt/k8s-disks/0/cache", "/var/lib/kubelet/device-plugins", "/var/cache/vllm", "/opt"]
)
def test_folders_for_data_and_for_plugins_pass(path):
    assert found("privileged-pods", pod(volumes=[{"name": "host", "hostPath": {"path": path}}])) == []


def test_configuration_excepts_workloads():
    assert found("privileged-pods", pod(hostPID=True), config={"exceptions": ["i*"]}) == []
    assert found("privileged-pods", pod(hostPID=True), config={"exceptions": ["other"]}) != []


def test_what_is_not_known_of_one_container_hides_nothing_of_the_next():
    privileged = {"name": "b", "securityContext": {"privileged": True}}
    its = resource(
        POD,
        {
            "spec": {
                "hostNetwork": UNKNOWN,
                "hostPID": "yes",
                "hostIPC": True,
                "volumes": UNKNOWN,
                "initContainers": UNKNOWN,
                "containers": [UNKNOWN, {"securityContext": {"privileged": UNKNOWN}}, privileged],
            }
        },
    )
    assert found("privileged-pods", its) == [
        "hostIPC is on; take it away",
        "container b: privileged; take it away",
        "spec.hostPID: expected true or false, found a text",
    ]
    assert unchecked("privileged-pods", its) == [
        "spec.hostNetwork; spec.volumes; spec.initContainers; spec.containers[0];"
        " spec.containers[1].securityContext.privileged"
    ]


@pytest.mark.parametrize("rule", ["privileged-pods", "dev-endpoints"])
@pytest.mark.parametrize(
    ("props", "says"),
    [
        ({}, []),
        ({"spec": None}, []),
        ({"spec": {"containers": [{"name": "a", "env": None, "args": None, "securityContext": None}]}}, []),
        ({"spec": 3}, ["spec: expected a mapping, found a number"]),
        ({"spec": {"containers": "x"}}, ["spec.containers: expected a list, found a text"]),
        ({"spec": {"containers": [True]}}, ["spec.containers[0]: expected a mapping, found true or false"]),
    ],
)
def test_missing_and_mistyped(rule, props, says):
    assert found(rule, resource(POD, props)) == says


@pytest.mark.parametrize(
    "its",
    [
        engine("--host=127.0.0.1"),
        engine("--host", "127.0.0.1"),
        engine("--host=0.0.0.0", "--host=localhost"),
        engine("--uds=/run/vllm.sock"),
        engine(env=[{**DEV, "value": "0"}]),
        engine(env=[{**LORA, "value": "false"}]),
        engine(env=[]),
        engine(UNKNOWN, env=[{"name": "BUCKET", "value": UNKNOWN}]),
        engine(UNKNOWN, "--host=::1"),
        engine(command=["sh", "-c", "VLLM_SERVER_DEV_MODE=1 vllm serve m --host 127.0.0.1"], env=[]),
    ],
)
def test_endpoints_for_its_pod_alone_pass(its):
    assert found("dev-endpoints", its) == []
    assert unchecked("dev-endpoints", its) == []


@pytest.mark.parametrize(
    "its",
    [
        engine(),
        engine("--host=0.0.0.0"),
        engine("--host=127.0.0.1", "--host", "::"),
        engine("--host=127.0.0.1.evil.example"),
        engine(env=[{"name": "VLLM_SERVER_DEV_MODE", "valueFrom": {"configMapKeyRef": {"name": "a"}}}]),
        engine("--host=0.0.0.0", UNKNOWN),
        engine(command=["sh", "-c", "export VLLM_SERVER_DEV_MODE=1; vllm serve m"], env=[]),
    ],
)
def test_endpoints_for_everybody_are_refused(its):
    assert found("dev-endpoints", its) == listens()


def test_adapters_that_anybody_loads_are_refused_and_configuration_says_which():
    assert found("dev-endpoints", engine(env=[LORA, DEV])) == listens(f"{LORA['name']}, {DEV['name']}")
    assert found("dev-endpoints", engine(env=[LORA]), config={"variables": ["VLLM_SERVER_DEV_MODE"]}) == []


def test_a_word_that_is_not_known_may_be_the_flag():
    assert found("dev-endpoints", engine(UNKNOWN)) == []
    assert unchecked("dev-endpoints", engine(UNKNOWN)) == ["spec.containers[0].args[0]"]
    assert unchecked("dev-endpoints", engine(env=[{**DEV, "value": UNKNOWN}])) == ["spec.containers[0].env[0].value"]
    both = engine(env=[UNKNOWN, DEV])
    assert (found("dev-endpoints", both), unchecked("dev-endpoints", both)) == (
        listens(),
        ["spec.containers[0].env[0]"],
    )
    assert found("dev-endpoints", engine("--host=0.0.0.0", 3)) == [
        *listens(),
        "spec.containers[0].args[1]: expected a text, found a number",
    ]
