"""streaming-loader: weights go from S3 to the GPU in parallel ranges, past the FUSE mount.

Mountpoint stays for auxiliary files (tokenizer, draft model).
"""

from collections.abc import Iterator
from dataclasses import replace

import pulumi

from infra.instances import InstanceType
from serving.budget.baseline import ARTICLE_CHECKPOINT, over_the_wire
from serving.budget.streamer import RATES, planned, too_small
from serving.budget.timeline import POD_STARTS
from serving.model import GIB
from serving.pod import Pod, Situation
from serving.techniques.technique import Effect, Provided, Technique

STREAMED = ARTICLE_CHECKPOINT * GIB / 19.8 / 10**9
"""GB/s that article 000 saw on 8 vCPUs at 50 Gbit/s. The network was not what limited it: most likely the CPUs, which
decrypt and copy (cold-start.md 1.2)."""

STREAMED_VCPUS = 8


def _weights_seconds(_before: float, situation: Situation, kind: InstanceType) -> float:
    plan = planned(situation)
    readers = RATES[plan.readers] if plan else min(RATES.values())
    size = situation.model.size
    rate = min(STREAMED * kind.vcpus / STREAMED_VCPUS, readers)
    return max(over_the_wire(size, kind), size / 10**9 / rate)


def _refusals(situation: Situation) -> Iterator[str]:
    if planned(situation) is None:
        yield too_small(situation)


def _apply(pod: Pod, situation: Situation, provided: Provided) -> Pod:
    plan = planned(situation)
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
            source="article 000: 127.6 s -> 19.8 s, g7e.2xlarge; by network, vCPUs and readers: gpu.md 8",
        ),
    ),
    flags=("load-format", "model-loader-extra-config"),
    refusals=_refusals,
    apply=_apply,
)
