"""How the weight streamer uses host memory: readers, and a buffer that holds the checkpoint."""

from dataclasses import dataclass

from serving.budget.host_memory import ENGINE_MEMORY
from serving.model import GIB
from serving.pod import Situation

RATES = {8: 2.23, 16: 2.78, 32: 3.63, 64: 6.70}
"""GB/s by number of readers: the bare streamer from a loopback S3 on one H200 host (gpu.md 8, n=1 each)."""

READER_MEMORY = 0.17
"""GiB of host memory per reader, beside the buffer (gpu.md 0.12)."""

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

    @property
    def gib(self) -> float:
        """Host memory of the buffer and its readers."""
        return self.limit / GIB + self.readers * READER_MEMORY


def buffer(checkpoint: int, memory: int, network: int) -> Buffer | None:
    """Return the streamer's readers and buffer, or None when not even the smallest buffer fits.

    As many readers as the network needs; a buffer that holds the whole checkpoint, because up to 0.16 a smaller one
    makes every refill a barrier (runai-model-streamer#164). When memory is short, readers go before the buffer does.

    Args:
        checkpoint: bytes of the safetensors.
        memory: bytes of the container's memory limit.
        network: Mbit/s of the slowest instance type.
    """
    free = {n: memory - round((ENGINE_MEMORY + n * READER_MEMORY) * GIB) for n in _ladder(network)}
    for readers, room in free.items():
        if room >= checkpoint:
            return Buffer(readers, checkpoint)
    fewest = min(free)
    return Buffer(fewest, free[fewest]) if free[fewest] >= LEAST_BUFFER * 10**9 else None


def _ladder(network: int) -> list[int]:
    """The numbers of readers that may be, the most that the network can use first."""
    enough = next((n for n, rate in sorted(RATES.items()) if rate * 8000 >= network), max(RATES))
    return [n for n in sorted(RATES, reverse=True) if n <= enough]


def checkpoint(situation: Situation) -> int:
    """Return the bytes of a server's checkpoint, with what was rounded off when it was typed."""
    return round(situation.model.size * ROUNDING)


def planned(situation: Situation, network: int | None = None) -> Buffer | None:
    """Return how the streamer of a server uses its memory, or None when it does not fit.

    Args:
        situation: the server.
        network: Mbit/s that the readers are to fill. Left out: those of the pool's slowest type, which is what its
            pods get, whatever their node is.
    """
    return buffer(checkpoint(situation), situation.resources.memory_gib * GIB, network or situation.network)


def too_small(situation: Situation) -> str:
    """Return why a server has no plan: the sum of the least that the streamer needs."""
    fewest = min(RATES)
    readers, least = fewest * READER_MEMORY, LEAST_BUFFER * 10**9 / GIB
    return (
        f"host memory {ENGINE_MEMORY:.1f} GiB engine + {readers:.1f} GiB for {fewest} readers"
        f" + {least:.1f} GiB smallest buffer = {ENGINE_MEMORY + readers + least:.1f} GiB"
        f" > {situation.resources.memory_gib} GiB of resources.memoryGib"
    )


def reason(situation: Situation, network: int | None = None) -> str:
    """Return the plan of `planned` as one sentence: the sum, and why it is no other one."""
    plan = planned(situation, network)
    if plan is None:
        return too_small(situation)
    wire = network or situation.network
    whole = checkpoint(situation)
    wanted = _ladder(wire)[0]
    total = plan.gib + ENGINE_MEMORY
    why = [f"{wire / 1000:g} Gbit/s want {wanted}"]
    if plan.readers < wanted:
        why.append("memory is short, and readers go first")
    if plan.limit < whole:
        why.append(f"the checkpoint has {whole / GIB:.1f} GiB, so each refill is a wait")
    return (
        f"{plan.readers} readers x {READER_MEMORY} GiB + buffer {plan.limit / GIB:.1f} GiB"
        f" + engine {ENGINE_MEMORY:.1f} GiB = {total:.1f} GiB of {situation.resources.memory_gib} GiB"
        f" ({'; '.join(why)})"
    )


def reasons(situation: Situation) -> dict[str, str]:
    """Return by instance type of the pool what the streamer would do there if no other type were in it."""
    return {kind.name: reason(situation, kind.network) for kind in situation.pool.types}
