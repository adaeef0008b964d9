"""local-weights: a copy of the model's folder on the node's disk. A pod that comes again there needs no S3 for it.

It takes the place of the Mountpoint volume, at the same path: so vLLM's cache keys, which hold the model's path, are
those of the baseline, and files beside the weights (`model.auxiliaryFiles`) are there too. A fresh node gets its
weights from S3 all the same, and pays the way over the disk on top. So no preset has it.

One folder for each model revision, which all servers of it share. Only its init container may write there, as root and
with nothing but that folder mounted; an engine mounts the copy read-only, and root in an engine has no capability to
mount it again. Files are root's and readable by everybody: two servers of one model may run as two users.

Folders of other revisions stay on a node until it goes. To remove one is safe only when no pod uses it, and that no
program in a pod can see: the kubelet starts an engine's container again without its init containers.

The loader is vLLM's default one, of both versions: `instanttensor` and `fastsafetensors` come with 0.33 (cold-start.md
1), and neither was run here on any GPU. fastsafetensors stages a whole shard in GPU memory, and models that fit end in
out-of-memory (vllm#29403, PR#55985 open); instanttensor reads past the page cache, which here most likely holds the
weights. `engine.args.load-format` may name either, and moves the fingerprint of the start-up cache.
"""

from dataclasses import replace
from typing import Any

import pulumi

from infra.instances import InstanceType
from infra.model_bucket import MODELS as BUCKET_MODELS
from serving import programs
from serving.budget.baseline import over_the_wire
from serving.budget.disk import LOCAL_WEIGHTS as NAME
from serving.budget.disk import SPARE
from serving.budget.host_memory import engine_memory
from serving.engine import START_LIMIT
from serving.pod import MODEL_MOUNT, Pod, Situation
from serving.pod.template import named
from serving.techniques.cache_restore import RESTORE_SECONDS, SENT_ON
from serving.techniques.no_mount import without_mount
from serving.techniques.node_cache import preparing
from serving.techniques.technique import Effect, Provided, Technique

WEIGHTS = "weights"
"""The volume, and the container that fills it."""

FOLDER = ".weights"
"""Below the node's caches: no server can be called so."""

COPY_MOUNT = "/local-weights"
"""Where the container that copies sees the model's folder on the node."""

COPY = "model"
"""What of it the engine mounts: `serving/scripts/weights/model_folder.py` fills it."""

COPIED = 1.0
"""GB/s that one Python process takes in from S3, at best. Reckoned: 1.6 GB/s of plain HTTP from loopback into memory (2
busy cores, one run), and S3 comes with TLS. What a node's own disk takes in is not known (a VM's ext4: 0.4 GB/s)."""

CACHED = 16.38 / 6.0
"""GB/s of vLLM's default loader from the page cache: the slowest of twelve loads of 16.38 GB (gpu.md 8)."""

UNCACHED = 1.1
"""GB/s of the same loader from a disk: its row in InstantTensor's benchmark (57.4 s for Qwen3-30B-A3B, H200)."""


def folder(situation: Situation) -> str:
    """Return the model's folder on its nodes."""
    return f"{situation.node_caches}/{FOLDER}/{situation.model.uri.prefix.removeprefix(BUCKET_MODELS).rstrip('/')}"


def _read_seconds(_before: float, situation: Situation, _kind: InstanceType) -> float:
    held = situation.model.size_gib + engine_memory(situation.engine.tensor_parallel) <= situation.resources.memory_gib
    return RESTORE_SECONDS + situation.model.size / 10**9 / (CACHED if held else UNCACHED)


def _copy_seconds(before: float, situation: Situation, kind: InstanceType) -> float:
    copied = max(over_the_wire(situation.model.size, kind), situation.model.size / 10**9 / COPIED)
    return _read_seconds(before, situation, kind) + copied


def _copier(pod: Pod, situation: Situation, provided: Provided) -> Any:
    resources, shared = situation.resources, preparing(0)
    memory = f"{resources.memory_gib}Gi"
    return {
        **shared,
        # with site-packages: where an image has no certificates of its own, `requests` brings them
        "command": ["python3", "-B", programs.path("local_weights")],
        "args": [
            pulumi.Output.concat("--from=s3://", provided.bucket, "/", situation.model.uri.prefix),
            f"--to={COPY_MOUNT}",
            f"--limit={START_LIMIT}",
            f"--spare-percent={SPARE}",
        ],
        "env": [*shared["env"], *({"name": name, "value": pod.env[name]} for name in SENT_ON)],
        # The pod reserves the most that any of its containers wants, one after the other: so the engine's own share is
        # free. What is written stays in the page cache within the limit, and the engine reads it from there.
        "resources": {"requests": {"cpu": str(resources.cpu), "memory": memory}, "limits": {"memory": memory}},
        "volumeMounts": [{"name": WEIGHTS, "mountPath": COPY_MOUNT}, *named(programs.MOUNT)],
    }


def _apply(pod: Pod, situation: Situation, provided: Provided) -> Pod:
    bare = without_mount(pod)
    return replace(
        bare,
        model=MODEL_MOUNT,
        volumes={
            **bare.volumes,
            WEIGHTS: {"hostPath": {"path": folder(situation), "type": "DirectoryOrCreate"}},
            **programs.volume(provided.programs),
        },
        mounts={**bare.mounts, WEIGHTS: {"mountPath": MODEL_MOUNT, "subPath": COPY, "readOnly": True}},
        before={**bare.before, WEIGHTS: _copier(bare, situation, provided)},
    )


LOCAL_WEIGHTS = Technique(
    name=NAME,
    effects=(
        Effect(
            phase="weights",
            starts=("restart",),
            seconds=_read_seconds,
            evidence="estimated",
            source="default loader from the page cache where memory holds the weights (gpu.md 8: 2.7 GB/s), else from"
            " the disk (InstantTensor's benchmark: 1.1 GB/s); 2 s for the container that finds the copy complete",
        ),
        Effect(
            phase="weights",
            starts=("fresh node", "warm node"),
            seconds=_copy_seconds,
            evidence="estimated",
            source="the copy at 1 GB/s at most (one Python process), and the read of a restart after it",
        ),
    ),
    holds_up=START_LIMIT,
    excludes=("streaming-loader", "no-mount"),
    apply=_apply,
)
