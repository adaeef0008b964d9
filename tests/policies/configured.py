"""The pack's configuration for our stacks, made of what the program knows: `python -m tests.policies.configured`.

The pack imports nothing of the program, so that another team can use it. What both must agree on is written here.
"""

import json
from typing import Any

from infra.instances import catalogue
from tests.harness import ROOT, stack_settings

FILE = ROOT / "policies" / "config.json"
COMMAND = ".venv/bin/python -m tests.policies.configured"


def configured() -> dict[str, Any]:
    """Return the configuration, by rule.

    `requests-fit`: what a node of each type has to give. `required-tags`: those that every stack file sets.
    """
    gpu = {name: kind for name, kind in catalogue().items() if kind.gpus}
    stacks = [stack_settings(stack)["tags"] for stack in ("dev", "staging", "prod")]
    return {
        "requests-fit": {
            "allocatable": {
                name: {"cpu": f"{kind.allocatable_cpu}m", "memory": f"{kind.allocatable_memory}Mi"}
                for name, kind in sorted(gpu.items())
            }
        },
        "required-tags": {"tags": sorted(set.intersection(*map(set, stacks)))},
    }


def text() -> str:
    """Return the file."""
    return json.dumps(configured(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
