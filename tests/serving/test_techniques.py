"""Techniques: each owns what it changes, and nothing else moves."""

from typing import Any

import pulumi
import pytest

from serving.budget.streamer import ROUNDING
from serving.model import GIB
from serving.pod import baseline
from serving.techniques import TECHNIQUES, refusals
from serving.techniques.technique import Technique
from tests.harness import record_program, stack_settings
from tests.serving.ladder.rendered import rendered
from tests.serving.situations import pod, situation


def test_the_baseline_reads_weights_through_the_mount_with_the_default_loader() -> None:
    bare = baseline(situation(), "claim")
    assert bare.model == "/models"
    assert "load-format" not in bare.flags
    assert not [name for name in bare.env if name.startswith("RUNAI_")]


@pytest.mark.parametrize("technique", TECHNIQUES.values(), ids=list(TECHNIQUES))
def test_a_technique_sets_the_flags_that_it_says(technique: Technique) -> None:
    before, after = pod(technique.needs), pod([*technique.needs, technique.name])
    assert set(after.flags) - set(before.flags) == set(technique.flags)
    moved = {name for name, value in before.flags.items() if after.flags[name] != value}
    assert moved == ({"host", "port"} if technique.name == "front-proxy" else set())


def test_the_order_of_the_names_does_not_matter() -> None:
    names = list(TECHNIQUES)
    assert rendered(names) == rendered(names[::-1])


def test_a_technique_stands_after_those_that_it_builds_on() -> None:
    order = list(TECHNIQUES)
    for technique in TECHNIQUES.values():
        assert all(order.index(name) < order.index(technique.name) for name in technique.needs)


@pytest.mark.parametrize("technique", [it for it in TECHNIQUES.values() if it.needs], ids=lambda it: it.name)
def test_a_technique_without_what_it_builds_on_is_refused(technique: Any) -> None:
    said = [f"{technique.name}: needs {name} beside it" for name in technique.needs]
    assert list(refusals([technique.name], situation())) == said
    assert not list(refusals([*technique.needs, technique.name], situation()))


def test_every_effect_has_a_source_and_never_makes_a_phase_negative() -> None:
    about = situation()
    for technique in TECHNIQUES.values():
        for effect in technique.effects:
            assert effect.source
            assert effect.seconds(0.0, about, about.pool.types[0]) >= 0


def test_streaming_loader_tells_the_streamer_its_buffer_in_keys_that_it_knows() -> None:
    """Any other key than distributed, concurrency and memory_limit ends the engine (runai_streamer_loader.py, 0.26)."""
    streaming = pod(["streaming-loader"])
    assert streaming.flags["load-format"] == "runai_streamer"
    assert streaming.flags["model-loader-extra-config"] == {
        "concurrency": 64,
        "memory_limit": round(round(30.5 * GIB) * ROUNDING),
    }
    assert streaming.env["RUNAI_STREAMER_S3_TARGET_GBPS"] == "50"


def test_streaming_loader_reads_the_model_from_the_bucket_itself() -> None:
    raw = stack_settings("dev")
    with_it, without = (
        record_program({**raw, "servers": {"gemma": {**raw["servers"]["gemma"], "preset": preset}}})
        .one("kubernetes:apps/v1:Deployment")
        .inputs["spec"]["template"]["spec"]
        for preset in ("step-1", "step-0")
    )
    assert without["containers"][0]["args"][0] == "/models"
    assert with_it["containers"][0]["args"][0] == raw["servers"]["gemma"]["model"]["uri"]
    assert with_it["volumes"] == without["volumes"]  # Mountpoint stays for auxiliary files


def test_a_model_uri_stays_an_output_until_the_bucket_is_known() -> None:
    assert isinstance(pod(["streaming-loader"]).model, pulumi.Output)
