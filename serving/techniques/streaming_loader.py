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

_SEEN_READERS, _SEEN_BUFFER = 64, 24 * GIB
"""With which article 000 saw it. A buffer that holds the whole checkpoint counts as the same: it only lacks the refill.
"""


def _weights_seconds(_before: float, situation: Situation, kind: InstanceType) -> float:
    plan, ranks = planned(situation), situation.engine.tensor_parallel
    readers = RATES[plan.readers] if plan else min(RATES.values())
    # every rank reads all of it, with readers of its own; network and vCPUs are the host's
    size = situation.model.size * ranks
    rate = min(STREAMED * kind.vcpus / STREAMED_VCPUS, readers * ranks)
    return max(over_the_wire(size, kind), size / 10**9 / rate)


def _as_seen(situation: Situation) -> bool:
    plan = planned(situation)
    return plan is not None and plan.readers == _SEEN_READERS and plan.limit >= _SEEN_BUFFER


def _refusals(situation: Situation) -> Iterator[str]:
    if planned(situation) is None:
        yield too_small(situation)


def _apply(pod: Pod, situation: Situation, provided: Provided) -> Pod:
    plan = planned(situation)
    if plan is None:
        raise AssertionError("refused before any resource")
    network = situation.network // 1000 // plan.ranks
    return replace(
        pod,
        model=pulumi.Output.concat("s3://", provided.bucket, "/", situation.model.uri.prefix),
        flags={
            **pod.flags,
            "load-format": "runai_streamer",
            "model-loader-extra-config": {"concurrency": plan.readers, "memory_limit": plan.limit},
        },
        # unset, the CRT client keeps the SDK's low default throughput target (vllm.md A18)
        env={**pod.env, "RUNAI_STREAMER_S3_TARGET_GBPS": str(max(1, network))},
    )


STREAMING_LOADER = Technique(
    name="streaming-loader",
    effects=(
        Effect(
            phase="weights",
            starts=POD_STARTS,
            seconds=_weights_seconds,
            evidence="measured",
            as_seen=_as_seen,
            source="article 000: 127.6 s -> 19.8 s, g7e.2xlarge; by network, vCPUs and readers: gpu.md 8",
        ),
    ),
    flags=("load-format", "model-loader-extra-config"),
    refusals=_refusals,
    apply=_apply,
)
