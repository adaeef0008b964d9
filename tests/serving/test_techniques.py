"""Techniques: each owns what it changes, and nothing else moves."""

from dataclasses import fields
from typing import Any

import pulumi
import pytest

from serving.engine import EngineSettings
from serving.model import GIB, ModelSettings
from serving.pod import Pod, ResourceSettings, ShutdownSettings, Situation, baseline
from serving.techniques import TECHNIQUES, applied
from serving.techniques.streaming_loader import ENGINE_MEMORY, READER_MEMORY, ROUNDING, Buffer, buffer
from tests.harness import record_program, stack_settings


def situation(**changes: Any) -> Situation:
    server = stack_settings("dev")["servers"]["gemma"]
    given: dict[str, Any] = {
        "model": ModelSettings.model_validate(server["model"]),
        "engine": EngineSettings.model_validate(server["engine"]),
        "resources": ResourceSettings.model_validate(server["resources"]),
        "shutdown": ShutdownSettings.model_validate(server["shutdown"]),
        "region": "us-west-2",
        "network": 50000,
    }
    return Situation(**(given | changes))


def test_the_baseline_reads_weights_through_the_mount_with_the_default_loader() -> None:
    pod = baseline(situation(), "claim")
    assert pod.model == "/models"
    assert "load-format" not in pod.flags
    assert not [name for name in pod.env if name.startswith("RUNAI_")]


@pytest.mark.parametrize("technique", TECHNIQUES.values(), ids=list(TECHNIQUES))
def test_a_technique_sets_the_flags_that_it_says_and_removes_nothing(technique: Any) -> None:
    before = baseline(situation(), "claim")
    after = applied(before, [technique.name], situation(), "bucket")
    assert set(after.flags) - set(before.flags) == set(technique.flags)
    for part in ("flags", "env", "volumes", "mounts"):
        assert getattr(before, part).items() <= getattr(after, part).items()


def test_the_order_of_the_names_does_not_matter() -> None:
    pod = baseline(situation(), "claim")
    names = list(TECHNIQUES)
    one, other = (applied(pod, order, situation(), "bucket") for order in (names, names[::-1]))
    for part in fields(Pod):
        if part.name != "model":
            assert getattr(one, part.name) == getattr(other, part.name)


def test_every_saving_has_evidence_and_a_source() -> None:
    for technique in TECHNIQUES.values():
        assert technique.saves.source
        assert technique.saves.seconds >= 0


def test_streaming_loader_tells_the_streamer_its_buffer_in_keys_that_it_knows() -> None:
    """Any other key than distributed, concurrency and memory_limit ends the engine (runai_streamer_loader.py, 0.26)."""
    pod = applied(baseline(situation(), "claim"), ["streaming-loader"], situation(), "bucket")
    assert pod.flags["load-format"] == "runai_streamer"
    assert pod.flags["model-loader-extra-config"] == {
        "concurrency": 64,
        "memory_limit": round(round(30.5 * GIB) * ROUNDING),
    }
    assert pod.env["RUNAI_STREAMER_S3_TARGET_GBPS"] == "50"


def test_streaming_loader_reads_the_model_from_the_bucket_itself() -> None:
    raw = stack_settings("dev")
    with_it, without = (
        record_program({**raw, "servers": {"gemma": {**raw["servers"]["gemma"], "techniques": names}}})
        .one("kubernetes:apps/v1:Deployment")
        .inputs["spec"]["template"]["spec"]
        for names in (["streaming-loader"], [])
    )
    assert without["containers"][0]["args"][0] == "/models"
    assert with_it["containers"][0]["args"][0] == raw["servers"]["gemma"]["model"]["uri"]
    assert with_it["volumes"] == without["volumes"]  # Mountpoint stays for auxiliary files


@pytest.mark.parametrize(
    ("checkpoint", "memory", "network", "expected"),
    [
        (30.5, 48, 50_000, Buffer(64, round(30.5 * GIB))),  # g7e.2xlarge: all readers, whole checkpoint
        (30.5, 40, 50_000, Buffer(16, round(30.5 * GIB))),  # readers go before the buffer does
        (30.5, 112, 20_000, Buffer(16, round(30.5 * GIB))),  # g6e.4xlarge: 16 readers fill 20 Gbit/s
        (30.5, 112, 5_000, Buffer(8, round(30.5 * GIB))),  # more readers than the network needs only cost memory
        (60.0, 48, 50_000, Buffer(8, 48 * GIB - round((ENGINE_MEMORY + 8 * READER_MEMORY) * GIB))),
        (30.5, 8, 50_000, None),
    ],
)
def test_the_buffer_holds_the_checkpoint_and_the_readers_fill_the_network(
    checkpoint: float, memory: int, network: int, expected: Buffer | None
) -> None:
    assert buffer(round(checkpoint * GIB), memory * GIB, network) == expected


def test_the_buffer_and_its_readers_fit_beside_the_engine() -> None:
    for memory in range(16, 128, 4):
        for network in (2_500, 20_000, 50_000, 400_000):
            plan = buffer(31 * GIB, memory * GIB, network)
            assert plan is not None
            assert plan.limit + (plan.readers * READER_MEMORY + ENGINE_MEMORY) * GIB <= memory * GIB + 1


def test_a_model_uri_stays_an_output_until_the_bucket_is_known() -> None:
    pod = applied(baseline(situation(), "claim"), ["streaming-loader"], situation(), "bucket")
    assert isinstance(pod.model, pulumi.Output)
