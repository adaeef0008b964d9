"""Toggles of the namespace and the servers."""

from tests.harness import stack_settings
from tests.stack.toggles.pools import L40S, POOL
from tests.stack.toggles.toggle import Toggle

_PARTS = (
    *("PodIdentity %s-server", "Role %s-server", "RolePolicy %s-server", "PodIdentityAssociation %s-server"),
    *("PodIdentity %s-publisher", "Role %s-publisher", "RolePolicy %s-publisher"),
    *("PodIdentityAssociation %s-publisher", "CacheBuild %s", "ServiceAccount %s-publisher", "CronJob %s-cache-build"),
    *("VllmServer %s", "ServiceAccount %s", "Deployment %s", "Service %s"),
)
_TEMPLATE = ("Deployment gemma", "CronJob gemma-cache-build")
_KEY = (*_TEMPLATE, "RolePolicy gemma-publisher")
"""What differs when another cache is needed."""
_GEMMA = stack_settings("dev")["servers"]["gemma"]
_SLEEPING = ["streaming-loader", "node-cache", "cache-restore", "bytecode-cache", "front-proxy", "sleep-mode"]
_CANDIDATE = {"version": "0.26.0", "args": {}}
_KV = {"layers": 60, "kvHeads": 16, "headDim": 256, "slidingLayers": 50, "slidingWindow": 1024}
_REFUSES = "it decides what is refused, and what the preview says of GPU memory"
_IDLE = {"schedule": {"stop": "0 20 * * mon-fri", "start": "30 7 * * mon-fri", "timeZone": "Asia/Seoul"}}
_ASLEEP = {"servers.gemma.idle": _IDLE}
_JOBS = ("CronJob gemma-stop", "CronJob gemma-start")
_SLEEPS = (
    *("ScheduledIdle gemma", "ServiceAccount gemma-scaler", "Role gemma-scaler", "RoleBinding gemma-scaler"),
    *(*_JOBS, "Deployment gemma"),
)
SERVERS = (
    Toggle(
        path="namespace",
        value="llm",
        changes=(
            *("Namespace serving", "PodIdentityAssociation gemma-server", "ServiceAccount gemma", "Service gemma"),
            *("Deployment gemma", "PodIdentityAssociation gemma-publisher"),
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
        changes=("RolePolicy gemma-server", *_KEY),
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
            "techniques": ["fork-engine"],
        }.items()
    ),
    Toggle(
        path="servers.gemma.preset",
        value="step-1",
        changes=(
            *("Deployment gemma", "CronJob gemma-cache-build", "PodIdentity gemma-publisher"),
            *("PersistentVolume gemma-models", "PersistentVolumeClaim gemma-models"),
            *("EC2NodeClass gpu-pools-rtx-pro-6000",),
        ),
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
        also={"servers.gemma.preset": "step-3"},
        changes=("PersistentVolume gemma-models", *_KEY),
        outputs=("servers",),
    ),
    Toggle(
        path="servers.gemma.model.auxiliaryFiles",
        value=True,
        changes=("PersistentVolume gemma-models", "PersistentVolumeClaim gemma-models", *_TEMPLATE),
        outputs=("servers",),
    ),
    Toggle(path="servers.gemma.replicas", value=2, changes=("Deployment gemma", "PodDisruptionBudget gemma")),
    Toggle(
        path="servers.gemma.replicas",
        value=3,
        refused="gpuPools.rtx-pro-6000.maxGpus: gemma 3 x 1 = 3 GPUs > 2",
    ),
    Toggle(path="servers.gemma.rollout", value="surge", changes=("Deployment gemma",)),
    *(
        Toggle(path=f"servers.gemma.{key}", value=value, changes=_TEMPLATE)
        for key, value in {
            "resources.cpu": 4,
            "shutdown.requestSeconds": 30,
        }.items()
    ),
    *(  # what the streamer reads with, and so how long it takes
        Toggle(path=f"servers.gemma.{key}", value=value, changes=_TEMPLATE, outputs=("servers",))
        for key, value in {"model.sizeGib": 20, "resources.memoryGib": 40}.items()
    ),
    Toggle(path="servers.gemma.model.maxContext", value=262144, nothing=_REFUSES),
    Toggle(
        path="servers.gemma.model.maxContext",
        value=4096,
        refused="servers.gemma.engine.maxModelLen: 8192 > model.maxContext 4096: a context longer than the model's",
    ),
    Toggle(path="servers.gemma.model.kv", value=_KV, nothing=_REFUSES),
    *(
        Toggle(
            path=f"servers.gemma.model.kv.{key}", value=value, also={"servers.gemma.model.kv": _KV}, nothing=_REFUSES
        )
        for key, value in {
            "layers": 62,
            "kvHeads": 8,
            "headDim": 128,
            "slidingLayers": 48,
            "slidingWindow": 512,
            "globalKvHeads": 4,
            "globalHeadDim": 512,
        }.items()
    ),
    Toggle(path="servers.gemma.shutdown.drainSeconds", value=20, changes=("Deployment gemma",)),
    Toggle(path="servers.gemma.idle", value=_IDLE, changes=_SLEEPS),
    Toggle(path="servers.gemma.idle", value=..., stack="staging", changes=_SLEEPS),
    Toggle(path="servers.gemma.idle.schedule.stop", value="0 21 * * *", also=_ASLEEP, changes=_JOBS),
    Toggle(path="servers.gemma.idle.schedule.start", value="0 8 * * *", also=_ASLEEP, changes=_JOBS),
    Toggle(path="servers.gemma.idle.schedule.timeZone", value="UTC", also=_ASLEEP, changes=_JOBS),
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
