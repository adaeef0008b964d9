"""The techniques that keep what an engine compiles: on its node, from the bucket, and Python's bytecode."""

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

import build as build_program
import restore as restore_program
from serving.engine import HOME, ROOT
from serving.pod import Pod
from serving.programs import START, files
from serving.techniques import refusals
from tests.harness import record_program, stack_settings
from tests.serving.situations import KEY, pod, situation, templated

CACHES = ["node-cache", "cache-restore", "bytecode-cache"]
SYSTEM_FOLDERS = {"/", "/etc", "/usr", "/var", "/var/lib", "/var/lib/kubelet", "/root", "/home", "/mnt", "/proc"}
NON_ROOT = {"engine": {"user": 2000}}


def rendered(names: list[str], **changes: Any) -> dict[str, Any]:
    about = situation(**changes)
    return templated(pod(names, about), about)["spec"]  # type: ignore[no-any-return]


def cache_volume(spec: dict[str, Any]) -> dict[str, Any]:
    (found,) = [volume for volume in spec["volumes"] if volume["name"] == "cache"]
    return found  # type: ignore[no-any-return]


def mount(container: dict[str, Any], name: str = "cache") -> dict[str, Any]:
    (found,) = [it for it in container["volumeMounts"] if it["name"] == name]
    return found  # type: ignore[no-any-return]


def test_without_node_cache_what_is_compiled_goes_with_its_pod() -> None:
    spec = rendered([])
    assert cache_volume(spec) == {"name": "cache", "emptyDir": {}}
    assert "initContainers" not in spec
    assert "command" not in spec["containers"][0]


@pytest.mark.parametrize(
    ("ami", "path"),
    [("al2023@v20260724", "/mnt/k8s-disks/0/vllm-eks"), ("bottlerocket@v1.47.0", "/mnt/.ephemeral/vllm-eks")],
)
def test_VLM_05_the_cache_lies_in_a_folder_of_its_own_on_the_local_disk(ami: str, path: str) -> None:
    volume = cache_volume(rendered(["node-cache"], nodes={"ami": ami, "techniques": []}))
    assert volume["hostPath"] == {"path": path, "type": "DirectoryOrCreate"}
    assert path not in SYSTEM_FOLDERS
    assert not path.startswith("/var/lib/kubelet")


@pytest.mark.parametrize("names", [["node-cache"], ["node-cache", "cache-restore"]])
def test_the_engine_sees_only_the_folder_of_its_server_and_key(names: list[str]) -> None:
    """Two servers of a node would else write into one compile cache."""
    (engine,) = rendered(names)["containers"]
    assert mount(engine) == {"name": "cache", "mountPath": ROOT, "subPath": f"gemma/{KEY.fingerprint}"}


def test_VLM_05_everything_that_an_engine_writes_lies_below_its_mount() -> None:
    """VLLM_CACHE_ROOT alone leaves FlashInfer, Triton, humming and Hugging Face below HOME (vllm.md A13)."""
    env = pod(CACHES).env
    below = {name for name, value in env.items() if value.startswith(f"{ROOT}/")}
    assert below == {
        "CUDA_CACHE_PATH",
        "FLASHINFER_WORKSPACE_BASE",
        "HF_HOME",
        "HOME",
        "PYTHONPYCACHEPREFIX",
        "TORCHINDUCTOR_CACHE_DIR",
        "TRITON_CACHE_DIR",
        "VLLM_CACHE_ROOT",
        "XDG_CACHE_HOME",
    }
    assert env["HOME"] == HOME
    of_home = {"HF_HOME", "XDG_CACHE_HOME"}
    assert all(env[name].startswith(f"{HOME}/.cache") for name in of_home)
    paths = [PurePosixPath(env[name]) for name in below - of_home]
    assert not [one for one in paths for other in paths if one != other and one.is_relative_to(other)]


@pytest.mark.parametrize("names", [["node-cache"], ["node-cache", "cache-restore"]])
def test_VLM_05_a_container_that_is_root_makes_the_folder_writable_for_another_user(names: list[str]) -> None:
    """FsGroup changes nothing in a hostPath, and kubelet makes the folder as root (llm-d#485)."""
    spec = rendered(names, **NON_ROOT)
    (init,) = spec["initContainers"]
    (engine,) = spec["containers"]
    assert spec["securityContext"] == {
        "runAsUser": 2000,
        "runAsGroup": 2000,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert "fsGroup" not in spec["securityContext"]
    assert engine["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert (init["securityContext"]["runAsUser"], init["securityContext"]["runAsNonRoot"]) == (0, False)
    assert init["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"]}
    command = [*init["command"], *init.get("args", [])]
    assert ("--owner=2000:2000" in command) or command[:6] == ["install", "-d", "-o", "2000", "-g", "2000"]


def test_VLM_05_the_command_that_hands_the_folder_over_does_that(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("NOT SHOWN: only root gives a folder to another user")
    (init,) = rendered(["node-cache"], **NON_ROOT)["initContainers"]
    folder = tmp_path / f"gemma/{KEY.fingerprint}"
    command = [item.replace("/node-cache", str(tmp_path)) for item in init["command"]]
    subprocess.run(command, check=True)
    found = folder.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (2000, 2000, 0o755)


def test_a_root_engine_needs_nobody_to_prepare_its_folder_on_the_node() -> None:
    assert "initContainers" not in rendered(["node-cache"])
    (init,) = rendered(["node-cache", "cache-restore"])["initContainers"]
    assert init["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_mount_shows_a_models_files_to_another_user_too() -> None:
    """The driver's file system belongs to root, and shows itself to nobody else unless told (mountpoint-s3)."""
    raw = stack_settings("dev")
    raw["servers"]["gemma"]["preset"] = "step-3"
    raw["servers"]["gemma"]["engine"]["user"] = 2000
    (volume,) = record_program(raw).all("kubernetes:core/v1:PersistentVolume")
    assert "allow-other" in volume.inputs["spec"]["mountOptions"]


def test_the_restore_runs_first_in_the_engines_image_without_a_gpu() -> None:
    """The image's own environment asks for all GPUs; a second context there would shrink the engine's cache."""
    (init,) = rendered(["node-cache", "cache-restore"])["initContainers"]
    assert init["image"] == "image"
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in init["env"]
    assert "nvidia.com/gpu" not in {**init["resources"]["requests"], **init["resources"]["limits"]}
    # all servers' folders: it renames into the one that the engine mounts
    assert mount(init) == {"name": "cache", "mountPath": "/node-cache"}


def test_what_the_pod_passes_to_the_restore_is_what_it_takes() -> None:
    (init,) = rendered(["node-cache", "cache-restore"], **NON_ROOT)["initContainers"]
    given = ["--bucket=bucket", *(item for item in init["args"] if isinstance(item, str))]
    options = restore_program._options(given)
    assert (options.bucket, options.server, options.cache) == ("bucket", "gemma", "/node-cache")
    assert vars(options.folder) == {"engine": "engine", "gpu": "gpu", "model": "model", "fingerprint": KEY.fingerprint}
    assert options.owner == (2000, 2000)
    assert options.limit == 120


@pytest.mark.parametrize("names", [["node-cache"], CACHES])
def test_the_engine_runs_below_a_parent_that_gives_up_a_bad_cache(names: list[str]) -> None:
    (engine,) = rendered(names)["containers"]
    assert engine["command"] == ["python3", "-B", "/scripts/wrapper.py", ROOT, "vllm", "serve"]
    assert engine["startupProbe"]["exec"]["command"] == ["python3", "-S", "-B", "/scripts/ready.py", ROOT, "8000"]
    assert "httpGet" not in engine["startupProbe"]
    assert "httpGet" in engine["livenessProbe"]
    assert mount(engine, "programs") == {"name": "programs", "mountPath": "/scripts", "readOnly": True}


def test_every_program_that_a_pod_calls_is_in_its_config_map() -> None:
    spec = rendered(CACHES, **NON_ROOT)
    called = {
        item.removeprefix("/scripts/")
        for container in (*spec["initContainers"], *spec["containers"])
        for items in (container["command"], container.get("startupProbe", {}).get("exec", {}).get("command", []))
        for item in items
        if item.startswith("/scripts/")
    }
    assert called == {"restore.py", "wrapper.py", "ready.py"}
    assert called <= files(*START).keys()


def test_the_parent_of_the_engine_needs_only_what_its_pod_mounts(tmp_path: Path) -> None:
    for name, text in files(*START).items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-S", "-B", tmp_path / "wrapper.py", tmp_path / "root", "sh", "-c", "exit 7"]
    assert subprocess.run(command, check=False, env={}).returncode == 7


def test_VLM_06_the_folder_on_the_node_and_in_the_bucket_follow_one_key() -> None:
    raw = stack_settings("dev")
    recording = record_program(raw)
    spec = recording.one("kubernetes:apps/v1:Deployment").inputs["spec"]["template"]["spec"]
    (init, *_), (engine,) = spec["initContainers"], spec["containers"]
    given = dict(item.removeprefix("--").split("=", 1) for item in init["args"])
    prefix = "/".join(["vllm-cache", given["engine"], given["gpu"], given["model"], given["fingerprint"], ""])
    assert recording.outputs["servers"]["gemma"]["cachePrefix"] == prefix
    assert mount(engine)["subPath"] == f"gemma/{given['fingerprint']}"


def test_VLM_06_a_pool_with_two_sizes_of_one_gpu_restores_nothing() -> None:
    """CUDA calls them by two names, and torch compares the name."""
    nodes = {"product": "a100", "instanceTypes": ["p4d.24xlarge", "p4de.24xlarge"], "maxGpus": 8}
    assert list(refusals(["node-cache", "cache-restore"], situation(nodes=nodes))) == [
        "cache-restore: the pool's types have a100 with 40960 MiB, 81920 MiB: CUDA names them apart, and a cache of one"
        " crashes on the other; one of them needs a pool of its own"
    ]
    assert not list(refusals(["node-cache"], situation(nodes=nodes)))


def test_bytecode_cache_changes_one_variable_and_nothing_else() -> None:
    before, after = pod(["node-cache"]), pod(["node-cache", "bytecode-cache"])
    assert set(after.env.items()) - set(before.env.items()) == {("PYTHONPYCACHEPREFIX", f"{ROOT}/pycache")}
    for part in Pod.__dataclass_fields__:
        assert part == "env" or getattr(before, part) == getattr(after, part)


def test_the_programs_agree_on_where_the_cache_is_mounted() -> None:
    assert build_program.ROOT == ROOT
