"""What a measurement will do and cost, said before anybody is asked."""

from collections.abc import Sequence

from infra.instances import InstanceType
from ops.coldstart.measure.target import Target
from serving.budget.predict import predicted
from serving.budget.timeline import STARTS, Start, total
from serving.techniques import TECHNIQUES

SITUATIONS: dict[str, Start] = {start.replace(" ", "-"): start for start in STARTS}
"""As the command line spells them."""


def expected_seconds(target: Target, start: Start, kind: InstanceType) -> float:
    """Return how long a start is predicted to take on a type of the server's pool."""
    return total(predicted(target.server.situation, target.server.techniques, start, kind, TECHNIQUES))


def slowest(target: Target, start: Start) -> tuple[InstanceType, float]:
    """Return the type of the pool on which a start is predicted to take longest, and the seconds."""
    return max(
        ((kind, expected_seconds(target, start, kind)) for kind in target.server.situation.pool.types),
        key=lambda it: it[1],
    )


def announcement(
    target: Target, start: Start, will: Sequence[str], *, repeat: int, overhead: float, instance: str | None
) -> tuple[str, float]:
    """Return what there is to say, and the minutes that all of it is expected to take.

    Args:
        target: the server.
        start: the kind of start.
        will: what is done to the cluster each time.
        repeat: how many times.
        overhead: seconds beside the start each time: until the pod or the node before has gone.
        instance: the type of the node where it will start; None: Karpenter chooses, so the slowest is told.
    """
    known = {kind.name: kind for kind in target.server.situation.pool.types}
    if instance in known:
        kind = known[instance]
        seconds = expected_seconds(target, start, kind)
    else:
        kind, seconds = slowest(target, start)
    minutes = (seconds + overhead) / 60 * repeat
    price = target.server.situation.pool.price(kind.name, target.server.stack.region)
    usd = (
        f"about {minutes / 60 * price.usd:.2f} USD on-demand ({price.source})"
        if price
        else f"USD unknown: no price of {kind.name} in {target.server.stack.region} (gpuPools.<name>.prices)"
    )
    times = "once" if repeat == 1 else f"{repeat} times, one after another; names below are those of the first"
    text = "\n".join(
        [
            f"servers.{target.server.name} in {target.title}, situation {start}, {times}:",
            *(f"  {line}" for line in will),
            f"  predicted: {seconds:.0f} s from pod to ready on {kind.name}, {overhead:.0f} s to get there",
            f"  expected in all: {minutes:.1f} min, {minutes * kind.gpus:.1f} GPU minutes, {usd}",
        ]
    )
    return text, minutes
