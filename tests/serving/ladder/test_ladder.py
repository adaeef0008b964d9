"""The ladder of article 000: each step is one technique more, and changes what that technique owns."""

from itertools import pairwise

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.ladder import PRESETS, chosen
from serving.pod import Situation
from serving.techniques import TECHNIQUES, asked_of_nodes, refusals, sidecars_take
from tests.serving.ladder.owned import OWNED
from tests.serving.ladder.rendered import difference, rendered, short
from tests.serving.situations import situation

STEPS = [name for name in PRESETS if name.startswith("step-")]
ANY = situation({"warmNodes": 1, "maxGpus": 4}, engine={"maxNumSeqs": 64})


def with_needs(name: str) -> list[str]:
    needed = [other for need in TECHNIQUES[name].needs for other in with_needs(need)]
    return list(dict.fromkeys([*needed, name]))


def techniques(preset: str) -> tuple[str, ...]:
    return PRESETS[preset].techniques


def test_the_ladder_is_the_articles() -> None:
    assert {step: techniques(step) for step in STEPS} == {
        "step-0": (),
        "step-1": ("streaming-loader",),
        "step-2": ("streaming-loader", "node-cache"),
        "step-3": ("streaming-loader", "node-cache", "cache-restore"),
        "step-4": ("streaming-loader", "node-cache", "cache-restore", "image-prepull"),
        "step-5": ("streaming-loader", "node-cache", "front-proxy", "sleep-mode"),
    }


@pytest.mark.parametrize(("before", "after"), [*pairwise(["step-0", "step-1", "step-2", "step-3", "step-4"])])
def test_neighbours_differ_by_one_technique_and_by_what_it_owns(before: str, after: str) -> None:
    (added,) = {*techniques(after)} - {*techniques(before)}
    assert {*techniques(before)} < {*techniques(after)}
    assert short(difference(rendered(techniques(before)), rendered(techniques(after)))) == OWNED[added]


@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_technique_changes_exactly_what_it_owns(name: str) -> None:
    """A variable that strays into one would be somebody else's in the next measurement."""
    assert name in OWNED, f"say in tests/serving/ladder/owned.py what {name} owns of a pod"
    *before, _ = with_needs(name)
    assert short(difference(rendered(before, ANY), rendered([*before, name], ANY))) == OWNED[name]


def test_step_5_changes_what_its_two_techniques_own_and_what_waking_from_outside_needs() -> None:
    """Another owner wakes it, so its pod has a label to take away and a token to take it away with."""
    outside = situation(sleep={"wake": "external"})
    changed = short(difference(rendered(techniques("step-2"), outside), rendered(techniques("step-5"), outside)))
    assert changed - OWNED["front-proxy"] - OWNED["sleep-mode"] == {"metadata.labels.awake", "volumes[agent-token]"}
    assert changed >= OWNED["sleep-mode"]


def test_a_stray_variable_is_found() -> None:
    before = rendered(["streaming-loader"])
    after = rendered(["streaming-loader"])
    after["spec"]["containers"][0]["env"].append({"name": "VLLM_STRAY", "value": "1"})
    assert short(difference(before, after)) == {"env[VLLM_STRAY].value"}


def test_every_technique_owns_something_of_the_pod_or_is_its_nodes() -> None:
    assert OWNED.keys() == TECHNIQUES.keys(), "tests/serving/ladder/owned.py says what each technique owns of a pod"
    for name, paths in OWNED.items():
        assert paths or TECHNIQUES[name].node or name == "warm-nodes", name


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_may_be_used_as_it_is(preset: str) -> None:
    assert not set(techniques(preset)) - TECHNIQUES.keys()
    assert list(refusals(techniques(preset), situation())) == []
    assert PRESETS[preset].use


def test_what_is_not_proven_or_takes_something_away_is_in_no_preset() -> None:
    never = {"fork-engine", "text-only", "lean-graphs", "startup-plan", "warm-up-request", "warm-nodes", "front-proxy"}
    never |= {"local-weights"}
    for name, preset in PRESETS.items():
        sleeps = {"front-proxy"} if "sleep-mode" in preset.techniques else set()
        assert not set(preset.techniques) & (never - sleeps), name


def test_a_preset_keeps_the_mount_for_a_model_with_auxiliary_files() -> None:
    with_files = situation(model={"auxiliaryFiles": True}).model
    assert "no-mount" in chosen("frontier", [], situation().model)
    assert set(techniques("frontier")) - set(chosen("frontier", [], with_files)) == {"no-mount"}
    assert list(refusals(chosen("frontier", ["no-mount"], with_files), situation(model={"auxiliaryFiles": True}))) == [
        "no-mount: model.auxiliaryFiles is true, and the mount is what shows them"
    ]


def test_techniques_beside_a_preset_come_once_each() -> None:
    assert chosen("step-1", ["node-cache", "streaming-loader"], situation().model) == ("streaming-loader", "node-cache")
    assert chosen(None, [], situation().model) == ()


def usable(drawn: list[str]) -> list[str]:
    """The drawn names with their needs, in drawn order, without what excludes an earlier one."""
    names: list[str] = []
    for name in [other for one in drawn for other in with_needs(one)]:
        clash = {*TECHNIQUES[name].excludes} & {*names} or [it for it in names if name in TECHNIQUES[it].excludes]
        if name not in names and not clash:
            names.append(name)
    return [name for name in names if set(TECHNIQUES[name].needs) <= set(names)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(list(TECHNIQUES)), unique=True).map(usable), st.randoms())
def test_techniques_are_free_to_combine(names: list[str], random: object) -> None:
    """In any order, none changes what it does not own, and together they are what each is."""
    shuffled = list(names)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    whole = rendered(names, ANY)
    assert yaml.safe_dump(rendered(shuffled, ANY)) == yaml.safe_dump(whole)
    owned = set[str]().union(*(OWNED[name] for name in names))
    assert short(difference(rendered([], ANY), whole)) <= owned
    for name in names:
        others = [other for other in names if other != name]
        if not any(name in TECHNIQUES[other].needs for other in others):
            assert short(difference(rendered(others, ANY), whole)) <= OWNED[name]


REFUSED: list[tuple[list[str], Situation, str]] = [
    (["warm-nodes"], situation(), "the pool keeps none; set its warmNodes to 1 or more, or give it static capacity"),
    (["lean-graphs"], situation(), "engine.maxNumSeqs 256 > 64: larger batches would run without a graph"),
    (
        ["lean-graphs"],
        situation(engine={"maxNumSeqs": 64, "args": {"enforce-eager": True}}),
        "engine.args.enforce-eager decides over graphs too",
    ),
    (
        ["fork-engine"],
        situation(engine={"args": {"numa-bind": True}}),
        "engine.args.numa-bind: vLLM falls back to spawn with NUMA binding",
    ),
    (
        ["text-only"],
        situation(engine={"args": {"limit-mm-per-prompt": {"image": 1}}}),
        "engine.args.limit-mm-per-prompt allows what this switches off",
    ),
    (
        ["text-only"],
        situation(engine={"args": {"limit-mm-per-prompt": '{"image": 0, "audio": {"count": 1}}'}}),
        "engine.args.limit-mm-per-prompt allows what this switches off",
    ),
    (
        ["streaming-loader", "no-mount"],
        situation(engine={"args": {"tokenizer": "/models"}}),
        "engine.args.tokenizer reads from /models, which is the mount; set model.auxiliaryFiles: true",
    ),
    (
        ["streaming-loader", "no-mount"],
        situation(engine={"args": {"speculative-config": {"model": "/models/draft"}}}),
        "engine.args.speculative-config reads from /models, which is the mount; set model.auxiliaryFiles: true",
    ),
    (
        ["streaming-loader", "no-mount"],
        situation(engine={"args": {"chat-template": "/models/chat.jinja"}}),
        "engine.args.chat-template reads from /models, which is the mount; set model.auxiliaryFiles: true",
    ),
    (
        ["front-proxy", "sleep-mode"],
        situation(engine={"args": {"disable-log-stats": True}}),
        "engine.args.disable-log-stats takes away the gauges that tell the agent that nothing runs: it would never"
        " sleep",
    ),
]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("fork-engine", {"numa-bind": False}),
        ("text-only", {"limit-mm-per-prompt": {"image": 0, "audio": {"count": 0}}}),
        ("text-only", {"limit-mm-per-prompt": '{"image": 0}'}),
    ],
)
def test_an_argument_that_says_the_same_as_a_technique_is_taken(name: str, args: dict[str, object]) -> None:
    assert list(refusals([name], situation(engine={"args": args}))) == []


@pytest.mark.parametrize(("names", "about", "said"), REFUSED, ids=[names[-1] for names, _, _ in REFUSED])
def test_a_technique_is_refused_where_it_would_not_hold(names: list[str], about: Situation, said: str) -> None:
    assert list(refusals(names, about)) == [f"{names[-1]}: {said}"]
    assert list(refusals(names, ANY)) == []


def test_sleep_mode_stands_beside_statistics_that_are_said_to_stay() -> None:
    stays = situation(engine={"args": {"disable-log-stats": False}})
    assert list(refusals(["front-proxy", "sleep-mode"], stays)) == []


def test_local_weights_is_refused_beside_what_reads_from_the_bucket() -> None:
    assert list(refusals(["streaming-loader", "no-mount", "local-weights"], ANY)) == [
        "local-weights: not together with streaming-loader",
        "local-weights: not together with no-mount",
    ]


@pytest.mark.parametrize("name", TECHNIQUES)
def test_what_sidecars_take_is_what_they_ask_for(name: str) -> None:
    spec = rendered(with_needs(name), ANY)["spec"]
    asked = [
        it["resources"]["requests"] for it in spec.get("initContainers", []) if it.get("restartPolicy") == "Always"
    ]
    cpu, memory = sidecars_take(with_needs(name))
    assert sum(int(it["cpu"].removesuffix("m")) for it in asked) == cpu
    assert sum(int(it["memory"].removesuffix("Mi")) for it in asked) == memory


def test_what_a_server_asks_of_its_nodes_is_said_by_its_techniques() -> None:
    assert asked_of_nodes(techniques("step-4")) == ("image-prepull",)
    assert asked_of_nodes(techniques("frontier")) == ("parallel-pull",)
    assert asked_of_nodes(techniques("step-3")) == ()
