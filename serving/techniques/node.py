"""Techniques of a node: a server asks for them, and its pool has them."""

from collections.abc import Iterator

from infra.node_boot import parallel_pull, prepull
from serving.pod import Situation
from serving.techniques.technique import Effect, Technique, at_most, saved, scaled

IMAGE_PREPULL = Technique(
    name=prepull.NAME,
    effects=(
        Effect(
            phase="image pull",
            starts=("fresh node",),
            seconds=scaled(36.0 / 64.5),
            evidence="estimated",
            source="article 000: 64-65 s -> 32.2 s and 39.8 s (n=2), pulled from containerd's start on; this unit"
            " starts with kubelet (aws.md 1.8), and may win less of the race",
        ),
        Effect(
            phase="image pull",
            starts=("warm node",),
            seconds=at_most(0.0),
            evidence="estimated",
            source="article 000, 6.1: none where the node is there before the pod",
        ),
    ),
    node="image-prepull",
)

PARALLEL_PULL = Technique(
    name=parallel_pull.NAME,
    effects=(
        Effect(
            phase="image pull",
            starts=("fresh node", "warm node"),
            seconds=saved(13.0),
            evidence="estimated",
            source="cold-start.md 4: 8-18 s; up to 50 % in Karpenter's blueprint, on larger machines",
        ),
    ),
    node="parallel-pull",
)


def _warm_refusals(situation: Situation) -> Iterator[str]:
    pool = situation.pool
    if not pool.warm_nodes and not pool.capacity.static:
        yield "the pool keeps none; set its warmNodes to 1 or more, or give it static capacity"


WARM_NODES = Technique(
    name="warm-nodes",
    effects=(
        Effect(
            phase="node",
            starts=("fresh node",),
            seconds=at_most(0.0),
            evidence="estimated",
            source="the pod takes the place of a pause pod: EC2 is waited for by that one",
        ),
        Effect(
            phase="scheduling",
            starts=("fresh node",),
            seconds=at_most(2.0),
            evidence="estimated",
            source="cold-start.md 1: 1-2 s where a node is ready",
        ),
        Effect(
            phase="image pull",
            starts=("fresh node",),
            seconds=at_most(0.0),
            evidence="estimated",
            source="the node has waited, so its pre-pull is over (article 000, 6.1)",
            beside=(prepull.NAME,),
        ),
    ),
    refusals=_warm_refusals,
)
