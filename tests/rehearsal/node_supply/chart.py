"""The device plugin's chart out of the Go module that carries it: at the pinned version, checked by its hash."""

import zipfile
from functools import cache
from typing import Any

import yaml

from infra.gpu_pools.device_plugin import VERSION
from rehearsal.control_plane.crds import checksum
from rehearsal.toolchain import golang, kube_apiserver

MODULE = "github.com/NVIDIA/k8s-device-plugin"
CHECKSUM = "h1:NE1ecj9oG/4MQfySHlPVW9EHtq7FqtL06vtydkdnX8E="
FOLDER = "deployments/helm/nvidia-device-plugin"


@cache
def _files() -> dict[str, str]:
    path = golang.module_zip(MODULE, f"v{VERSION}", wanted=golang.needed(kube_apiserver.MODULE))
    with zipfile.ZipFile(path) as archive:
        assert checksum(archive) == CHECKSUM
        root = f"{MODULE}@v{VERSION}/{FOLDER}/"
        names = [name for name in archive.namelist() if name.startswith(root) and not name.endswith(".tgz")]
        return {name.removeprefix(root): archive.read(name).decode() for name in names}


def chart_values() -> dict[str, Any]:
    return yaml.safe_load(_files()["values.yaml"])


def version() -> str:
    return yaml.safe_load(_files()["Chart.yaml"])["version"]


def templates() -> str:
    return "\n".join(text for name, text in _files().items() if name.startswith("templates/"))
