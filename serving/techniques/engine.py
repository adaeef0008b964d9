"""Techniques that are one flag or variable of the engine."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from infra.instances import InstanceType
from serving.budget.timeline import POD_STARTS
from serving.pod import Pod, Situation
from serving.techniques.technique import Effect, Provided, Technique, saved


def _fork_refusals(situation: Situation) -> Iterator[str]:
    # the executor's flag, which would choose Ray, is refused for every server (serving.engine.REFUSED), and so are the
    # others of NUMA without this one (serving.arguments.together.NEEDS)
    if situation.engine.args.get("numa-bind") in (True, "true"):
        yield "engine.args.numa-bind: vLLM falls back to spawn with NUMA binding"


_OLD = "0.26."


def _fork_doubts(situation: Situation, _provided: Provided) -> Iterator[str]:
    if situation.engine.version.startswith(_OLD):
        yield "no engine was forked on a GPU yet: its seconds are an estimate, and so is that it starts"
    else:
        yield f"vLLM {situation.engine.version} has a fork server of its own: nothing is saved"


def _fork(pod: Pod, _situation: Situation, _provided: Provided) -> Pod:
    return replace(pod, env={**pod.env, "VLLM_WORKER_MULTIPROC_METHOD": "fork"})


def _without_the_second_import(before: float, situation: Situation, _kind: InstanceType) -> float:
    return min(before, 1.0) if situation.engine.version.startswith(_OLD) else before


FORK_ENGINE = Technique(
    name="fork-engine",
    effects=(
        Effect(
            phase="engine imports",
            starts=POD_STARTS,
            seconds=_without_the_second_import,
            evidence="estimated",
            source="gpu.md 0.4: EngineCore imports again, 18-21 s of a warm boot on an H200; no fork was run on a GPU;"
            " 0.33 has a fork server of its own",
        ),
    ),
    refusals=_fork_refusals,
    doubts=_fork_doubts,
    apply=_fork,
)


def _text_only_refusals(situation: Situation) -> Iterator[str]:
    if not _none_of_each(situation.engine.args.get("limit-mm-per-prompt")):
        yield "engine.args.limit-mm-per-prompt allows what this switches off"


def _text_only_doubts(situation: Situation, _provided: Provided) -> Iterator[str]:
    if situation.engine.version.startswith(_OLD):
        yield f"takes image input away, and saves nothing on vLLM {situation.engine.version} (vllm#40365)"


def _none_of_each(limits: object) -> bool:
    """Whether limits by kind of input let none in: `{image: 0}`, the same as text, or `{image: {count: 0}}`."""
    if isinstance(limits, str):
        with suppress(json.JSONDecodeError):
            limits = json.loads(limits)
    if limits is None:
        return True
    counts = limits.values() if isinstance(limits, Mapping) else [limits]
    return all((it.get("count") if isinstance(it, Mapping) else it) in (0, "0") for it in counts)


def _text_only(pod: Pod, _situation: Situation, _provided: Provided) -> Pod:
    return replace(pod, flags={**pod.flags, "language-model-only": True})


def _no_multimodal_warm_up(before: float, situation: Situation, _kind: InstanceType) -> float:
    return before if situation.engine.version.startswith(_OLD) else min(before, 3.0)


TEXT_ONLY = Technique(
    name="text-only",
    effects=(
        Effect(
            phase="API start",
            starts=POD_STARTS,
            seconds=_no_multimodal_warm_up,
            evidence="published",
            source="vllm#41246 (in 0.33): 3 s to listening for gemma-4-E4B-it; before, the flag did not skip"
            " the warm-up (vllm#40365)",
        ),
    ),
    flags=("language-model-only",),
    refusals=_text_only_refusals,
    doubts=_text_only_doubts,
    apply=_text_only,
)

LARGEST_GRAPH = 64
"""Requests."""


def _lean_refusals(situation: Situation) -> Iterator[str]:
    engine = situation.engine
    if engine.max_num_seqs > LARGEST_GRAPH:
        yield f"engine.maxNumSeqs {engine.max_num_seqs} > {LARGEST_GRAPH}: larger batches would run without a graph"
    for flag in ("cudagraph-capture-sizes", "enforce-eager", "compilation-config"):
        if flag in engine.args:
            yield f"engine.args.{flag} decides over graphs too"


def _lean(pod: Pod, _situation: Situation, _provided: Provided) -> Pod:
    return replace(pod, flags={**pod.flags, "max-cudagraph-capture-size": LARGEST_GRAPH})


LEAN_GRAPHS = Technique(
    name="lean-graphs",
    effects=(
        Effect(
            phase="graphs",
            starts=POD_STARTS,
            seconds=saved(4.0),
            evidence="measured",
            source="gpu.md 2: graph capture 5-6 s -> 1.8 s, H200, 8B",
        ),
    ),
    flags=("max-cudagraph-capture-size",),
    refusals=_lean_refusals,
    apply=_lean,
)


def _plan(pod: Pod, _situation: Situation, _provided: Provided) -> Pod:
    return replace(pod, env={**pod.env, "VLLM_ENABLE_STARTUP_PLAN": "1"})


STARTUP_PLAN = Technique(
    # of no preset: it saved nothing that could be measured (engine init 18.3 s without, 19.7 s with it), and made the
    # KV cache smaller (gpu.md 6)
    name="startup-plan",
    effects=(),
    needs=("node-cache",),
    apply=_plan,
)
