"""node-cache: what the engine compiles outlives its pod, on the fastest disk of the node.

Every cache lies below `ROOT`, and the engine runs below a parent that gives up a cache of which it dies: a folder that
outlives a container would otherwise carry one bad file from crash to crash.
"""

from dataclasses import replace
from typing import Any

from serving import programs
from serving.engine import ROOT
from serving.pod import CACHE, Pod, Situation
from serving.techniques.technique import Effect, Provided, Technique, saved

NODE_CACHES = "/node-cache"
"""Where containers that prepare a folder see those of all servers."""

PREPARER = "cache"
"""The container that prepares the folder: kubelet would make it as root, without asking (VLM-05)."""

TO_GIVE_AWAY = ("CHOWN", "DAC_OVERRIDE", "FOWNER")
"""Capabilities that it takes to fill a folder and give it to another user."""

PATHS = {
    # the engine hashes none of them, and dies on a compile cache that was recorded below another path (gpu.md 0.1)
    "CUDA_CACHE_PATH": f"{ROOT}/nv",
    "FLASHINFER_WORKSPACE_BASE": f"{ROOT}/flashinfer",
    # vLLM sets its own for what it compiles (vllm.md 1.4)
    "TORCHINDUCTOR_CACHE_DIR": f"{ROOT}/inductor",
    "TRITON_CACHE_DIR": f"{ROOT}/triton",
    "VLLM_CACHE_ROOT": f"{ROOT}/vllm",
}
"""Where caches go that would lie somewhere below HOME; what is not named here follows HOME, which is below ROOT too."""


def folder(provided: Provided) -> str:
    """Return the server's folder below the node's caches: another one for whatever another cache is needed for."""
    return f"{provided.server}/{provided.key.fingerprint}"


def preparing(user: int) -> dict[str, Any]:
    """Return what containers that prepare a folder share: no GPU, little memory, and root, who owns the node's disk.

    Args:
        user: whom the folder is for.
    """
    return {
        # the image's own environment asks for all GPUs, and the node's runtime would give them
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],
        "resources": {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "runAsNonRoot": False,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], **({"add": list(TO_GIVE_AWAY)} if user else {})},
        },
        "volumeMounts": [{"name": CACHE, "mountPath": NODE_CACHES}],
    }


def _handed_over(user: int, path: str) -> dict[str, Any]:
    owner = str(user)
    return {**preparing(user), "command": ["install", "-d", "-o", owner, "-g", owner, f"{NODE_CACHES}/{path}"]}


def _apply(pod: Pod, situation: Situation, provided: Provided) -> Pod:
    user, path = situation.engine.user, folder(provided)
    return replace(
        pod,
        env={**pod.env, **PATHS},
        volumes={
            **pod.volumes,
            CACHE: {"hostPath": {"path": situation.node_caches, "type": "DirectoryOrCreate"}},
            **programs.volume(provided.programs),
        },
        mounts={
            **pod.mounts,
            CACHE: {"mountPath": ROOT, "subPath": path},
            **programs.MOUNT,
        },
        # -B: bytecode of these few is not worth a place in the cache
        parent=("python3", "-B", programs.path("wrapper"), ROOT),
        started={"exec": {"command": ["python3", "-S", "-B", programs.path("ready"), ROOT, str(pod.flags["port"])]}},
        before={**pod.before, PREPARER: _handed_over(user, path)} if user else pod.before,
    )


NODE_CACHE = Technique(
    name="node-cache",
    effects=(
        Effect(
            phase="model inspection",
            starts=("restart",),
            seconds=saved(6.6),
            evidence="estimated",
            source="article 000: a second pod starts 71 s faster, of which engine init 64.4 s (23 s in gpu.md 2)",
        ),
        Effect(
            phase="compile",
            starts=("restart",),
            seconds=saved(44.3),
            evidence="measured",
            source="article 000: compile 50.9 s -> 6.6 s on the second start",
        ),
        Effect(
            phase="kernels",
            starts=("restart",),
            seconds=saved(20.1),
            evidence="estimated",
            source="article 000: engine init 94.0 s -> 29.6 s, less what compile saves (103 s on an H200: gpu.md 2)",
        ),
    ),
    flags=(),
    apply=_apply,
)
