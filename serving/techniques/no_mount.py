"""no-mount: no Mountpoint volume. Its driver must be ready on a new node before any pod that has one starts.

Weights, tokenizer and configuration come through the streamer. A model with files beside them (`model.auxiliaryFiles`)
keeps its mount.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from serving.budget.timeline import POD_STARTS
from serving.pod import MODEL_MOUNT, MODELS, Pod, Situation
from serving.techniques.technique import Effect, Provided, Technique, saved

_MOUNTED = re.compile(rf"(?<![\w/.-]){re.escape(MODEL_MOUNT)}(?![\w.-])")
"""The folder itself, or what lies below it."""


def _refusals(situation: Situation) -> Iterator[str]:
    if situation.model.auxiliary_files:
        yield "model.auxiliaryFiles is true, and the mount is what shows them"
    for flag, value in situation.engine.args.items():
        if _MOUNTED.search(json.dumps(value)):
            yield f"engine.args.{flag} reads from {MODEL_MOUNT}, which is the mount; set model.auxiliaryFiles: true"


def without_mount(pod: Pod) -> Pod:
    """Return the pod without the Mountpoint volume."""
    return replace(
        pod,
        volumes={name: source for name, source in pod.volumes.items() if name != MODELS},
        mounts={name: mount for name, mount in pod.mounts.items() if name != MODELS},
    )


def _apply(pod: Pod, _situation: Situation, _provided: Provided) -> Pod:
    return without_mount(pod)


NO_MOUNT = Technique(
    name="no-mount",
    effects=(
        Effect(
            phase="container start",
            starts=POD_STARTS,
            seconds=saved(1.0),
            evidence="estimated",
            source="cold-start.md 1: 4 s of container preparation have a floor of 1 s; a late driver costs more",
        ),
    ),
    needs=("streaming-loader",),
    refusals=_refusals,
    apply=_apply,
)
