"""How the weight streamer uses host memory: readers, and a buffer that holds the checkpoint.

Each rank of a tensor-parallel engine has a streamer of its own, which is given the same readers and buffer, and reads
the whole checkpoint: reads are split between ranks only by `distributed`, which corrupted weights (vllm#41749) and
stays off. So the host's memory and readers are divided by the ranks.
"""

from dataclasses import dataclass

from serving.budget.host_memory import ENGINE_MEMORY, RANK_MEMORY, engine_memory, engine_sum
from serving.model import GIB
from serving.pod import SHARED_MEMORY, Situation

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
    """How the streamer of each rank uses host memory."""

    readers: int
    limit: int
    """Bytes."""
    ranks: int = 1

    @property
    def gib(self) -> float:
        """Host memory of the buffers and readers of all ranks."""
        return self.ranks * (self.limit / GIB + self.readers * READER_MEMORY)


def buffer(checkpoint: int, memory: int, network: int, ranks: int = 1) -> Buffer | None:
    """Return the readers and buffer of each rank's streamer, or None when not even the smallest buffers fit.

    As many readers as the network needs, all ranks together; a buffer that holds the whole checkpoint, because up to
    0.16 a smaller one makes every refill a barrier (runai-model-streamer#164). When memory is short, readers go before
    the buffer does.

    Args:
        checkpoint: bytes of the safetensors.
        memory: bytes of the container's memory limit.
        network: Mbit/s of the slowest instance type.
        ranks: of the engine.
    """
    engine = engine_memory(ranks)
    free = {n: (memory - round((engine + ranks * n * READER_MEMORY) * GIB)) // ranks for n in _ladder(network, ranks)}
    for readers, room in free.items():
        if room >= checkpoint:
            return Buffer(readers, checkpoint, ranks)
    fewest = min(free)
    return Buffer(fewest, free[fewest], ranks) if free[fewest] >= LEAST_BUFFER * 10**9 else None


def _ladder(network: int, ranks: int) -> list[int]:
    """The numbers of readers that a rank may have, the most that its share of the network can use first."""
    enough = next((n for n, rate in sorted(RATES.items()) if rate * 8000 >= network), max(RATES))
    each = max(enough // ranks, min(RATES))
    return [n for n in sorted(RATES, reverse=True) if n <= each]


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
    memory, ranks = situation.resources.memory_gib * GIB, situation.engine.tensor_parallel
    return buffer(checkpoint(situation), memory, network or situation.network, ranks)


def too_small(situation: Situation) -> str:
    """Return why a server has no plan: the sum of the least that the streamer needs."""
    fewest, ranks = min(RATES), situation.engine.tensor_parallel
    readers, least = fewest * READER_MEMORY, LEAST_BUFFER * 10**9 / GIB
    each = f"{readers:.1f} GiB for {fewest} readers + {least:.1f} GiB smallest buffer"
    engine = f"{ENGINE_MEMORY:.1f} GiB engine"
    if ranks > 1:
        engine += f" + {(ranks - 1) * RANK_MEMORY:.1f} GiB for {ranks - 1} further ranks + {SHARED_MEMORY} GiB /dev/shm"
        each = f"{ranks} ranks x ({each})"
    return (
        f"host memory {engine} + {each} = {engine_memory(ranks) + ranks * (readers + least):.1f} GiB"
        f" > {situation.resources.memory_gib} GiB of resources.memoryGib"
    )


def reason(situation: Situation, network: int | None = None) -> str:
    """Return the plan of `planned` as one sentence: the sum, and why it is no other one."""
    plan = planned(situation, network)
    if plan is None:
        return too_small(situation)
    wire = network or situation.network
    whole, ranks = checkpoint(situation), plan.ranks
    wanted = _ladder(wire, ranks)[0]
    total = plan.gib + engine_memory(ranks)
    each = f"{plan.readers} readers x {READER_MEMORY} GiB + buffer {plan.limit / GIB:.1f} GiB"
    why = [f"{wire / 1000:g} Gbit/s want {wanted}"]
    if ranks > 1:
        each = f"{ranks} ranks x ({each})"
        read = f"each of {ranks} ranks reads the whole checkpoint: {ranks * situation.model.size_gib:g} GiB"
        why = [read, f"{why[0]} a rank"]
    if plan.readers < wanted:
        why.append("memory is short, and readers go first")
    if plan.limit < whole:
        why.append(f"the checkpoint has {whole / GIB:.1f} GiB, so each refill is a wait")
    return f"{each} + {engine_sum(ranks)} = {total:.1f} GiB of {situation.resources.memory_gib} GiB ({'; '.join(why)})"


def reasons(situation: Situation) -> dict[str, str]:
    """Return by instance type of the pool what the streamer would do there if no other type were in it."""
    return {kind.name: reason(situation, kind.network) for kind in situation.pool.types}
