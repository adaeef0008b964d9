"""The rendering of a pod as a pod template."""

from collections.abc import Mapping

import pulumi

from infra.gpu_pools import GPU_RESOURCE, toleration
from serving.arguments import literal
from serving.engine import ENTRY_POINT, PORT, command_line
from serving.pod import CONTAINER, Manifest, Pod, Situation
from serving.pod.probes import probes
from serving.programs import config_map_name


def template(
    pod: Pod,
    situation: Situation,
    *,
    server: str,
    image: str,
    priority: pulumi.Input[str],
    service_account: pulumi.Input[str],
    labels: Mapping[str, str],
    node_selector: Mapping[str, str],
    spread: Manifest,
) -> Manifest:
    """Return the pod template of the Deployment of a server.

    `image`: the engine's, as nodes pull it. `priority`: name of a priority class. `spread`: what spreads replicas.
    """
    return {
        "metadata": {
            "labels": {**labels, **pod.labels},
            # Consolidation would cost a cold start. Karpenter evicts such a pod for nothing else either: on a Spot
            # notice it ends with its node, so the pool's terminationGracePeriod is what gives it a drain (KRP-01).
            "annotations": {"karpenter.sh/do-not-disrupt": "true"},
        },
        "spec": {
            **isolated(service_account, situation.engine.user),
            **on_gpu_nodes(node_selector, priority),
            **spread,
            "terminationGracePeriodSeconds": situation.shutdown.grace,
            **init_containers(pod, image),
            "containers": [_container(pod, situation, image)],
            "volumes": named({**pod.volumes, **_files(pod, server)}),
        },
    }


def isolated(service_account: pulumi.Input[str], user: int) -> Manifest:
    """Return what keeps every pod of the stack by itself.

    Args:
        service_account: its identity in AWS.
        user: uid and gid of all containers that name none.
    """
    return {
        "serviceAccountName": service_account,
        # Pod Identity projects a token of its own; the Kubernetes API is for none of them
        "automountServiceAccountToken": False,
        # a Service called `vllm` would set VLLM_PORT=tcp://... (vllm#34199)
        "enableServiceLinks": False,
        "securityContext": {
            "runAsUser": user,
            "runAsGroup": user,
            "runAsNonRoot": user != 0,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def on_gpu_nodes(selector: Mapping[str, str], priority: pulumi.Input[str]) -> Manifest:
    """Return what puts a pod on the nodes of a pool. `priority`: name of a priority class."""
    return {"priorityClassName": priority, "nodeSelector": dict(selector), "tolerations": [toleration()]}


def named(parts: Mapping[str, Manifest]) -> list[Manifest]:
    """Return volumes or mounts by name as the list that the API wants."""
    return [{"name": name, **part} for name, part in sorted(parts.items())]


def init_containers(pod: Pod, image: str) -> Manifest:
    """Return what runs before the engine, and beside it, as the part of the pod's spec that the API wants."""
    common = {"image": image, "imagePullPolicy": "IfNotPresent"}
    # "Always" makes a sidecar of it: it is there before the next one starts, and ends after the engine
    sidecars = {name: {**spec, "restartPolicy": "Always"} for name, spec in pod.sidecars.items()}
    containers = [{"name": name, **common, **spec} for name, spec in {**pod.before, **sidecars}.items()]
    return {"initContainers": containers} if containers else {}


def file_maps(pod: Pod, server: str) -> Mapping[str, tuple[str, Mapping[str, str]]]:
    """Return by volume name the ConfigMap that a server's pod wants made: its name, which its content decides."""
    return {volume: (config_map_name(f"{server}-{volume}", text), text) for volume, text in pod.files.items()}


def _files(pod: Pod, server: str) -> Mapping[str, Manifest]:
    return {volume: {"configMap": {"name": name}} for volume, (name, _) in file_maps(pod, server).items()}


def _container(pod: Pod, situation: Situation, image: str) -> Manifest:
    # an entry point that is named must be named whole
    command = {"command": [*pod.parent, *ENTRY_POINT]} if pod.parent else {}
    # a server whose readiness a sidecar tells is reached through that
    ports = {"ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}]} if pod.serving else {}
    return {
        **engine_container(pod, situation, image),
        **command,
        "args": arguments(pod, situation),
        **ports,
        "lifecycle": {"preStop": pod.before_stop or {"sleep": {"seconds": situation.shutdown.drain_seconds}}},
        **probes(pod),
    }


def arguments(pod: Pod, situation: Situation) -> list[pulumi.Input[str]]:
    """Return what follows the entry point `vllm serve`, written for Kubernetes.

    The model comes first, because --served-model-name takes all that follow it.
    """
    return [pod.model, *map(literal, command_line(situation.engine, pod.flags))]


def engine_container(pod: Pod, situation: Situation, image: str) -> Manifest:
    """Return what every container that runs the engine has, whether it serves or only starts it."""
    resources = situation.resources
    gpus = str(situation.engine.tensor_parallel)
    return {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": name, "value": value} for name, value in sorted(pod.env.items())],
        "resources": {
            # no CPU limit: imports and compilation are CPU-bound, and throttling them is the cold start
            "requests": {"cpu": str(resources.cpu), "memory": f"{resources.memory_gib}Gi", GPU_RESOURCE: gpus},
            "limits": {"memory": f"{resources.memory_gib}Gi", GPU_RESOURCE: gpus},
        },
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": named(pod.mounts),
    }
