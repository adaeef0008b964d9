"""streaming-loader: weights go from S3 to the GPU in parallel ranges, past the FUSE mount.

Mountpoint stays for auxiliary files (tokenizer, draft model).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pulumi

from infra.instances import InstanceType
from serving.budget.timeline import POD_STARTS
from serving.model import GIB
from serving.pod import Pod, Situation
from serving.techniques.technique import Effect, Provided, Technique

RATES = {8: 2.23, 16: 2.78, 32: 3.63, 64: 6.70}
"""GB/s by number of readers: the bare streamer from a loopback S3 on one H200 host (gpu.md 8, n=1 each)."""

READER_MEMORY = 0.17
"""GiB of host memory per reader, beside the buffer (gpu.md 0.12)."""

ENGINE_MEMORY = 6.0
"""GiB of host memory of the engine itself: 3.5-3.9 warm, 6.1 while nvcc runs (gpu.md 2)."""

ROUNDING = 1.02
"""`model.sizeGib` is typed by hand: rounded down it would make the buffer smaller than the checkpoint."""

LEAST_BUFFER = 5
"""GB: the smallest buffer that was run; with it the load was no slower (gpu.md 8)."""


@dataclass(frozen=True)
class Buffer:
    """How the streamer uses host memory."""

    readers: int
    limit: int
    """Bytes."""


def buffer(checkpoint: int, memory: int, network: int) -> Buffer | None:
    """Return the streamer's readers and buffer, or None when not even the smallest buffer fits.

    As many readers as the network needs; a buffer that holds the whole checkpoint, because up to 0.16 a smaller one
    makes every refill a barrier (runai-model-streamer#164). When memory is short, readers go before the buffer does.

    Args:
        checkpoint: bytes of the safetensors.
        memory: bytes of the container's memory limit.
        network: Mbit/s of the slowest instance type.
    """
    enough = next((n for n, rate in sorted(RATES.items()) if rate * 8000 >= network), max(RATES))
    ladder = [n for n in sorted(RATES, reverse=True) if n <= enough]
    free = {n: memory - round((ENGINE_MEMORY + n * READER_MEMORY) * GIB) for n in ladder}
    for readers in ladder:
        if free[readers] >= checkpoint:
            return Buffer(readers, checkpoint)
    fewest = ladder[-1]
    return Buffer(fewest, free[fewest]) if free[fewest] >= LEAST_BUFFER * 10**9 else None


def _buffer(situation: Situation) -> Buffer | None:
    return buffer(round(situation.model.size * ROUNDING), situation.resources.memory_gib * GIB, situation.network)


STREAMED = 31.22 * GIB / 19.8 / 10**9
"""GB/s that article 000 saw on 8 vCPUs at 50 Gbit/s. The network was not what limited it: most likely the CPUs, which
decrypt and copy (cold-start.md 1.2)."""

STREAMED_VCPUS = 8
WIRE = 0.9
"""Share of the network's figure that payload gets. Estimated."""


def _weights_seconds(_before: float, situation: Situation, kind: InstanceType) -> float:
    plan = _buffer(situation)
    readers = RATES[plan.readers] if plan else min(RATES.values())
    rate = min(WIRE * kind.network / 8000, STREAMED * kind.vcpus / STREAMED_VCPUS, readers)
    return situation.model.size / 10**9 / rate


def _refusals(situation: Situation) -> Iterator[str]:
    if _buffer(situation) is None:
        fewest = min(RATES)
        readers, least = fewest * READER_MEMORY, LEAST_BUFFER * 10**9 / GIB
        yield (
            f"host memory {ENGINE_MEMORY:.1f} GiB engine + {readers:.1f} GiB for {fewest} readers"
            f" + {least:.1f} GiB smallest buffer = {ENGINE_MEMORY + readers + least:.1f} GiB"
            f" > {situation.resources.memory_gib} GiB of resources.memoryGib"
        )


def _apply(pod: Pod, situation: Situation, provided: Provided) -> Pod:
    plan = _buffer(situation)
    if plan is None:
        raise AssertionError("refused before any resource")
    return replace(
        pod,
        model=pulumi.Output.concat("s3://", provided.bucket, "/", situation.model.uri.prefix),
        flags={
            **pod.flags,
            "load-format": "runai_streamer",
            "model-loader-extra-config": {"concurrency": plan.readers, "memory_limit": plan.limit},
        },
        # unset, the CRT client keeps the SDK's low default throughput target (vllm.md A18)
        env={**pod.env, "RUNAI_STREAMER_S3_TARGET_GBPS": str(max(1, situation.network // 1000))},
    )


STREAMING_LOADER = Technique(
    name="streaming-loader",
    effects=(
        Effect(
            phase="weights",
            starts=POD_STARTS,
            seconds=_weights_seconds,
            evidence="measured",
            source="article 000: 127.6 s -> 19.8 s, g7e.2xlarge, 31.22 GiB; by network and readers: gpu.md 8",
        ),
    ),
    flags=("load-format", "model-loader-extra-config"),
    refusals=_refusals,
    apply=_apply,
)
