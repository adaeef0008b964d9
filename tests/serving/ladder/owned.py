"""What each technique owns of a pod: the paths of its template that differ with it, and no others do."""

from collections.abc import Mapping

_CACHE = {"volumes[cache]", "volumeMounts[cache]", "volumes[programs]", "volumeMounts[programs]"}

_FRONT = {
    *("args[--host]", "args[--port]", "ports[http]", "startupProbe", "readinessProbe", "livenessProbe"),
    *("initContainers[proxy]", "volumes[front-config]", "volumes[front]", "volumes[front-tokens]"),
    *("volumes[front-programs]", "volumeMounts[front-programs]"),
}

OWNED: Mapping[str, set[str]] = {
    "front-proxy": _FRONT,
    "sleep-mode": {
        *("args[--enable-sleep-mode]", "env[VLLM_SERVER_DEV_MODE].value", "livenessProbe", "lifecycle"),
        *("initContainers[agent]", "initContainers[proxy]", "volumes[agent]", "volumeMounts[agent]"),
        *("volumes[front-config]",),
    },
    "streaming-loader": {
        "args[0]",
        "args[--load-format]",
        "args[--model-loader-extra-config]",
        "env[RUNAI_STREAMER_S3_TARGET_GBPS].value",
    },
    "no-mount": {"volumes[models]", "volumeMounts[models]"},
    "node-cache": {
        *_CACHE,
        "command",
        "startupProbe",
        *(
            f"env[{name}].value"
            for name in (
                "CUDA_CACHE_PATH",
                "FLASHINFER_WORKSPACE_BASE",
                "TORCHINDUCTOR_CACHE_DIR",
                "TRITON_CACHE_DIR",
                "VLLM_CACHE_ROOT",
            )
        ),
    },
    "cache-restore": {"initContainers[cache]"},
    "bytecode-cache": {"env[PYTHONPYCACHEPREFIX].value"},
    # the programs' volume too, where no technique before it has brought that
    "local-weights": {
        "initContainers[weights]",
        "volumes[models]",
        "volumeMounts[models]",
        "volumes[weights]",
        "volumeMounts[weights]",
        "volumes[programs]",
    },
    "fork-engine": {"env[VLLM_WORKER_MULTIPROC_METHOD].value"},
    "text-only": {"args[--language-model-only]"},
    "lean-graphs": {"args[--max-cudagraph-capture-size]"},
    "startup-plan": {"env[VLLM_ENABLE_STARTUP_PLAN].value"},
    "fast-probes": {"startupProbe", "readinessProbe"},
    "warm-up-request": {"startupProbe"},
    "image-prepull": set(),
    "parallel-pull": set(),
    "warm-nodes": set(),
}
"""By technique. Those of a node own nothing of the pod."""
