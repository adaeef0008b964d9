"""The pod of a vLLM server: the baseline that every technique changes, and its rendering as a pod template."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Annotated, Any

import pulumi
from pydantic import Field

from infra.gpu_pools import GPU_RESOURCE, GpuPool, toleration
from infra.node_boot.disks import cache_root
from infra.section import Section, Whole
from serving.engine import (
    ENTRY_POINT,
    HOME,
    PORT,
    ROOT,
    START_LIMIT,
    STARTUP_PERIOD,
    STARTUP_SLACK,
    TEARDOWN,
    EngineSettings,
    command_line,
    own_flags,
)
from serving.model import ModelSettings

MODEL_MOUNT = "/models"
CONTAINER = "vllm"
CACHE = "cache"
"""The volume that is mounted at `ROOT`."""

HEALTH = {"path": "/health", "port": "http"}

Manifest = Any
"""A piece of a Kubernetes object, spelled as the API spells it. (The SDK's own types know only snake_case keys.)"""


class ResourceSettings(Section):
    """`servers.<name>.resources`. GPUs follow from `engine.tensorParallel`."""

    cpu: Annotated[Whole, Field(ge=1, le=192)] = Field(description="a whole number of vCPUs, 1 to 192")
    memory_gib: Annotated[Whole, Field(ge=8, le=4096)] = Field(
        description="a whole number of GiB, 8 (6 for the engine, 2 for shared memory) to 4096"
    )


class ShutdownSettings(Section):
    """`servers.<name>.shutdown`.

    SIGTERM closes the port at once (measured on vLLM 0.26): what is still routed to the pod must arrive before.
    """

    drain_seconds: Annotated[Whole, Field(ge=5, le=60)] = Field(
        description="a whole number of seconds, 5 to 60, between leaving the Service and SIGTERM"
    )
    request_seconds: Annotated[Whole, Field(ge=1, le=90)] = Field(
        description="a whole number of seconds, 1 to 90, that running requests get after SIGTERM"
    )

    @property
    def grace(self) -> int:
        """Seconds from the pod's deletion to SIGKILL."""
        return self.drain_seconds + self.request_seconds + TEARDOWN


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What is known of a server before any technique: what techniques decide by."""

    model: ModelSettings
    engine: EngineSettings
    resources: ResourceSettings
    shutdown: ShutdownSettings
    pool: GpuPool
    region: str
    """Of the bucket and the cluster: they are in one region, or the gateway endpoint carries nothing."""

    @property
    def network(self) -> int:
        """Mbit/s of the pool's slowest instance type."""
        return min(kind.network for kind in self.pool.types)

    @property
    def node_caches(self) -> str:
        """The folder of its nodes below which all servers' caches lie. Every type of a pool has local NVMe."""
        return cache_root(self.pool.os_image.family, "raid0")


@dataclass(frozen=True, kw_only=True)
class Pod:
    """What techniques may change. Everything else of the template is the same for every server."""

    model: pulumi.Input[str]
    """First argument of `vllm serve`: a folder or an s3:// URI."""
    flags: Mapping[str, Any]
    env: Mapping[str, str]
    volumes: Mapping[str, Manifest] = field(default_factory=dict)
    """Volume sources by volume name."""
    mounts: Mapping[str, Manifest] = field(default_factory=dict)
    """Container mounts by volume name."""
    parent: tuple[str, ...] = ()
    """Command line that runs the engine as its child, in place of the image's entry point."""
    started: Manifest = field(default_factory=lambda: {"httpGet": HEALTH})
    """What the startup probe asks."""
    before: Mapping[str, Manifest] = field(default_factory=dict)
    """Containers of the engine's own image that end before it starts, by name, in order."""


def baseline(situation: Situation, claim: pulumi.Input[str]) -> Pod:
    """Return the pod with no technique: weights through Mountpoint, vLLM's default loader, caches in the container.

    Args:
        situation: the server.
        claim: the claim of the Mountpoint volume that shows the model's folder.
    """
    return Pod(
        model=MODEL_MOUNT,
        flags=own_flags(situation.engine, situation.model.served_name, situation.shutdown.request_seconds),
        env={
            # without a region the C++ SDK asks IMDS for 5 s and then takes the wrong one (vllm.md A20)
            "AWS_REGION": situation.region,
            "AWS_DEFAULT_REGION": situation.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "HF_HUB_OFFLINE": "1",
            "HOME": HOME,
            # where they lie below HOME by default; an image may say something else (VLM-05)
            "HF_HOME": f"{HOME}/.cache/huggingface",
            "XDG_CACHE_HOME": f"{HOME}/.cache",
            # a uid of no passwd entry has no other name, and torch asks for one (torch/_inductor, getpass)
            "USER": CONTAINER,
            "VLLM_ENGINE_READY_TIMEOUT_S": str(START_LIMIT),
            "VLLM_NO_USAGE_STATS": "1",
        },
        volumes={
            CACHE: {"emptyDir": {}},
            "models": {"persistentVolumeClaim": {"claimName": claim, "readOnly": True}},
            # the ring of a tensor-parallel engine: 240 MiB, SIGBUS with the runtime's 64 MB (vllm#48879)
            "shm": {"emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}},
        },
        mounts={
            CACHE: {"mountPath": ROOT},
            "models": {"mountPath": MODEL_MOUNT, "readOnly": True},
            "shm": {"mountPath": "/dev/shm"},  # noqa: S108 - POSIX shared memory, not a temporary file
        },
    )


def template(
    pod: Pod,
    situation: Situation,
    *,
    image: str,
    priority: pulumi.Input[str],
    service_account: pulumi.Input[str],
    labels: Mapping[str, str],
    node_selector: Mapping[str, str],
) -> Manifest:
    """Return the pod template of the Deployment.

    `image`: the engine's, as nodes pull it. `priority`: name of a priority class.
    """
    return {
        "metadata": {
            "labels": dict(labels),
            # Consolidation would cost a cold start. Karpenter evicts such a pod for nothing else either: on a Spot
            # notice it ends with its node, so the pool's terminationGracePeriod is what gives it a drain (KRP-01).
            "annotations": {"karpenter.sh/do-not-disrupt": "true"},
        },
        "spec": {
            **isolated(service_account, situation.engine.user),
            **on_gpu_nodes(node_selector, priority),
            "terminationGracePeriodSeconds": situation.shutdown.grace,
            **_init_containers(pod, image),
            "containers": [_container(pod, situation, image)],
            "volumes": named(pod.volumes),
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


def _init_containers(pod: Pod, image: str) -> Manifest:
    containers = [
        {"name": name, "image": image, "imagePullPolicy": "IfNotPresent", **spec} for name, spec in pod.before.items()
    ]
    return {"initContainers": containers} if containers else {}


def _container(pod: Pod, situation: Situation, image: str) -> Manifest:
    # an entry point that is named must be named whole
    command = {"command": [*pod.parent, *ENTRY_POINT]} if pod.parent else {}
    return {
        **engine_container(pod, situation, image),
        **command,
        "args": arguments(pod, situation),
        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
        "lifecycle": {"preStop": {"sleep": {"seconds": situation.shutdown.drain_seconds}}},
        **probes(START_LIMIT, pod.started),
    }


def arguments(pod: Pod, situation: Situation) -> list[pulumi.Input[str]]:
    """Return what follows the entry point `vllm serve`.

    The model comes first, because --served-model-name takes all that follow it.
    """
    return [pod.model, *command_line(situation.engine, pod.flags)]


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


def probes(start_limit: int, started: Manifest) -> Manifest:
    """Return the three probes for a start limit in seconds. `started`: what the first of them asks.

    Until the engine serves, its port refuses; the startup probe alone decides before that. Readiness gives up after
    6 s, liveness after 100 s: kernel builds stall the server for a minute (dynamo PR#14735).
    """
    health = {"httpGet": HEALTH}
    return {
        "startupProbe": {
            **started,
            "periodSeconds": STARTUP_PERIOD,
            "timeoutSeconds": STARTUP_PERIOD,
            "failureThreshold": ceil((start_limit + STARTUP_SLACK) / STARTUP_PERIOD),
        },
        "readinessProbe": {**health, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 3},
        "livenessProbe": {**health, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 10},
    }
