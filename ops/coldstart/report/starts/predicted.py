"""What the program predicts today of a start that was measured, as far as its record says what was started."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from infra.gpu_pools import GpuPool
from infra.instances import ARCHITECTURES, InstanceType, catalogue, types_with
from infra.model_bucket import MODELS
from ops.coldstart.record import Subject
from serving.arguments import ENGINES
from serving.budget.predict import predicted
from serving.budget.timeline import Start, Timeline
from serving.pod import Situation
from serving.server import ServerSettings, situation
from serving.techniques import TECHNIQUES

LEFT_TO_NODE = 4
"""GiB of a node that are taken not to be the server's: node agents and a sidecar. A record does not hold the memory
that a server asks for; it moves a prediction only where the streamer's readers are short of it."""

_ANY_SERVER: Mapping[str, Any] = {
    "pool": "any",
    "techniques": [],
    "shutdown": {"drainSeconds": 5, "requestSeconds": 1},
}
_ANY_POOL: Mapping[str, Any] = {
    "capacity": "on-demand",
    "maxGpus": 1000,
    "ami": "al2023@v20260724",
    "rootVolumeGib": 50,
    "techniques": [],
    "warmNodes": 0,
    "consolidateAfter": "never",
    "updateWindow": "never",
    "expireAfter": "never",
}
"""What no prediction hangs on."""


def doubt(subject: Subject) -> str | None:
    """Return why nothing is predicted of a subject; None: there is a prediction."""
    if subject.instance_type is None or subject.model_gib is None:
        missing = "instanceType" if subject.instance_type is None else "modelGib"
        return f"the records do not say {missing}"
    kind = catalogue().get(subject.instance_type)
    if kind is None or kind.name not in types_with(kind.gpu):
        return f"the catalogue of instances has no {subject.instance_type}"
    if kind.gpu not in ARCHITECTURES:
        return f"no pool may have the GPU of {kind.name}"
    if subject.engine_version not in ENGINES:
        return f"no vLLM {subject.engine_version} here, only {', '.join(ENGINES)}"
    if not 0 < subject.model_gib <= 2000 or not 1 <= subject.tensor_parallel <= kind.gpus:
        return f"{subject.model_gib:g} GiB on {subject.tensor_parallel} GPUs of {kind.name} is no server"
    if unknown := [name for name in subject.techniques if name not in TECHNIQUES]:
        return f"no technique {', '.join(unknown)} here"
    return None


def timeline(subject: Subject, techniques: frozenset[str], start: Start) -> Timeline:
    """Return the phases of a start of a subject without `doubt`, with these techniques instead of its own."""
    kind = catalogue()[subject.instance_type or ""]
    served = _situation(subject.engine_version, subject.model_gib or 0.0, subject.tensor_parallel, kind)
    return predicted(served, sorted(techniques), start, kind)


@cache
def _situation(version: str, gib: float, ranks: int, kind: InstanceType) -> Situation:
    memory = max(8, kind.allocatable_memory // 1024 - LEFT_TO_NODE)
    engine = {
        "version": version,
        "maxModelLen": 8192,
        "maxNumBatchedTokens": 8192,
        "maxNumSeqs": 256,
        "gpuMemoryUtilization": 0.9,
        "tensorParallel": ranks,
        "args": {},
    }
    server = {
        **_ANY_SERVER,
        "model": {"uri": f"s3://any/{MODELS}any/any/", "servedName": "any", "sizeGib": gib},
        "engine": engine,
        "resources": {"cpu": 1, "memoryGib": memory * ranks // kind.gpus},
    }
    pool = {**_ANY_POOL, "product": kind.gpu, "instanceTypes": [kind.name]}
    return situation(ServerSettings.model_validate(server), GpuPool.model_validate(pool), "us-west-2")
