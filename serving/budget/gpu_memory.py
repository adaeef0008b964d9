"""Memory of one GPU: weights, what a step needs, and the KV cache that is left for requests.

vLLM takes `gpuMemoryUtilization` of the GPU. Out of that come weights, activations and the KV cache; CUDA's context and
the CUDA graphs lie beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from infra.instances import InstanceType
from serving.budget import Problem
from serving.budget.host_memory import ON_GPU
from serving.budget.kv_cache import context_refusals, parallel_refusals, request_bytes
from serving.budget.uncounted import KV_BYTES, amount_of
from serving.model import GIB
from serving.pod import Situation

ACTIVATIONS, ACTIVATION_TOKENS = 1.0, 8192
"""GiB that a step of so many tokens takes: 125.8 - 15.3 GiB weights - 109.5 GiB KV cache on an H200 with 8B (gpu.md 6).
A larger model takes more, and so does one that takes images: it is what a refusal may count on, not what is safe."""

BESIDE = 1.4
"""GiB beside vLLM's share: 127.25 GiB in use at a share of 125.8 (NVML, gpu.md 9). 0.6 of it are 86 CUDA graphs."""


@dataclass(frozen=True)
class GpuMemory:
    """Of one GPU, in GiB."""

    whole: float
    share: float
    """What vLLM takes of it."""
    weights: float
    activations: float
    request: float | None
    """KV cache of one request of `maxModelLen` tokens; None: the model's shape is not known."""

    @property
    def left(self) -> float:
        """For the KV cache. Below 0: the engine cannot start."""
        return self.share - self.weights - self.activations

    @property
    def requests(self) -> float | None:
        """How many requests of `maxModelLen` tokens have room at once; None: nobody can say."""
        return max(0.0, self.left) / self.request if self.request else None


def gpu_memory(situation: Situation, kind: InstanceType) -> GpuMemory:
    """Return what the memory of each GPU of a server goes to, on a type of its pool."""
    model, engine = situation.model, situation.engine
    whole = kind.gpu_memory / 1024
    return GpuMemory(
        whole=whole,
        share=whole * engine.gpu_memory_utilization,
        weights=model.size_gib * ON_GPU / engine.tensor_parallel,
        activations=ACTIVATIONS * engine.max_num_batched_tokens / ACTIVATION_TOKENS,
        request=request_bytes(model.kv, engine) / GIB if model.kv else None,
    )


def refusals(situation: Situation) -> Iterator[Problem]:
    """Yield why a server cannot start on a type of its pool: it asks what the model cannot, or has no room."""
    model, engine = situation.model, situation.engine
    yield from context_refusals(model, engine)
    yield from parallel_refusals(model, engine)
    for kind in situation.pool.types:
        if kind.gpus < engine.tensor_parallel:
            continue
        memory = gpu_memory(situation, kind)
        if (alone := amount_of(engine, KV_BYTES) / GIB) > memory.whole:
            yield (
                ("engine", "args", KV_BYTES),
                f"{alone:.1f} GiB of KV cache > {memory.whole:.1f} GiB of each GPU on {kind.name}",
            )
        asked = f"gpuMemoryUtilization {engine.gpu_memory_utilization:g}"
        if model.size_gib > (room := memory.share * engine.tensor_parallel):
            yield (
                ("model", "sizeGib"),
                f"{model.size_gib:g} GiB of weights > {engine.tensor_parallel} x {memory.whole:.1f} GiB"
                f" x {asked} = {room:.1f} GiB on {kind.name}",
            )
        elif memory.left <= 0:
            yield (
                ("model", "sizeGib"),
                f"{_taken(memory)} >= {memory.whole:.1f} GiB x {asked} = {memory.share:.1f} GiB of each GPU on"
                f" {kind.name}: nothing is left for the KV cache",
            )
        elif memory.request and memory.request > memory.left:
            yield (
                ("engine", "maxModelLen"),
                f"one request of {engine.max_model_len} tokens needs {memory.request:.1f} GiB of KV cache"
                f" > {_left(memory)} on {kind.name}{_bound(situation)}",
            )


def warnings(situation: Situation) -> Iterator[Problem]:
    """Yield what a server has no room for at its worst: as many requests of `maxModelLen` as it admits; the graphs."""
    engine = situation.engine
    for kind in situation.pool.types:
        if kind.gpus < engine.tensor_parallel:
            continue
        memory = gpu_memory(situation, kind)
        if memory.request and memory.requests and 1 <= memory.requests < engine.max_num_seqs:
            yield (
                ("engine", "maxNumSeqs"),
                f"{engine.max_num_seqs} x {memory.request:.1f} GiB of KV cache"
                f" = {engine.max_num_seqs * memory.request:.1f} GiB > {_left(memory)} on {kind.name}: room for"
                f" {memory.requests:.1f} requests of {engine.max_model_len} tokens at once, further ones wait"
                f"{_bound(situation)}",
            )
        if memory.share + BESIDE > memory.whole:
            yield (
                ("engine", "gpuMemoryUtilization"),
                f"{memory.whole:.1f} GiB x {engine.gpu_memory_utilization:g} + {BESIDE} GiB CUDA context and graphs"
                f" = {memory.share + BESIDE:.1f} GiB > {memory.whole:.1f} GiB of each GPU on {kind.name}",
            )


def line(situation: Situation, kind: InstanceType) -> str:
    """Return the sum of each GPU as text: what is left for the KV cache, and for how many requests that is."""
    memory = gpu_memory(situation, kind)
    text = f"{_left(memory)} for the KV cache"
    if memory.requests is None:
        return f"{text}; how many tokens that holds is not known without model.kv"
    return f"{text}: {memory.requests:.1f} requests of {situation.engine.max_model_len} tokens{_bound(situation)}"


def _taken(memory: GpuMemory) -> str:
    taken = memory.weights + memory.activations
    return f"{memory.weights:.1f} GiB weights + {memory.activations:.1f} GiB activations = {taken:.1f} GiB"


def _left(memory: GpuMemory) -> str:
    return (
        f"{memory.share:.1f} GiB share - {memory.weights:.1f} GiB weights - {memory.activations:.1f} GiB activations"
        f" = {memory.left:.1f} GiB"
    )


def _bound(situation: Situation) -> str:
    kv = situation.model.kv
    if kv is None or kv.sliding_layers:
        return ""
    return "; layers with a sliding window need less: say model.kv.slidingLayers and slidingWindow"
