"""The programs that run in pods beside the engine, as ConfigMaps.

One for each kind of pod, named by content: a program that only onboards must not restart a server, and one that starts
a server must. `serving/scripts/` is split by subject, and flat in the pod: the keys of a ConfigMap are plain names. So
modules import each other by plain name, no two of them share one, and pyproject.toml lists the folders for the tools.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap

Program = Literal[
    "restore",
    "wrapper",
    "ready",
    "build",
    "onboard",
    "verify",
    "scale",
    "local_weights",
    "agent",
    "agent_alive",
    "agent_stop",
    "engine_alive",
]

_IMPORT = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)
"""One module a line, as ruff has it. Not by `ast`: beside other threads its parser fails at times (cpython#106905)."""

SCRIPTS = Path(__file__).parent / "scripts"

FOLDER = "/scripts"
"""Where a container finds them."""

_VOLUME = "programs"
MOUNT: Mapping[str, Any] = {_VOLUME: {"mountPath": FOLDER, "readOnly": True}}
"""The mount of every container that runs one, by volume name."""

START: tuple[Program, ...] = ("restore", "wrapper", "ready", "local_weights")
BUILD: tuple[Program, ...] = ("build", "local_weights")
PROXY: tuple[Program, ...] = ("agent", "agent_alive", "agent_stop", "engine_alive")
"""What runs behind a front proxy. Apart from `START`: a server without one must not restart because they changed."""
WEIGHTS: tuple[Program, ...] = ("onboard", "verify")
SCALE: tuple[Program, ...] = ("scale",)


def files(*programs: Program) -> Mapping[str, str]:
    """Return the text by file name of the programs and of every module of ours that they import, directly or not."""
    modules = {path.stem: path for path in SCRIPTS.glob("*/*.py")}
    found: dict[str, str] = {}
    wanted = set[str](programs)
    while wanted:
        name = wanted.pop()
        found[name] = modules[name].read_text(encoding="utf-8")
        wanted |= set(_IMPORT.findall(found[name])) & modules.keys() - found.keys()
    return {f"{name}.py": found[name] for name in sorted(found)}


def path(program: Program) -> str:
    """Return where a container finds a program."""
    return f"{FOLDER}/{program}.py"


def volume(config_map: pulumi.Input[str]) -> dict[str, Any]:
    """Return the volume that shows a ConfigMap of programs, by volume name."""
    return {_VOLUME: {"configMap": {"name": config_map}}}


def config_map_name(label: str, content: Mapping[str, str]) -> str:
    """Return a name that changes with the content: a pod has the programs of its own rollout, also when it restarts."""
    digest = hashlib.sha256("\0".join(part for item in sorted(content.items()) for part in item).encode())
    return f"{label}-{digest.hexdigest()[:10]}"


@dataclass(frozen=True, kw_only=True)
class PodProgramsArgs:
    """Where they are needed."""

    namespace: pulumi.Input[str]


class PodPrograms(pulumi.ComponentResource):
    """The ConfigMaps."""

    start: pulumi.Output[str]
    """Name of the one with what starts an engine."""
    front: pulumi.Output[str]
    """Name of the one with what runs behind a front proxy."""
    build: pulumi.Output[str]
    weights: pulumi.Output[str]
    scale: pulumi.Output[str]

    def __init__(self, name: str, args: PodProgramsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:PodPrograms", name, None, opts)

        def config_map(label: str, programs: tuple[Program, ...]) -> pulumi.Output[str]:
            content = files(*programs)
            made = ConfigMap(
                f"{name}-{label}",
                metadata={"name": config_map_name(label, content), "namespace": args.namespace},
                # another content is another object, so nobody may change this one under a running pod
                immutable=True,
                data=content,
                # it goes with its namespace: a Job that started before an `up` may yet lose its node and start again
                opts=pulumi.ResourceOptions(parent=self, retain_on_delete=True),
            )
            return made.metadata.name

        self.start = config_map("engine-start", START)
        self.front = config_map("front", PROXY)
        self.build = config_map("cache-build", BUILD)
        self.weights = config_map("weights", WEIGHTS)
        self.scale = config_map("scale", SCALE)
        self.register_outputs(
            {
                "start": self.start,
                "front": self.front,
                "build": self.build,
                "weights": self.weights,
                "scale": self.scale,
            }
        )
