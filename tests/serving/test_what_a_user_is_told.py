"""What a preview warns of: settings that nothing comes of, and techniques that do nothing on this engine."""

from typing import Any

import pytest

import settings
from serving.engine import PROGRESS_DEADLINE, START_LIMIT
from serving.server import ServerSettings
from serving.server.demand import builds_without_room
from serving.server.fit import without_effect
from serving.techniques import doubts, progress_deadline
from tests.harness import REGION, stack_settings
from tests.serving.situations import provided, situation


def server(**changes: Any) -> ServerSettings:
    raw = stack_settings("dev")
    raw["servers"]["gemma"] |= {"preset": "frontier", "techniques": [], **changes}
    return settings.parse(raw, REGION).servers["gemma"]


IDLE = {"schedule": {"stop": "0 20 * * *", "start": "0 6 * * *", "timeZone": "UTC"}}
OPEN = (("techniques",), "the stack has tokens, and without front-proxy nothing here asks for one")


@pytest.mark.parametrize(
    ("changes", "tokens", "said"),
    [
        ({}, False, []),
        ({}, True, [OPEN]),
        ({"techniques": ["front-proxy"]}, True, []),
        ({"sleep": {"idleSeconds": 60}}, False, [(("sleep",), "does nothing without the technique sleep-mode")]),
        ({"front": {"maxBodyMib": 1}}, False, [(("front",), "does nothing without the technique front-proxy")]),
        ({"preset": "short-idle", "sleep": {"idleSeconds": 60}, "front": {"maxBodyMib": 1}}, True, []),
        (
            {"preset": "nightly-idle"},
            False,
            [(("preset",), "nightly-idle without idle.schedule never stops, and costs what it costs by day")],
        ),
        ({"preset": "nightly-idle", "idle": IDLE}, False, []),
    ],
)
def test_settings_that_nothing_comes_of_are_said(changes: dict[str, Any], tokens: bool, said: list[Any]) -> None:
    assert list(without_effect(server(**changes), tokens=tokens)) == said


def test_an_argument_that_changes_the_start_in_an_unknown_way_is_said() -> None:
    raw = stack_settings("dev")["servers"]["gemma"]["engine"]
    eager = server(engine={**raw, "args": {"enforce-eager": True, "seed": 1}})
    assert list(without_effect(eager, tokens=False)) == [
        (("engine", "args", "enforce-eager"), "changes the start, and the prediction does not know how")
    ]


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("text-only", "0.26.0", ["takes image input away, and saves nothing on vLLM 0.26.0 (vllm#40365)"]),
        ("text-only", "0.33.0", []),
        (
            "fork-engine",
            "0.26.0",
            ["no engine was forked on a GPU yet: its seconds are an estimate, and so is that it starts"],
        ),
        ("fork-engine", "0.33.0", ["vLLM 0.33.0 has a fork server of its own: nothing is saved"]),
    ],
)
def test_a_technique_that_saves_nothing_on_this_engine_says_so(name: str, version: str, said: list[str]) -> None:
    about = situation(engine={"version": version})
    assert list(doubts([name], about, provided())) == [f"{name}: {one}" for one in said]


@pytest.mark.parametrize(("share", "warned"), [(0.85, False), (0.86, True), (0.9, True)])
def test_sleep_warns_of_a_share_of_the_gpu_with_which_the_article_s_server_fell(share: float, warned: bool) -> None:
    about = situation(engine={"gpuMemoryUtilization": share})
    said = [it for it in doubts(["sleep-mode"], about, provided()) if "gpuMemoryUtilization" in it]
    expected = (
        f"sleep-mode: engine.gpuMemoryUtilization {share:g} > 0.85: with sleep mode the article's server ran out of GPU"
        " memory at 0.9 and not at 0.85"
    )
    assert said == ([expected] if warned else [])


def test_a_rollout_waits_for_a_copy_of_the_weights_too() -> None:
    assert progress_deadline(["streaming-loader", "cache-restore"]) == PROGRESS_DEADLINE
    assert progress_deadline(["local-weights"]) == PROGRESS_DEADLINE + START_LIMIT


NO_GPU = (
    "no GPU is left for the Job that builds its start-up cache; allow more, or build while a server has fewer replicas"
)
STATIC = {"static": {"nodes": 1, "market": "on-demand"}}


@pytest.mark.parametrize(
    ("pool", "changes", "said"),
    [
        ({"maxGpus": 2}, {}, None),
        ({"maxGpus": 2}, {"replicas": 2}, "gemma 2 x 1 + cache build of gemma 1 = 3 GPUs > 2 (gpuPools.{}.maxGpus)"),
        ({"maxGpus": 3}, {"replicas": 2}, None),
        ({"maxGpus": 2}, {"replicas": 2, "preset": "step-2"}, None),
        ({"maxGpus": 2}, {"rollout": "surge"}, None),
        ({"maxGpus": 2, "warmNodes": 1}, {}, None),
        (
            {"maxGpus": 2, "capacity": STATIC, "consolidateAfter": "never"},
            {},
            "gemma 1 + cache build of gemma 1 = 2 GPUs > 1 on 1 nodes (gpuPools.{}.capacity.static.nodes)",
        ),
    ],
    ids=["room", "full", "larger limit", "restores none", "surge passes", "pause pods give way", "static nodes"],
)
def test_a_pool_without_a_gpu_for_a_cache_build_is_said_with_the_sum(
    pool: dict[str, Any], changes: dict[str, Any], said: str | None
) -> None:
    """A build runs beside the servers; pending for want of a GPU it waits for ever, and nothing says so."""
    raw = stack_settings("dev")
    (name,) = raw["gpuPools"]
    raw["gpuPools"][name] |= pool
    raw["servers"]["gemma"] |= changes
    stack = settings.parse(raw, REGION)
    expected = {} if said is None else {"gemma": f"{said.format(name)}: {NO_GPU}"}
    assert builds_without_room(stack.servers, stack.pools) == expected
