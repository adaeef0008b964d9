"""Toggles of the namespace and the servers."""

from tests.harness import stack_settings
from tests.stack.toggles.pools import L40S, POOL
from tests.stack.toggles.toggle import Toggle

_PARTS = (
    *("PodIdentity %s-server", "Role %s-server", "RolePolicy %s-server", "PodIdentityAssociation %s-server"),
    *("VllmServer %s", "ServiceAccount %s", "PersistentVolume %s-models", "PersistentVolumeClaim %s-models"),
    *("Deployment %s", "Service %s"),
)
_DEPLOYMENT = ("Deployment gemma",)
_GEMMA = stack_settings("dev")["servers"]["gemma"]
SERVERS = (
    Toggle(
        path="namespace",
        value="llm",
        changes=(
            *("Namespace serving", "PodIdentityAssociation gemma-server", "ServiceAccount gemma", "Service gemma"),
            *("PersistentVolumeClaim gemma-models", "Deployment gemma"),
        ),
        outputs=("namespace", "servers"),
    ),
    Toggle(path="servers.gemma", value=..., changes=tuple(part % "gemma" for part in _PARTS), outputs=("servers",)),
    Toggle(
        path="servers.second",
        value=_GEMMA,
        changes=tuple(part % "second" for part in _PARTS),
        outputs=("servers",),
    ),
    Toggle(path="servers.gemma.pool", value="l40s", refused='servers.gemma.pool: "l40s"; allowed: rtx-pro-6000'),
    Toggle(
        path="servers.gemma.pool",
        value="l40s",
        also={"gpuPools.l40s": L40S},
        changes=_DEPLOYMENT,
        outputs=("gpuPools",),
    ),
    Toggle(
        path="servers.gemma.model.uri",
        value=f"{_GEMMA['model']['uri'].removesuffix('r1/')}r2/",
        changes=("RolePolicy gemma-server", "PersistentVolume gemma-models", "Deployment gemma"),
    ),
    Toggle(
        path="servers.gemma.model.servedName",
        value="gemma",
        changes=_DEPLOYMENT,
        outputs=("servers",),
    ),
    Toggle(
        path="servers.gemma.engine.tensorParallel",
        value=2,
        also={f"{POOL}.instanceTypes": ["g7e.12xlarge"]},
        changes=_DEPLOYMENT,
    ),
    *(
        Toggle(path=f"servers.gemma.{key}", value=value, changes=_DEPLOYMENT)
        for key, value in {
            "model.sizeGib": 20,
            "engine.version": "0.26.0",
            "engine.image": "example/vllm:1",
            "engine.maxModelLen": 4096,
            "engine.maxNumBatchedTokens": 4096,
            "engine.maxNumSeqs": 64,
            "engine.gpuMemoryUtilization": 0.8,
            "engine.args.kv-cache-dtype": "fp8",
            "techniques": [],
            "resources.cpu": 4,
            "resources.memoryGib": 40,
            "shutdown.drainSeconds": 20,
            "shutdown.requestSeconds": 30,
        }.items()
    ),
)
