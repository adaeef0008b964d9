"""Presets, named sets of techniques: the ladder of article 000, each step one thing more, and what is best where.

Servers with the same name, limits and rollout on two steps are what the article measured: the preset is the one word
that changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from serving.front.settings import Wake
from serving.model import ModelSettings
from serving.techniques.no_mount import NO_MOUNT


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Techniques that go together."""

    techniques: tuple[str, ...]
    use: str
    """What it is for."""
    wake: Wake = "on-request"
    """What wakes a server that sleeps, unless its own settings say."""


_WEIGHTS = ("streaming-loader",)
_NODE = (*_WEIGHTS, "node-cache")
_BUCKET = (*_NODE, "cache-restore")

_QUICK = ("streaming-loader", "no-mount", "node-cache", "bytecode-cache", "fast-probes")
"""What costs nothing on any start."""

_NEW_NODES = (*_QUICK, "cache-restore", "parallel-pull")

PRESETS: Mapping[str, Preset] = {
    "step-0": Preset(techniques=(), use="article 000: the baseline"),
    "step-1": Preset(techniques=_WEIGHTS, use="article 000: weights past the mount"),
    "step-2": Preset(techniques=_NODE, use="article 000: compiled kernels outlive the pod"),
    "step-3": Preset(techniques=_BUCKET, use="article 000: compiled kernels reach new nodes"),
    "step-4": Preset(techniques=(*_BUCKET, "image-prepull"), use="article 000: the image is pulled while a node boots"),
    "step-5": Preset(
        techniques=(*_NODE, "front-proxy", "sleep-mode"),
        use="article 000: GPU memory given back while idle, beside step 3 and 4",
        wake="external",
    ),
    "frontier": Preset(techniques=_NEW_NODES, use="the shortest start that takes nothing away"),
    "frequent-redeploys": Preset(techniques=_QUICK, use="pods come again on nodes that stay"),
    "spot-replacement": Preset(techniques=_NEW_NODES, use="nodes go, and pods come again on new ones"),
    "short-idle": Preset(
        techniques=(*_NEW_NODES, "front-proxy", "sleep-mode"),
        use="minutes without requests, and an answer a second after the next one",
    ),
    "nightly-idle": Preset(techniques=_NEW_NODES, use="no node at night: with idle.schedule, each morning a new one"),
}
"""By name. Not in any of them: what takes something away (text-only, lean-graphs), costs by the hour (warm-nodes), is
not proven (fork-engine), or was measured and saves nothing (startup-plan, warm-up-request)."""


def chosen(preset: str | None, beside: Sequence[str], model: ModelSettings) -> tuple[str, ...]:
    """Return the names of a server's techniques: those of its preset, then those beside it, each once."""
    names = PRESETS[preset].techniques if preset else ()
    if model.auxiliary_files:  # the one thing that a preset leaves to the model
        names = tuple(name for name in names if name != NO_MOUNT.name)
    return tuple(dict.fromkeys((*names, *beside)))
