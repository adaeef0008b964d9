"""Custom resource definitions at pinned versions, out of the Go modules that publish them."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rehearsal.toolchain import cache, golang, kube_apiserver
from rehearsal.toolchain.progress import step

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KIND = "CustomResourceDefinition"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A Go module that carries definitions."""

    module: str
    version: str
    checksum: str
    """As in go.sum: `h1:` and a hash over all files of the module."""
    files: str
    """The definitions inside the module, as a pattern; other objects in these files are passed over."""

    @property
    def title(self) -> str:
        """For messages."""
        return f"{self.module} {self.version}"


def _karpenter(version: str, checksum: str) -> Source:
    module = "github.com/aws/karpenter-provider-aws"
    return Source(module=module, version=version, checksum=checksum, files="pkg/apis/crds/*.yaml")


KARPENTERS: Mapping[str, Source] = {
    "1.14": _karpenter("v1.14.1", "h1:WGtIQTQcxpElYMdWfWuPwaF2+9muR+hYhPZsTtoY8Gs="),
    "1.15": _karpenter("v1.15.2", "h1:RGw64PB2ROUHZIUhBqjO78l3zJ9YctnWeullrr4cxYI="),
}
"""By minor release."""
KARPENTER_CHART = "karpenter-crd"

# API group: where its definitions come from. KEDA is not here: its module holds them before its release patches them.
SOURCES: Mapping[str, Source] = {
    "karpenter.sh": KARPENTERS["1.14"],
    "karpenter.k8s.aws": KARPENTERS["1.14"],
    "gateway.networking.k8s.io": Source(
        module="sigs.k8s.io/gateway-api",
        version="v1.7.0",
        checksum="h1:duVnm7nO6oXfMMUWfcDoBph47CYR/ME3NGxccOVglaY=",
        files="config/crd/standard/*.yaml",
    ),
}


class CrdError(Exception):
    """Definitions cannot be had, or are not what was pinned; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class Crd:
    """One definition."""

    group: str
    kind: str
    origin: str
    """Module and version, or file."""
    body: Mapping[str, Any]

    @property
    def name(self) -> str:
        """For example `nodepools.karpenter.sh`."""
        return str(self.body["metadata"]["name"])


def sources(charts: Mapping[str, str]) -> Mapping[str, Source]:
    """Where the definitions of a stack come from that installs these charts (name to version), by API group."""
    minor = charts.get(KARPENTER_CHART, "").rpartition(".")[0]
    karpenter = KARPENTERS.get(minor, SOURCES["karpenter.sh"])
    return {**SOURCES, "karpenter.sh": karpenter, "karpenter.k8s.aws": karpenter}


def of_group(group: str, sources: Mapping[str, Source] | None = None) -> list[Crd]:
    """The definitions that a table (else `SOURCES`) has for an API group; none if it has none. Raises CrdError."""
    source = (SOURCES if sources is None else sources).get(group)
    if source is None:
        return []
    return [crd for crd in _read(fetched(source), source.title) if crd.group == group]


def of_folder(folder: Path) -> list[Crd]:
    """The definitions in the YAML files of a folder; other objects in them are passed over. Raises CrdError."""
    if not folder.is_dir():
        raise CrdError(f"{folder} is not a folder of CRDs")
    found: list[Crd] = []
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        try:
            documents = _definitions(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError, yaml.YAMLError) as failure:
            raise CrdError(f"{path}: {' '.join(str(failure).split())}") from failure
        found += _read(documents, str(path))
    return found


def _read(documents: Iterable[Any], origin: str) -> list[Crd]:
    try:
        return [
            Crd(group=body["spec"]["group"], kind=body["spec"]["names"]["kind"], origin=origin, body=body)
            for body in documents
        ]
    except (KeyError, TypeError) as failure:
        raise CrdError(f"{origin}: a {_KIND} lacks {failure}") from failure


def _definitions(text: str) -> list[Any]:
    """Raises YAMLError, ValueError and TypeError."""
    documents = yaml.load_all(text, Loader=_LOADER)
    return [_as_written(each) for each in documents if isinstance(each, Mapping) and each.get("kind") == _KIND]


def _as_written(body: Mapping[str, Any]) -> Any:
    """Without what a cluster adds: an exported definition could not be applied again."""
    kept = {key: body[key] for key in ("apiVersion", "kind", "spec") if key in body}
    metadata = body.get("metadata") or {}
    kept["metadata"] = {key: metadata[key] for key in ("name", "labels", "annotations") if key in metadata}
    # Dates and the like, which YAML knows and JSON does not, are refused here and not in the middle of a request.
    return json.loads(json.dumps(kept))


def fetched(source: Source) -> list[Any]:
    """The definitions of a module, from the cache; what is in the cache has been verified."""
    digest = hashlib.sha256(repr(source).encode()).hexdigest()[:16]
    target = cache.folder("crds", digest) / "crds.json"
    try:
        found: list[Any] = json.loads(cache.cached(target, lambda partial: _extract(source, partial)).read_bytes())
    except ValueError as failure:
        raise CrdError(f"{target} is damaged: delete this file and run again") from failure
    return found


def _extract(source: Source, target: Path) -> None:
    with step(f"getting the CRDs of {source.title}"):
        try:
            path = golang.module_zip(source.module, source.version, wanted=golang.needed(kube_apiserver.MODULE))
        except golang.BuildError as failure:
            raise CrdError(f"the CRDs of {source.title} could not be had: {failure}") from failure
        try:
            with zipfile.ZipFile(path) as archive:
                found = checksum(archive)
                if found != source.checksum:
                    raise CrdError(
                        f"{source.title} has the checksum {found}, pinned is {source.checksum} (SOURCES in "
                        f"rehearsal/control_plane/crds.py): the module was changed, or {path} is damaged"
                    )
                pattern = f"{source.module}@{source.version}/{source.files}"
                names = [name for name in sorted(archive.namelist()) if fnmatch.fnmatchcase(name, pattern)]
                documents = [each for name in names for each in _definitions(archive.read(name).decode())]
        except zipfile.BadZipFile as failure:
            raise CrdError(f"{path} is damaged: run `go clean -modcache` or delete this file") from failure
    if not documents:
        raise CrdError(f"{source.title} has no {_KIND} in {source.files}")
    target.write_text(json.dumps(documents), encoding="utf-8")


def checksum(archive: zipfile.ZipFile) -> str:
    """Hash1 of golang.org/x/mod/sumdb/dirhash. Of the zip that is read here, where Go's cache only tells."""
    lines = [f"{hashlib.sha256(archive.read(name)).hexdigest()}  {name}\n" for name in sorted(archive.namelist())]
    return f"h1:{base64.b64encode(hashlib.sha256(''.join(lines).encode()).digest()).decode()}"
