"""The start of a server without any technique: what article 000 measured, moved to another server.

The article ran vLLM 0.26.0 on g7e.2xlarge with a NVFP4 checkpoint of 30.5 GiB (32.7 GB; 31.22 GiB once it is on the
GPU), through Mountpoint and vLLM's default loader, with a probe period of 10 s. Figures are its own where it gives one
for a phase; where it gives a sum, the split is an estimate and the sum is its own.
"""

from collections.abc import Mapping
from typing import Literal

from infra.instances import InstanceType
from serving.budget.host_memory import PINNED, host_memory
from serving.budget.timeline import PHASES, Phase, Seconds, Start, Timeline
from serving.model import GIB
from serving.pod import PROBE_PERIOD, Situation

ARTICLE_TYPE, ARTICLE_ENGINE = "g7e.2xlarge", "0.26.0"
ARTICLE_CHECKPOINT, ARTICLE_ON_GPU = 30.5, 31.22
"""GiB of the safetensors, and of what vLLM says that it loaded. Scaled is by the first: it is what `sizeGib` holds."""

WIRE = 0.9
"""Share of an instance's network figure that payload gets. Estimated."""

_MOUNTPOINT_SECONDS = 127.6
_PROBE_LAG = 7.0
_FIRST_SLEEP = 12.8
PINS = ARTICLE_ON_GPU * PINNED / _FIRST_SLEEP
"""GiB of host memory that a first sleep pins in a second: 3.4 by article 000's 12.8 s. An H200 host pinned half as fast
(12.7 s for 21.6 GiB, gpu.md 9): the limits of the agent are made for that one (serving/scripts/agent/engine_client.py).
"""

_ARTICLE: Mapping[Phase, Seconds] = {
    "node": Seconds(31.0, "estimated", "article 000: 428 s less all that it names; 45 s with scheduling (2.3)"),
    "scheduling": Seconds(15.0, "measured", "article 000: wait for scheduling"),
    "image pull": Seconds(64.5, "measured", "article 000: 64-65 s, standard NodeClass"),
    "container start": Seconds(4.0, "measured", "article 000: preparation before the container's start"),
    # in the proportion of gpu.md 2, first row: 22.4, 23.0 and 23.3 s up to `Loading model`
    "imports": Seconds(12.7, "estimated", "article 000: 39 s before the weights, split as on an H200 (gpu.md 2)"),
    "model inspection": Seconds(13.1, "estimated", "article 000: 39 s before the weights, split as on an H200"),
    "engine imports": Seconds(13.2, "estimated", "article 000: 39 s before the weights, split as on an H200"),
    "weights": Seconds(_MOUNTPOINT_SECONDS, "measured", "article 000: through Mountpoint with the default loader"),
    "compile": Seconds(51.0, "measured", "article 000: 50.9-51.1 s"),
    # what a hit leaves of the engine's init beside compile is graphs and profile: 29.6 - 6.6 s, 0.5 s of them kernels
    "kernels": Seconds(20.5, "estimated", "article 000: engine init 94.0 s less compile and what a cache hit leaves"),
    "graphs": Seconds(22.5, "estimated", "article 000: engine init 29.6 s on a cache hit less compile 6.6 s"),
    "API start": Seconds(46.0, "measured", "article 000: from engine init to the API server, a multimodal model"),
    "readiness": Seconds(_PROBE_LAG, "measured", "article 000: about 7 s of a probe period of 10 s"),
}

_FIRST: Mapping[Start, Phase] = {
    "fresh node": "node",
    # the article's warm restart has neither a node nor a wait for scheduling
    "warm node": "image pull",
    "restart": "container start",
}
"""The phase that a start begins with. A wake is none of the baseline's."""

Fact = Literal["type", "engine", "model"]

_HANGS_ON: Mapping[Phase, frozenset[Fact]] = {
    "node": frozenset({"type"}),
    "scheduling": frozenset(),
    "image pull": frozenset({"type", "engine"}),
    "container start": frozenset(),
    "restore": frozenset({"type"}),
    "imports": frozenset({"type", "engine"}),
    "model inspection": frozenset({"type", "engine"}),
    "engine imports": frozenset({"type", "engine"}),
    "weights": frozenset({"type", "engine", "model"}),
    "compile": frozenset({"type", "engine", "model"}),
    "kernels": frozenset({"type", "engine", "model"}),
    "graphs": frozenset({"type", "engine", "model"}),
    "API start": frozenset({"type", "engine", "model"}),
    "priming": frozenset({"type", "model"}),
    "readiness": frozenset(),
    "wake": frozenset({"type", "model"}),
}
"""What a phase depends on. Where the server is another one in this, nothing is measured of it."""

OVERLAPPED = (0, 33)
"""The first release (of those with an argument table) that warms up the API server beside the engine, and imports in
parallel."""

_SINCE_OVERLAPPED: Mapping[Phase, float] = {"API start": 39.0, "engine imports": 2.7}
"""Seconds that it saves. API start: the middle of 35-43 s (cold-start.md 1.1: vllm#52764, #41246). Imports: the
smallest of the published figures, which is that of a warm page cache (vllm#40331: 2.7-3 s; 9-18.7 s with a cold one): a
pull leaves the image in it."""


def probe_lag(period: float) -> float:
    """Return how long a probe that asks every `period` seconds leaves a ready server unnoticed, as in the article."""
    return _PROBE_LAG * period / PROBE_PERIOD


def wake_seconds(situation: Situation) -> float:
    """Return how long a level-1 wake takes: half a second, and the copy back to the GPUs.

    Half a second is what a level-2 wake takes, which copies nothing (0.58 s, gpu.md 9); the copy is the rest of the
    0.97 s of article 000. On an H200 it gives 0.74 s for 15.3 GiB, where 0.68-0.86 s were seen.
    """
    share = situation.model.size_gib / ARTICLE_CHECKPOINT / situation.engine.tensor_parallel
    return 0.5 + 0.47 * share


def priming_seconds(situation: Situation) -> float:
    """Return how long the first sleep and wake take, which a server that will sleep has before it takes traffic.

    The first sleep pins host memory, of all ranks at the rate that was seen with one: nobody measured several.
    """
    pinned = host_memory(situation.model.size_gib, 0.0, sleeps=True).pinned
    return pinned / PINS + wake_seconds(situation)


def over_the_wire(size: float, kind: InstanceType) -> float:
    """Return the seconds that so many bytes need on the network of a type, if nothing else limits them."""
    return size * 8 / (WIRE * kind.network * 10**6)


def _others(situation: Situation, kind: InstanceType) -> set[Fact]:
    """Return in what a server is not the article's."""
    facts: dict[Fact, bool] = {
        "type": kind.name == ARTICLE_TYPE,
        "engine": situation.engine.version == ARTICLE_ENGINE and situation.engine.image is None,
        # nothing else tells its checkpoint from another; some write down what vLLM loads
        "model": ARTICLE_CHECKPOINT <= situation.model.size_gib <= ARTICLE_ON_GPU
        and situation.engine.tensor_parallel == 1,
    }
    return {fact for fact, same in facts.items() if not same}


def as_known(phase: Phase, seconds: Seconds, situation: Situation, kind: InstanceType) -> Seconds:
    """Return the seconds with the evidence that they have for this server on this type."""
    if seconds.evidence == "measured" and _HANGS_ON[phase] & _others(situation, kind):
        return Seconds(seconds.value, "estimated", seconds.source)
    return seconds


def _weights(situation: Situation, kind: InstanceType) -> Seconds:
    scaled = _MOUNTPOINT_SECONDS * situation.model.size_gib / ARTICLE_CHECKPOINT
    size = situation.model.size_gib * GIB
    return Seconds(max(scaled, over_the_wire(size, kind)), "measured", _ARTICLE["weights"].source)


def _since(phase: Phase) -> Seconds:
    """What a phase takes since vLLM overlaps it with another."""
    before = _ARTICLE[phase]
    saved = _SINCE_OVERLAPPED[phase]
    source = "vllm#52764, #41246" if phase == "API start" else "vllm#40331"
    return Seconds(max(0.0, before.value - saved), "estimated", f"{before.source}; {saved:g} s less since {source}")


def baseline(situation: Situation, start: Start, kind: InstanceType) -> Timeline:
    """Return the phases of a start without any technique.

    Weights go by size, and by the network where a slow one shows. The rest is the article's: compile, kernels and
    graphs of another model take other times, and a model of text alone has no long API start (2-3 s: gpu.md 2).

    Args:
        situation: the server.
        start: what is there already. A wake has no phases: without sleep mode there is none.
        kind: the instance type.
    """
    if start not in _FIRST:
        return {}
    phases = {phase: seconds for phase, seconds in _ARTICLE.items() if _from(phase, start)}
    phases["weights"] = _weights(situation, kind)
    if tuple(map(int, situation.engine.version.split(".")[:2])) >= OVERLAPPED:
        phases |= {phase: _since(phase) for phase in _SINCE_OVERLAPPED}
    return {phase: as_known(phase, seconds, situation, kind) for phase, seconds in phases.items()}


def _from(phase: Phase, start: Start) -> bool:
    return PHASES.index(phase) >= PHASES.index(_FIRST[start])
