"""Results as a pull request could write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SNAPSHOTS = Path(__file__).parent / "snapshots"
URN = "urn:pulumi:dev::vllm-eks::vllm-eks:infra:GpuPools$kubernetes:karpenter.sh/v1:NodePool::pool"


def impact(**more: Any) -> dict[str, Any]:
    cost = {"usdPerHour": 0.0, "standing": [], "ceiling": []}
    return {"stack": "dev", "refusal": None, "base": "a", "head": "b", "resources": {"same": 9}, "cost": cost, **more}


def finding(level: str, **more: Any) -> dict[str, Any]:
    return {"rule": "gpu-limit", "level": level, "urn": URN, "says": "no limit", "why": "set one", **more}


def rehearsed(
    *findings: dict[str, Any], code: int = 0, said: str = "", told: Any = None, **more: Any
) -> dict[str, Any]:
    preview = {"exitCode": code, "said": said, "findings": list(findings), "counts": {"create": 9}}
    compared = {"exitCode": 0, "said": "", "told": impact() if told is None else told}
    return {"preview": preview, "impact": compared, **more}


def cloud(**more: Any) -> dict[str, Any]:
    return {"exitCode": 0, "said": "", "refreshed": False, "counts": {}, "changes": [], "findings": [], **more}


def written(folder: Path, stack: str, result: Any, kind: str = "rehearsed") -> Path:
    file = folder / f"{stack}.{kind}.json"
    file.write_text(result if isinstance(result, str) else json.dumps(result))
    return folder
