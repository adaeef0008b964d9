"""local-weights: the same model at the same path, from a folder of the node that no engine can write."""

from pathlib import Path
from typing import Any

import pytest

import local_weights as program
from model_folder import ModelFolder
from serving.cache_key.server import keyed
from serving.engine import START_LIMIT
from serving.pod import Situation, baseline
from serving.programs import BUILD, START, files
from serving.techniques import applied
from serving.techniques.local_weights import COPY, COPY_MOUNT, LOCAL_WEIGHTS, SPARE
from tests.harness import record_program, stack_settings
from tests.serving.ladder.rendered import plain, rendered
from tests.serving.situations import pod, provided, situation

NAMES = ["node-cache", "cache-restore", "local-weights"]
NON_ROOT = {"engine": {"user": 2000}}


def named(parts: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = [part for part in parts if part["name"] == name]
    return found


def recorded(names: list[str], **server: Any) -> Any:
    raw = stack_settings("dev")
    raw["servers"]["gemma"] |= {"preset": None, "techniques": names, **server}
    return record_program(raw)


def build_of(recording: Any) -> dict[str, Any]:
    (job,) = [
        it.inputs
        for it in recording.all("kubernetes:batch/v1:CronJob")
        if it.inputs["metadata"]["name"] == "gemma-cache-build"
    ]
    return job["spec"]["jobTemplate"]["spec"]["template"]["spec"]  # type: ignore[no-any-return]


def test_the_engine_reads_the_model_where_the_baseline_does() -> None:
    """The path is part of vLLM's cache key: a copy at another one would be compiled for again."""
    assert pod(NAMES).model == baseline(situation(), "claim").model == "/models"
    assert pod(NAMES).flags == pod(NAMES[:-1]).flags
    assert keyed(situation(), NAMES) == keyed(situation(), NAMES[:-1])


def test_the_engine_mounts_the_copy_read_only_and_nothing_else_of_the_folder() -> None:
    spec = rendered(NAMES)["spec"]
    (engine,) = spec["containers"]
    assert named(engine["volumeMounts"], "weights") == {
        "name": "weights",
        "mountPath": "/models",
        "subPath": "model",
        "readOnly": True,
    }
    assert ModelFolder(Path("/x"), "").model == Path("/x") / COPY
    # root without a capability cannot mount it again
    assert engine["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert not [volume for volume in spec["volumes"] if volume["name"] == "models"]


@pytest.mark.parametrize(
    ("ami", "path"),
    [("al2023@v20260724", "/mnt/k8s-disks/0/vllm-eks"), ("bottlerocket@v1.47.0", "/mnt/.ephemeral/vllm-eks")],
)
def test_a_revision_has_one_folder_below_the_nodes_caches_whatever_its_server(ami: str, path: str) -> None:
    about = situation({"ami": ami, "techniques": []})
    one, other = (
        applied(baseline(about, "claim"), ["local-weights"], about, provided(server)) for server in ("gemma", "another")
    )
    assert one.volumes["weights"] == other.volumes["weights"]
    assert one.volumes["weights"]["hostPath"] == {
        "path": f"{path}/.weights/gemma-4-31b-it-nvfp4/r1",
        "type": "DirectoryOrCreate",
    }


def test_another_revision_has_another_folder() -> None:
    uri = "s3://vllm-eks-dev-models-000000000000/models/gemma-4-31b-it-nvfp4/r2/"
    assert pod(NAMES, situation(model={"uri": uri})).volumes["weights"] != pod(NAMES).volumes["weights"]


@pytest.mark.parametrize("changes", [{}, NON_ROOT], ids=["root", "another user"])
def test_only_the_container_before_the_engine_may_write_and_it_sees_one_folder(changes: dict[str, Any]) -> None:
    copier = named(rendered(NAMES, situation(**changes))["spec"]["initContainers"], "weights")
    assert copier["image"] == "image"
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in copier["env"]
    assert [mount["mountPath"] for mount in copier["volumeMounts"]] == [COPY_MOUNT, "/scripts"]
    assert copier["securityContext"] == {
        "runAsUser": 0,
        "runAsGroup": 0,
        "runAsNonRoot": False,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_copy_reserves_nothing_beyond_the_engines_share() -> None:
    spec = rendered(NAMES)["spec"]
    copier, engine = named(spec["initContainers"], "weights")["resources"], spec["containers"][0]["resources"]
    assert copier["limits"] == {"memory": engine["limits"]["memory"]}
    assert copier["requests"].items() <= engine["requests"].items()


def test_the_container_passes_what_the_program_takes() -> None:
    copier = named(rendered(NAMES)["spec"]["initContainers"], "weights")
    assert copier["command"] == ["python3", "-B", "/scripts/local_weights.py"]
    given = program.parsed(copier["args"])
    assert given.source == ("bucket", "models/gemma-4-31b-it-nvfp4/r1/")
    assert (str(given.to), given.limit, given.spare_percent) == (COPY_MOUNT, START_LIMIT, SPARE)
    assert named(copier["env"], "AWS_REGION")["value"] == situation().region


def test_the_program_is_in_the_config_maps_of_both_pods() -> None:
    assert "local_weights.py" in files(*START)
    assert "local_weights.py" in files(*BUILD)


def test_no_volume_of_the_mountpoint_is_made() -> None:
    assert recorded(["local-weights"]).maybe("kubernetes:core/v1:PersistentVolume") == []


def test_a_cache_build_starts_the_engine_on_the_same_copy() -> None:
    recording = recorded(NAMES)
    served = recording.one("kubernetes:apps/v1:Deployment").inputs["spec"]["template"]["spec"]
    built = build_of(recording)
    assert [it["name"] for it in served["initContainers"]] == ["cache", "weights"]
    # its cache is its own, and nothing is restored into it
    assert [it["name"] for it in built["initContainers"]] == ["weights"]
    assert built["initContainers"][0] == named(served["initContainers"], "weights")
    assert named(built["volumes"], "weights") == named(served["volumes"], "weights")
    assert named(built["volumes"], "cache") == {"name": "cache", "emptyDir": {}}
    (engine,) = built["containers"]
    assert named(engine["volumeMounts"], "weights") == named(served["containers"][0]["volumeMounts"], "weights")
    assert "/models" in engine["args"]


def test_a_cache_build_runs_no_sidecar_and_prepares_no_cache() -> None:
    assert "initContainers" not in build_of(recorded(NAMES[:-1], engine=with_user(2000)))


def with_user(user: int) -> dict[str, Any]:
    return {**stack_settings("dev")["servers"]["gemma"]["engine"], "user": user}


def seconds(start: str, about: Situation) -> float:
    (effect,) = [it for it in LOCAL_WEIGHTS.effects if start in it.starts]
    return effect.seconds(0.0, about, about.pool.types[0])


def test_a_restart_reads_from_memory_where_that_holds_the_weights() -> None:
    roomy, tight = situation(resources={"memoryGib": 48}), situation(resources={"memoryGib": 24})
    assert seconds("restart", roomy) == pytest.approx(14.0, abs=0.1)
    assert seconds("restart", tight) == pytest.approx(31.8, abs=0.1)
    # a second rank's process, and /dev/shm, take 4 GiB of what held the weights
    held, not_held = (
        situation(
            nodes={"instanceTypes": ["g7e.12xlarge"], "maxGpus": 2},
            engine={"tensorParallel": ranks},
            resources={"memoryGib": 38},
        )
        for ranks in (1, 2)
    )
    assert seconds("restart", held) < seconds("restart", not_held)


@pytest.mark.parametrize("start", ["fresh node", "warm node"])
def test_a_new_node_pays_the_copy_beside_the_read(start: str) -> None:
    about = situation()
    assert seconds(start, about) == pytest.approx(seconds("restart", about) + about.model.size / 10**9, abs=0.1)


def test_the_rendered_pod_holds_no_output_of_the_bucket_outside_the_copy() -> None:
    """The model is a plain path, so the cache key needs no guess."""
    assert isinstance(pod(NAMES).model, str)
    assert "s3://" not in str(plain(rendered(NAMES))["spec"]["containers"])
