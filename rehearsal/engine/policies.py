"""A policy pack, as the Automation API takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CONFIG = "config.json"
"""Beside PulumiPolicy.yaml: what `pulumi preview --policy-pack-config` is given too."""


def asked(pack: Path | None) -> dict[str, Any]:
    """Return the arguments of a preview or an update that run a pack; none without one."""
    if pack is None:
        return {}
    config = pack / CONFIG
    return {
        "policy_packs": [str(pack.resolve())],
        **({"policy_pack_configs": [str(config.resolve())]} if config.is_file() else {}),
    }
