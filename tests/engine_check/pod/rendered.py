"""The rendered pod as processes of this machine: its paths and ports are mapped, and nothing else of it is changed.

Volumes are folders of a scratch folder, container paths below a mount are paths below such a folder, and every port is
a free one on loopback. What a CPU refuses of the command line is dropped by name, and said (`REFUSED`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from serving import front
from serving.engine import ENTRY_POINT, PORT
from serving.front import containers
from serving.front.tokens import token_map
from serving.pod import Manifest, Pod
from serving.pod.template import file_maps
from serving.programs import PROXY, START, files
from tests.engine_check.environment import Engine
from tests.serving.situations import pod, situation, templated

REFUSED = ("--enable-sleep-mode",)
"""vLLM 0.26 supports sleep mode on GPUs alone. In development mode its paths are there all the same."""

CPU = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_NUM_OF_RESERVED_CPU": "1", "TORCHDYNAMO_DISABLE": "1"}
"""Beside what is rendered. GiB, else it takes a share of the host's memory; a core that its spinning threads leave to
nginx and agent; no C++ to compile for this CPU, which takes a minute and is another thing than what a GPU runs."""

TOKEN = "Secret-token-of-the-check-0123456789"  # noqa: S105 - of the check
SERVER = "gemma"
NAMESPACE, POD = "serving", "gemma-0"

IDLE, HOLD, DRAIN = 10, 5, 5
"""Seconds. The smallest that a stack file takes, or shorter than the usual so that nobody waits long."""

EAGER = {"args": {"enforce-eager": True}}
"""Of the stack file, for the same reason."""

PORTS = (PORT, front.ENGINE_PORT, front.GATE_PORT, front.CONTROL_PORT)
"""What a pod has to itself."""

Wake = Literal["on-request", "external"]


@dataclass(frozen=True, kw_only=True)
class Container:
    """One container of the pod, as a process here."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    """All of it: nothing of this machine's is passed on."""
    probes: Mapping[str, Mapping[str, Any]]
    """By name as in the manifest; `port` is a number."""
    before_stop: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """Flags that a CPU refuses."""


@dataclass(frozen=True, kw_only=True)
class Scratch:
    """Where the pod is on this machine."""

    folder: Path
    engine: Engine
    ports: Mapping[int, int]
    """By the pod's port."""
    cluster: Mapping[str, str] = field(default_factory=dict)
    """What kubelet tells every container of the Kubernetes API."""

    def volume(self, name: str) -> Path:
        """Return the folder of a volume."""
        return self.engine.model if name == "models" else self.folder / "volumes" / name

    def port(self, port: int) -> int:
        """Return where a port of the pod is."""
        return self.ports[port]


def manifests(techniques: Sequence[str], wake: Wake = "on-request") -> tuple[Manifest, Mapping[str, Mapping[str, str]]]:
    """Return the pod's spec as the API spells it, and the text of its files by file name, by volume name."""
    about = situation(
        engine={"version": "0.26.0", "maxModelLen": 16384, "maxNumBatchedTokens": 1024, "maxNumSeqs": 32, **EAGER},
        shutdown={"drainSeconds": DRAIN, "requestSeconds": 60},
        sleep={"wake": wake, "idleSeconds": IDLE, "holdSeconds": HOLD},
    )
    made = pod(techniques, about)
    whose = {"server": SERVER, "priority": "priority", "service_account": SERVER, "labels": {}}
    return templated(made, about, **whose)["spec"], _content(made)


def rendered(scratch: Scratch, techniques: Sequence[str], wake: Wake = "on-request") -> Mapping[str, Container]:
    """Return the containers by name, sidecars first, with the volumes' content in place."""
    spec, content = manifests(techniques, wake)
    found = {one["name"]: one for one in [*spec.get("initContainers", []), *spec["containers"]]}
    for volume in spec["volumes"]:
        scratch.volume(volume["name"]).mkdir(parents=True, exist_ok=True)
    for name, text in content.items():
        its = next(one for one in found.values() if any(mount["name"] == name for mount in one["volumeMounts"]))
        for file, written in text.items():
            (scratch.volume(name) / file).write_text(_mapping(its, scratch)(written))
    return {name: _container(manifest, scratch) for name, manifest in found.items()}


def _content(made: Pod) -> Mapping[str, Mapping[str, str]]:
    """Return ConfigMaps and the Secret."""
    known = {
        "programs": files(*START),
        containers.PROGRAMS: files(*PROXY),
        containers.TOKENS: {front.TOKENS_KEY: token_map([TOKEN])},
    }
    return {
        **{name: text for name, text in known.items() if name in made.volumes},
        **{name: text for name, (_, text) in file_maps(made, SERVER).items()},
    }


def _mapping(manifest: Mapping[str, Any], scratch: Scratch) -> Any:
    """Return what maps a text of a container: every path below one of its mounts, and every port of the pod."""
    paths = {
        mount["mountPath"]: str(scratch.volume(mount["name"]) / mount.get("subPath", ""))
        for mount in manifest["volumeMounts"]
        if mount["name"] != "shm"
    }
    path = re.compile(rf"(?<![\w/.-])({'|'.join(map(re.escape, paths))})(?![\w.-])")
    port = re.compile(rf"(?<![\w.-])({'|'.join(map(str, scratch.ports))})(?![\w.-])")

    def mapped(text: str) -> str:
        # a pod has an address of its own; here nothing listens but on loopback
        text = text.replace(f"listen {PORT} ", f"listen {front.LOOPBACK}:{PORT} ")
        text = path.sub(lambda match: paths[match[1]], text)
        return port.sub(lambda match: str(scratch.ports[int(match[1])]), text)

    return mapped


def _container(manifest: Mapping[str, Any], scratch: Scratch) -> Container:
    mapped = _mapping(manifest, scratch)
    # without one the image's entry point runs
    line = [*manifest.get("command", ENTRY_POINT), *manifest.get("args", [])]
    fields = {"metadata.name": POD, "metadata.namespace": NAMESPACE}
    given = {
        one["name"]: mapped(one["value"]) if "value" in one else fields[one["valueFrom"]["fieldRef"]["fieldPath"]]
        for one in manifest.get("env", [])
    }
    engine = any(mount["name"] == "models" for mount in manifest["volumeMounts"])
    # the engine's image has its Python first; that of nginx has nothing of the kind
    programs = "" if manifest["name"] == containers.PROXY else f"{scratch.engine.binaries}:"
    stop = manifest.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
    return Container(
        name=manifest["name"],
        command=tuple(mapped(item) for item in line if item not in REFUSED),
        env={
            "PATH": f"{programs}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOSTNAME": POD,
            **scratch.cluster,
            **given,
            **(CPU if engine else {}),
        },
        probes={
            name: _probe(manifest[name], manifest, mapped, scratch)
            for name in ("startupProbe", "livenessProbe", "readinessProbe")
            if name in manifest
        },
        before_stop=tuple(map(mapped, stop)),
        dropped=tuple(item for item in line if item in REFUSED),
    )


def _probe(probe: Mapping[str, Any], manifest: Mapping[str, Any], mapped: Any, scratch: Scratch) -> dict[str, Any]:
    if "exec" in probe:
        return {**probe, "exec": {"command": [mapped(item) for item in probe["exec"]["command"]]}}
    asked = probe["httpGet"]
    named = {one["name"]: one["containerPort"] for one in manifest["ports"]}
    return {**probe, "httpGet": {**asked, "port": scratch.port(named[asked["port"]])}}
