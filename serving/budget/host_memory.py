"""Host memory: what the engine takes, what the streamer takes while it loads, and what sleep pins for ever.

Buffer and pinned copies do not coexist: memory is back at the engine's own right after loading (gpu.md 8), and weights
are pinned at the first sleep (vllm.md A22). So the peak is the engine and the larger of both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from infra.gpu_pools import AGENTS_MEMORY
from infra.instances import InstanceType
from serving.budget import Problem
from serving.pod import SHARED_MEMORY, Situation

ENGINE_MEMORY = 6.0
"""GiB of host memory of the engine itself: 3.5-3.9 warm, 6.1 while nvcc runs (gpu.md 2)."""

RANK_MEMORY = 2.0
"""GiB of each further rank of a tensor-parallel engine, a process of its own beside those of `ENGINE_MEMORY`.
Estimated: half of what an engine's two processes take when they are warm."""

ON_GPU = 31.22 / 30.5
"""GiB that vLLM loads per GiB of safetensors (article 000; 1.00 on an H200, gpu.md 2)."""

PINNED, PINNED_AT_WORST = 1.40, 1.92
"""GiB of host memory that sleep takes, and keeps, per GiB of weights: measured (gpu.md 9: 21.6 for 15.27 GiB), and the
worst that was published (vllm#53042, #56410: every block is rounded up to a power of two). Article 000 slept 31 GiB
on a g7e.2xlarge, which the first allows and the second does not."""

_AT_WORST = f" at worst ({PINNED_AT_WORST} x weights)"

SLEEP_MODE = "sleep-mode"
"""Name of the technique with which a server sleeps."""

ASLEEP_ON_GPU = 2.04
"""GiB of GPU memory that a sleeper keeps (NVML, gpu.md 9)."""

SIDECARS = 0.25
"""GiB of the front proxy and the sleep agent. Estimated: nginx and one Python process."""


def engine_memory(ranks: int) -> float:
    """Return the GiB of host memory of an engine itself: of all its ranks, and what these share.

    Ranks talk through /dev/shm, counted as full as it may get. An engine of one rank uses none of it.
    """
    return ENGINE_MEMORY + ((ranks - 1) * RANK_MEMORY + SHARED_MEMORY if ranks > 1 else 0.0)


def engine_sum(ranks: int) -> str:
    """Return `engine_memory` as text, part by part."""
    further = f" + {ranks - 1} further ranks x {RANK_MEMORY} GiB + /dev/shm {SHARED_MEMORY} GiB" if ranks > 1 else ""
    return f"engine {ENGINE_MEMORY:.1f} GiB{further}"


@dataclass(frozen=True)
class HostMemory:
    """Of one server, in GiB."""

    engine: float
    streamer: float
    """Buffer and readers while weights are loaded; 0 without the streamer."""
    pinned: float
    """From the first sleep on; 0 for a server that never sleeps."""

    @property
    def peak(self) -> float:
        """The most that it takes at once."""
        return self.engine + max(self.streamer, self.pinned)


def host_memory(weights: float, streamer: float, *, sleeps: bool, pinned: float = PINNED, ranks: int = 1) -> HostMemory:
    """Return what a server takes.

    Args:
        weights: GiB of the checkpoint.
        streamer: GiB of the buffers and readers of all ranks' streamers (`streamer.Buffer.gib`); 0 without it.
        sleeps: whether it ever sleeps.
        pinned: GiB per GiB of weights.
        ranks: GPUs that share the weights. Each pins its own share of them.
    """
    return HostMemory(engine_memory(ranks), streamer, weights * ON_GPU * pinned if sleeps else 0.0)


def refusals(situation: Situation, names: Sequence[str]) -> Iterator[Problem]:
    """Yield why a server cannot sleep: less host memory than was measured to work."""
    if SLEEP_MODE in names:
        yield from _short(situation, PINNED, "")


def warnings(situation: Situation, names: Sequence[str]) -> Iterator[Problem]:
    """Yield what may keep a server from sleeping: enough for what was measured, not for the worst that is published."""
    if SLEEP_MODE in names and not list(refusals(situation, names)):
        yield from _short(situation, PINNED_AT_WORST, _AT_WORST)


def _short(situation: Situation, pinned: float, when: str) -> Iterator[Problem]:
    ranks = situation.engine.tensor_parallel
    memory = host_memory(situation.model.size_gib, 0.0, sleeps=True, pinned=pinned, ranks=ranks)
    kind = min(situation.pool.types, key=attrgetter("allocatable_memory"))
    allocatable, limit = kind.allocatable_memory / 1024, situation.resources.memory_gib
    # what no limit can mend is said first; the limit itself must fit into what is allocatable (serving/server/fit.py)
    if memory.peak > allocatable:
        where = f"{allocatable:.1f} GiB allocatable on {kind.name}"
    elif memory.peak > limit:
        where = f"{limit} GiB of resources.memoryGib"
    else:
        return
    yield (
        ("sleep",),
        f"host memory {memory.pinned:.1f} GiB weights pinned{when} + {memory.engine:.1f} GiB base"
        f" = {memory.peak:.1f} GiB > {where}",
    )


@dataclass(frozen=True)
class Sleeper:
    """One of several servers that share a GPU. In GiB."""

    weights: float
    """Of its checkpoint."""
    gpu_share: float
    """What it takes of the GPU when it is awake: gpuMemoryUtilization x GPU memory."""


def shared_refusals(sleepers: Mapping[str, Sleeper], kind: InstanceType) -> Iterator[str]:
    """Yield why servers cannot share one GPU of an instance, of which one at a time is awake.

    Every one of them keeps its pinned copies, asleep or awake: so host memory holds all of them, whoever is awake.
    Article 000 lost a node (NotReady) with 31B and 26B models on a g7e.2xlarge.

    Args:
        sleepers: the servers by name.
        kind: where.
    """
    yield from _hosted(sleepers, kind, PINNED, "")
    residue = ASLEEP_ON_GPU * max(0, len(sleepers) - 1)
    room = kind.gpu_memory / 1024
    for name, sleeper in sleepers.items():
        if sleeper.gpu_share + residue > room:
            yield (
                f"GPU memory {sleeper.gpu_share:.1f} GiB of {name} awake + {len(sleepers) - 1} x {ASLEEP_ON_GPU} GiB"
                f" asleep = {sleeper.gpu_share + residue:.1f} GiB > {room:.1f} GiB on {kind.name}"
            )


def shared_warnings(sleepers: Mapping[str, Sleeper], kind: InstanceType) -> Iterator[str]:
    """Yield what may keep servers from sharing a GPU: enough host memory for what was measured, not for the worst."""
    if not list(_hosted(sleepers, kind, PINNED, "")):
        yield from _hosted(sleepers, kind, PINNED_AT_WORST, _AT_WORST)


def _hosted(sleepers: Mapping[str, Sleeper], kind: InstanceType, pinned: float, when: str) -> Iterator[str]:
    each = [host_memory(it.weights, 0.0, sleeps=True, pinned=pinned) for it in sleepers.values()]
    copies = sum(memory.pinned for memory in each)
    base = sum(memory.engine + SIDECARS for memory in each)
    agents = AGENTS_MEMORY / 1024
    room = kind.allocatable_memory / 1024
    if (total := copies + base + agents) > room:
        yield (
            f"host memory {copies:.1f} GiB weights of {len(sleepers)} servers pinned{when}"
            f" + {len(sleepers)} x {ENGINE_MEMORY + SIDECARS:.2f} GiB base + {agents:.1f} GiB node agents"
            f" = {total:.1f} GiB > {room:.1f} GiB allocatable on {kind.name}"
        )
