"""The programs that run in pods beside the engine, as ConfigMaps.

One for each kind of pod, named by content: a program that only onboards must not restart a server, and one that starts
a server must.
"""

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap

SOURCES = Path(__file__).with_name("scripts")

START = ("restore", "wrapper", "ready")
BUILD = ("build",)
WEIGHTS = ("onboard", "verify")


def files(*programs: str) -> Mapping[str, str]:
    """Return the text of the programs and of what they import of each other, by file name."""
    found: dict[str, str] = {}
    left = list(programs)
    while left:
        name = left.pop()
        path = SOURCES / f"{name}.py"
        if f"{name}.py" in found or not path.exists():
            continue
        found[f"{name}.py"] = text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                left += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                left.append(node.module)
    return dict(sorted(found.items()))


def config_map_name(label: str, content: Mapping[str, str]) -> str:
    """Return the name of the ConfigMap with this content: another one when a letter differs."""
    digest = hashlib.sha256(repr(sorted(content.items())).encode()).hexdigest()
    return f"{label}-{digest[:10]}"


@dataclass(frozen=True, kw_only=True)
class PodProgramsArgs:
    """Where they are needed."""

    namespace: pulumi.Input[str]


class PodPrograms(pulumi.ComponentResource):
    """The ConfigMaps."""

    start: pulumi.Output[str]
    """Name of the one with what starts an engine."""
    build: pulumi.Output[str]
    weights: pulumi.Output[str]

    def __init__(self, name: str, args: PodProgramsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:PodPrograms", name, None, opts)

        def config_map(label: str, programs: tuple[str, ...]) -> pulumi.Output[str]:
            content = files(*programs)
            made = ConfigMap(
                f"{name}-{label}",
                metadata={"name": config_map_name(label, content), "namespace": args.namespace},
                # another content is another object, so nobody may change this one under a running pod
                immutable=True,
                data=content,
                opts=pulumi.ResourceOptions(parent=self),
            )
            return made.metadata.name

        self.start = config_map("engine-start", START)
        self.build = config_map("cache-build", BUILD)
        self.weights = config_map("weights", WEIGHTS)
        self.register_outputs({"start": self.start, "build": self.build, "weights": self.weights})
