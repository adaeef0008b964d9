"""bytecode-cache: Python's compiled modules outlive the container.

The official images hold no `.pyc`, and their root is thrown away with each container, so every start compiles thousands
of files (vllm#55422). With cache-restore they come to a new node inside the archives.
"""

from dataclasses import replace

from serving.engine import ROOT
from serving.pod import Pod, Situation
from serving.techniques.technique import Effect, Provided, Technique, scaled

LEFT = 5.4 / 12.9
"""Share of the imports that is left. EngineCore finds what the API server has just written, so only those count."""

SOURCE = "cold-start.md 1.4: imports of the API server without a GPU, 12.5-13.3 s -> 5.3-5.5 s (n=3), 2 cores"


def _apply(pod: Pod, _situation: Situation, _provided: Provided) -> Pod:
    return replace(pod, env={**pod.env, "PYTHONPYCACHEPREFIX": f"{ROOT}/pycache"})


BYTECODE_CACHE = Technique(
    name="bytecode-cache",
    effects=(
        Effect(
            phase="imports",
            starts=("restart",),
            seconds=scaled(LEFT),
            evidence="estimated",
            source=SOURCE,
        ),
        Effect(
            phase="imports",
            starts=("fresh node", "warm node"),
            seconds=scaled(LEFT),
            evidence="estimated",
            source=f"{SOURCE}; they come inside the archives",
            beside=("cache-restore",),
        ),
    ),
    flags=(),
    needs=("node-cache",),
    apply=_apply,
)
