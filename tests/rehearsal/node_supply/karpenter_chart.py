"""Karpenter's two charts out of the Go module that carries them, rendered by the real Helm.

Templates and values are those of the release. Its number and its image are stamps of the release before: the publisher
writes them anew (hack/release/common.sh of the module). A module holds no symbolic links, so the definitions that the
controller's chart has by a link are put back from where it points.
"""

import json
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from infra.naming import KARPENTER_NAMESPACE
from rehearsal.control_plane.crds import checksum
from rehearsal.toolchain import golang, helm, kube_apiserver
from rehearsal.toolchain.executable import required_version
from tests.rehearsal.node_supply.conftest import KARPENTERS

Body = dict[str, Any]

CONTROLLER, DEFINITIONS = "karpenter", "karpenter-crd"

_LINK, _TARGET = f"charts/{CONTROLLER}/crds/", "pkg/apis/crds/"


@cache
def _files(version: str) -> dict[str, bytes]:
    source = KARPENTERS[version]
    path = golang.module_zip(source.module, source.version, wanted=golang.needed(helm.MODULE))
    root = f"{source.module}@{source.version}/"
    with zipfile.ZipFile(path) as archive:
        assert checksum(archive) == source.checksum
        names = [name.removeprefix(root) for name in archive.namelist()]
        kept = [name for name in names if name.startswith(("charts/", _TARGET)) and not name.endswith(".tgz")]
        found = {name: archive.read(root + name) for name in kept}
    assert not any(name.startswith(_LINK) for name in found)
    targets = {name: content for name, content in found.items() if name.startswith(_TARGET)}
    return found | {name.replace(_TARGET, _LINK): content for name, content in targets.items()}


def definitions(version: str) -> list[Body]:
    """As the module has them beside the charts: what every other test takes for Karpenter's definitions."""
    return [yaml.safe_load(content) for name, content in _files(version).items() if name.startswith(_TARGET)]


def chart_values(chart: str, version: str) -> Body:
    return yaml.safe_load(_files(version)[f"charts/{chart}/values.yaml"])


def render(chart: str, version: str, values: Mapping[str, Any], *flags: str) -> list[Body]:
    """The objects of a release that has the chart's name, as infra/karpenter gives it; a warning is an error."""
    with tempfile.TemporaryDirectory() as home:
        for name, content in _files(version).items():
            target = Path(home, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        (values_file := Path(home, "values.json")).write_text(json.dumps(values))
        kubernetes = required_version(kube_apiserver.MODULE, "k8s.io/kubernetes")
        command = [str(helm.find().path), "template", chart, f"{home}/charts/{chart}", "--values", str(values_file)]
        command += ["--namespace", KARPENTER_NAMESPACE, "--kube-version", kubernetes, *flags]
        # not the user's environment: HELM_* variables change what it does
        done = subprocess.run(command, env={"HOME": home}, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [body for body in yaml.safe_load_all(done.stdout) if body is not None]
