"""Bottlerocket's settings, exactly those in use, as TOML. Unproven: no Bottlerocket node was ever booted from them.

There is no shell, and unknown keys are refused: a node with a wrong one does not join. Karpenter merges the cluster's
settings behind these, and for `instanceStorePolicy: RAID0` the commands that put containerd, kubelet, pod logs and
SOCI's data on the array.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

DOWNLOADS, UNPACKS, CHUNK = 20, 12, "16mb"
"""Of one image at once: ranges, layers; and the size of a range. Those of the Karpenter blueprint that pulled a vLLM
image of 9.35 GB in 23.2 s (aws.md 1.7)."""


@dataclass(frozen=True, kw_only=True)
class BottlerocketSettings:
    """What this project asks of the OS (keys: bottlerocket-settings-sdk, ContainerRuntimePluginsSettingsV1)."""

    parallel_pull: bool

    def document(self) -> dict[str, Any]:
        """Return the settings as the API reads them."""
        if not self.parallel_pull:
            return {}
        return {
            "settings": {
                "container-runtime": {"snapshotter": "soci"},
                "container-runtime-plugins": {
                    "soci-snapshotter": {
                        "pull-mode": "parallel-pull-unpack",
                        "parallel-pull-unpack": {
                            "max-concurrent-downloads-per-image": DOWNLOADS,
                            "concurrent-download-chunk-size": CHUNK,
                            "max-concurrent-unpacks-per-image": UNPACKS,
                            # the compressed layers would stay beside the unpacked ones
                            "discard-unpacked-layers": True,
                        },
                    }
                },
            }
        }

    def __str__(self) -> str:
        """Return the userData; empty when nothing is asked."""
        return "\n".join(_tables(self.document(), ()))


def _tables(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of nested tables of texts, numbers and booleans (JSON spells those three as TOML does)."""
    values = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if values:
        yield f"[{'.'.join(path)}]"
        yield from (f"{key} = {json.dumps(value)}" for key, value in values.items())
        yield ""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _tables(value, (*path, key))
