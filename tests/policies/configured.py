"""The pack's configuration for our stacks, made of the stack files: `python -m tests.policies.configured`.

The pack imports nothing of the program, so that another team can use it. What both must agree on is written here.
"""

import json
from typing import Any

from tests.harness import ROOT, stack_settings

FILE = ROOT / "policies" / "config.json"
COMMAND = ".venv/bin/python -m tests.policies.configured"


def configured() -> dict[str, Any]:
    """Return the configuration, by rule. `required-tags`: those that every stack file sets."""
    stacks = [stack_settings(stack)["tags"] for stack in ("dev", "staging", "prod")]
    return {"required-tags": {"tags": sorted(set.intersection(*map(set, stacks)))}}


def text() -> str:
    """Return the file."""
    return json.dumps(configured(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
