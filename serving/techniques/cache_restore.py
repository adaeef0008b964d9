"""cache-restore: a new node gets the start-up cache that a build has published, before the engine starts.

It is not there: the server starts cold. Whatever goes wrong, the restore ends within its limit and never fails the pod.
"""

from collections.abc import Iterator
from dataclasses import replace

import pulumi

from serving import programs
from serving.budget.timeline import Start
from serving.engine import RESTORE_LIMIT
from serving.pod import Pod, Situation
from serving.pod.template import named
from serving.techniques.node_cache import INSPECTED, KERNELS_FOUND, NODE_CACHES, PREPARER, preparing
from serving.techniques.technique import Effect, Provided, Technique, at_most

SENT_ON = ("AWS_REGION",)
"""What the program needs of the engine's environment."""


RESTORE_SECONDS, PRESENT_SECONDS = 2.0, 1.0
"""Of a container of the image that is there already, and what it does: fetch an archive, or find it restored."""

NEW: tuple[Start, ...] = ("fresh node", "warm node")
"""Starts on a node that has nothing of the server."""


def _refusals(situation: Situation) -> Iterator[str]:
    memories = sorted({kind.gpu_memory for kind in situation.pool.types})
    if len(memories) > 1:
        sizes = ", ".join(f"{memory} MiB" for memory in memories)
        yield (
            f"the pool's types have {situation.pool.product} with {sizes}: CUDA names them apart, and a cache of one"
            " crashes on the other; one of them needs a pool of its own"
        )


def _apply(pod: Pod, situation: Situation, provided: Provided) -> Pod:
    user = situation.engine.user
    shared = preparing(user)
    container = {
        **shared,
        # -S: without site-packages it starts in 30 ms; the image's hold thousands of names
        "command": ["python3", "-S", "-B", programs.path("restore")],
        "args": [
            pulumi.Output.concat("--bucket=", provided.bucket),
            *provided.key.arguments,
            f"--server={provided.server}",
            f"--cache={NODE_CACHES}",
            f"--limit={RESTORE_LIMIT}",
            *([f"--owner={user}:{user}"] if user else []),
        ],
        "env": [*shared["env"], *({"name": name, "value": pod.env[name]} for name in SENT_ON)],
        "volumeMounts": [*shared["volumeMounts"], *named(programs.MOUNT)],
    }
    return replace(pod, before={**pod.before, PREPARER: container})


CACHE_RESTORE = Technique(
    name="cache-restore",
    effects=(
        Effect(
            phase="restore",
            starts=NEW,
            seconds=lambda before, _situation, _kind: before + RESTORE_SECONDS,
            evidence="estimated",
            source="`make bench-cache`: 218 MB in 1,204 files, 0.4 s of work at 25 ms first byte; and the container",
        ),
        Effect(
            phase="restore",
            starts=("restart",),
            seconds=lambda before, _situation, _kind: before + PRESENT_SECONDS,
            evidence="estimated",
            source="the container, and one listing: what was restored is there",
        ),
        Effect(
            phase="model inspection",
            starts=NEW,
            seconds=at_most(INSPECTED),
            evidence="estimated",
            source="gpu.md 0.3: 0.0-0.2 s with the model's class info (n=37), which is in both archives",
        ),
        Effect(
            phase="compile",
            starts=NEW,
            seconds=at_most(6.98),
            evidence="measured",
            source="article 000: compile on a new node 51.1 s -> 6.98 s",
        ),
        Effect(
            phase="kernels",
            starts=NEW,
            seconds=at_most(KERNELS_FOUND),
            evidence="estimated",
            source="gpu.md 2: 0.3-0.9 s when they are there; article 000: engine init on a new node 94.3 s -> 30.4 s",
        ),
    ),
    flags=(),
    needs=("node-cache",),
    refusals=_refusals,
    apply=_apply,
)
