"""Toggles of the namespace and the servers."""

from tests.harness import stack_settings
from tests.stack.toggles.pools import L40S, POOL
from tests.stack.toggles.toggle import Toggle

_PARTS = (
    *("PodIdentity %s-server", "Role %s-server", "RolePolicy %s-server", "PodIdentityAssociation %s-server"),
    *("PodIdentity %s-publisher", "Role %s-publisher", "RolePolicy %s-publisher"),
    *("PodIdentityAssociation %s-publisher", "CacheBuild %s", "ServiceAccount %s-publisher", "CronJob %s-cache-build"),
    *("VllmServer %s", "ServiceAccount %s", "PersistentVolume %s-models", "PersistentVolumeClaim %s-models"),
    *("Deployment %s", "Service %s"),
)
_TEMPLATE = ("Deployment gemma", "CronJob gemma-cache-build")
_KEY = (*_TEMPLATE, "RolePolicy gemma-publisher")
"""What differs when another cache is needed."""
_GEMMA = stack_settings("dev")["servers"]["gemma"]
_SLEEPING = ["streaming-loader", "node-cache", "cache-restore", "bytecode-cache", "front-proxy", "sleep-mode"]
_CANDIDATE = {"version": "0.26.0", "args": {}}
SERVERS = (
    Toggle(
        path="namespace",
        value="llm",
        changes=(
            *("Namespace serving", "PodIdentityAssociation gemma-server", "ServiceAccount gemma", "Service gemma"),
            *("PersistentVolumeClaim gemma-models", "Deployment gemma", "PodIdentityAssociation gemma-publisher"),
            *("CronJob gemma-cache-build", "ConfigMap programs-engine-start", "PodIdentityAssociation onboarding"),
            *("CronJob weights", "ServiceAccount weights"),
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
        changes=_KEY,
        outputs=("gpuPools", "servers"),
    ),
    Toggle(
        path="servers.gemma.model.uri",
        value=f"{_GEMMA['model']['uri'].removesuffix('r1/')}r2/",
        changes=("RolePolicy gemma-server", "PersistentVolume gemma-models", *_KEY),
        outputs=("servers",),
    ),
    Toggle(
        path="servers.gemma.model.servedName",
        value="gemma",
        changes=_TEMPLATE,
        outputs=("servers",),
    ),
    Toggle(
        path="servers.gemma.engine.tensorParallel",
        value=2,
        also={f"{POOL}.instanceTypes": ["g7e.12xlarge"]},
        changes=_KEY,
        outputs=("servers",),
    ),
    *(
        Toggle(path=f"servers.gemma.{key}", value=value, changes=_KEY, outputs=("servers",))
        for key, value in {
            "engine.version": "0.26.0",
            "engine.image": "example/vllm:1",
            "engine.maxModelLen": 4096,
            "engine.maxNumBatchedTokens": 4096,
            "engine.maxNumSeqs": 64,
            "engine.gpuMemoryUtilization": 0.8,
            "engine.args.kv-cache-dtype": "fp8",
            "techniques": ["streaming-loader", "node-cache", "cache-restore"],
        }.items()
    ),
    Toggle(
        path="servers.gemma.techniques",
        value=["streaming-loader"],
        changes=("Deployment gemma", "CronJob gemma-cache-build", "PodIdentity gemma-publisher"),
        outputs=("servers",),
    ),
    Toggle(
        path="servers.gemma.candidate",
        value=_CANDIDATE,
        changes=("CronJob gemma-cache-build-candidate", "RolePolicy gemma-publisher"),
    ),
    *(
        Toggle(
            path=f"servers.gemma.candidate.{key}",
            value=value,
            also={"servers.gemma.candidate": {**_CANDIDATE, "image": "example/vllm:0"}},
            changes=("CronJob gemma-cache-build-candidate", "RolePolicy gemma-publisher"),
        )
        for key, value in {"version": "0.33.0", "image": "example/vllm:1", "args.kv-cache-dtype": "fp8"}.items()
    ),
    Toggle(
        path="servers.gemma.engine.user",
        value=2000,
        changes=("PersistentVolume gemma-models", *_KEY),
        outputs=("servers",),
    ),
    *(
        Toggle(path=f"servers.gemma.{key}", value=value, changes=_TEMPLATE)
        for key, value in {
            "model.sizeGib": 20,
            "resources.cpu": 4,
            "resources.memoryGib": 40,
            "shutdown.requestSeconds": 30,
        }.items()
    ),
    Toggle(path="servers.gemma.shutdown.drainSeconds", value=20, changes=("Deployment gemma",)),
    *(
        Toggle(
            path=f"servers.gemma.{key}",
            value=value,
            also={"servers.gemma.techniques": _SLEEPING},
            changes=("Deployment gemma",),
            outputs=("servers",),
        )
        for key, value in {
            "front.maxBodyMib": 10,
            "front.bodySeconds": 10,
            "front.readSeconds": 60,
            "front.sendSeconds": 10,
            "front.connections": 512,
            "sleep.wake": "external",
            "sleep.idleSeconds": 60,
            "sleep.holdSeconds": 10,
            "sleep.drainSeconds": 10,
        }.items()
    ),
)
