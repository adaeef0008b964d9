"""The pod of a vLLM server: the baseline that every technique changes. `template` renders it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

from infra.gpu_pools import GpuPool
from infra.node_boot.disks import cache_root
from serving.engine import HOME, ROOT, START_LIMIT, EngineSettings, own_flags
from serving.engine import PORT as PORT
from serving.front.settings import FrontSettings, SleepSettings
from serving.model import AUXILIARY, ModelSettings
from serving.pod.settings import ResourceSettings, ShutdownSettings

MODEL_MOUNT = AUXILIARY
MODELS = "models"
"""The volume that is mounted there."""

CONTAINER = "vllm"
CACHE = "cache"
"""The volume that is mounted at `ROOT`."""

HEALTH = {"path": "/health", "port": "http"}

PROBE_PERIOD = 10
"""Seconds: Kubernetes' default, with which article 000 measured. Half of it, on average, is the price of a start."""

SHARED_MEMORY = 2
"""GiB that /dev/shm may hold: the ring of a tensor-parallel engine, 240 MiB, dies of SIGBUS with the runtime's 64 MB
(vllm#48879). It lies in memory, and counts against the container's limit."""

Manifest = Any
"""A piece of a Kubernetes object, spelled as the API spells it. (The SDK's own types know only snake_case keys.)"""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What is known of a server before any technique: what techniques decide by."""

    model: ModelSettings
    engine: EngineSettings
    resources: ResourceSettings
    shutdown: ShutdownSettings
    front: FrontSettings
    sleep: SleepSettings
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
    serving: Manifest | None = field(default_factory=lambda: {"httpGet": HEALTH})
    """What the readiness probe asks; None: a sidecar's probe says it for the pod."""
    alive: Manifest = field(default_factory=lambda: {"httpGet": HEALTH})
    """What the liveness probe asks."""
    period: int = PROBE_PERIOD
    """Seconds between two questions of the startup probe, and of the readiness probe."""
    before: Mapping[str, Manifest] = field(default_factory=dict)
    """Containers of the engine's own image that end before it starts, by name, in order."""
    sidecars: Mapping[str, Manifest] = field(default_factory=dict)
    """Containers that run beside the engine, from before its start to after its end, by name, in order. One that names
    no image is of the engine's."""
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Volumes of text files that are made for this server: text by file name, by volume name."""
    before_stop: Manifest | None = None
    """The engine's preStop hook; None: it sleeps for the drain, and nothing else."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels beside those of the server."""
    walled: bool = False
    """Whether nothing but its served port may be reached from other pods."""
    selected: Mapping[str, str] = field(default_factory=dict)
    """Which of them its Service asks for beside those of the server."""


def baseline(situation: Situation, claim: pulumi.Input[str] | None) -> Pod:
    """Return the pod with no technique: weights through Mountpoint, vLLM's default loader, caches in the container.

    Args:
        situation: the server.
        claim: the claim of the Mountpoint volume that shows the model's folder; None: a technique takes it out.
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
            MODELS: {"persistentVolumeClaim": {"claimName": claim, "readOnly": True}},
            "shm": {"emptyDir": {"medium": "Memory", "sizeLimit": f"{SHARED_MEMORY}Gi"}},
        },
        mounts={
            CACHE: {"mountPath": ROOT},
            MODELS: {"mountPath": MODEL_MOUNT, "readOnly": True},
            "shm": {"mountPath": "/dev/shm"},  # noqa: S108 - POSIX shared memory, not a temporary file
        },
    )
