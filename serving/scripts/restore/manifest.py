"""What a start-up cache looks like in the bucket: keys, archive and `manifest.json`. The one definition of all three.

    vllm-cache/<engine>/<gpu>/<model>/<fingerprint or "base">/<sha256>.tar
    vllm-cache/<engine>/<gpu>/<model>/<fingerprint or "base">/manifest.json

The archive is a plain tar (no compression, no sparse members) of what lies below `ROOT`: names are relative to it
("vllm/modelinfos/x.json", a leading "./" is allowed), no name twice, mtimes kept (pax headers keep their
nanoseconds), no member called `MARKER`. A manifest that is there points to an archive that was complete before it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

FORMAT = 1
PREFIX = "vllm-cache"
BASE = "base"
"""Stands in the place of the fingerprint: what does not depend on the server's flags."""

MANIFEST = "manifest.json"
ROOT = "/vllm-cache"
"""Where the content was recorded and must be mounted: vLLM dies on a compile cache of another path."""

MARKER = ".restored.json"
"""At the top of a restored folder; tells it from what an engine wrote there by itself. Never part of an archive."""

MAX_MANIFEST = 256 * 1024
MAX_BYTES = 16 * 1024**3
MAX_FILES = 1_000_000

_Raw = bytes  # in a class with a field of that name, `bytes` is the field
_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}", re.ASCII)
_FINGERPRINT = re.compile(r"base|[0-9a-f]{8,64}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


class ManifestError(ValueError):
    """Something that is not of this format. The message is one line."""


@dataclass(frozen=True)
class Folder:
    """Where one cache lies in the bucket. Refuses what would be another folder than it says."""

    engine: str
    """The upstream image (never the rewritten one) with tag or digest, in one segment."""
    gpu: str
    model: str
    fingerprint: str

    def __post_init__(self) -> None:
        for name in ("engine", "gpu", "model"):
            _segment(name, getattr(self, name))
        if not isinstance(self.fingerprint, str) or not _FINGERPRINT.fullmatch(self.fingerprint):
            raise ManifestError(
                f"fingerprint {_short(self.fingerprint)}: want 8 to 64 lower-case hex digits or {BASE!r}"
            )

    @property
    def prefix(self) -> str:
        """The folder's keys begin with this; it ends with a slash."""
        return f"{PREFIX}/{self.engine}/{self.gpu}/{self.model}/{self.fingerprint}/"

    @property
    def manifest_key(self) -> str:
        """The key of the one object that makes the archive valid."""
        return f"{self.prefix}{MANIFEST}"

    @property
    def base(self) -> "Folder":
        """The fall-back of this folder."""
        return Folder(self.engine, self.gpu, self.model, BASE)

    def archive_key(self, sha256: str) -> str:
        """Return the key of the archive with this checksum."""
        return f"{self.prefix}{archive_name(sha256)}"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """`manifest.json`, checked."""

    folder: Folder
    sha256: str
    """Of the whole archive."""
    bytes: int
    """Size of the archive."""
    files: int
    """Members of the archive that are not folders."""
    created: str
    """UTC, as 2026-11-29T10:00:00Z."""
    recipe: Mapping[str, Any]
    """How it was made, for people and reports; nothing is decided by it."""
    root: str = ROOT

    def __post_init__(self) -> None:
        if self.root != ROOT:
            raise ManifestError(f"root {_short(self.root)}: want {ROOT!r}")
        archive_name(self.sha256)
        _whole("bytes", self.bytes, MAX_BYTES)
        _whole("files", self.files, MAX_FILES)
        if not isinstance(self.created, str) or not _TIME.fullmatch(self.created):
            raise ManifestError(f"created {_short(self.created)}: want UTC as 2026-11-29T10:00:00Z")
        if not isinstance(self.recipe, Mapping):
            raise ManifestError(f"recipe {_short(self.recipe)}: want an object")

    @property
    def archive_key(self) -> str:
        """The key of the archive it speaks of."""
        return self.folder.archive_key(self.sha256)

    def dump(self) -> _Raw:
        """Return the bytes of `manifest.json`; the same manifest gives the same bytes."""
        fields = {
            "format": FORMAT,
            "archive": archive_name(self.sha256),
            "bytes": self.bytes,
            "sha256": self.sha256,
            "files": self.files,
            "root": self.root,
            **asdict(self.folder),
            "created": self.created,
            "recipe": dict(self.recipe),
        }
        raw = json.dumps(fields, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"
        if len(raw) > MAX_MANIFEST:
            raise ManifestError(f"{len(raw)} bytes > {MAX_MANIFEST}: the recipe is too long")
        return raw


_COPIED = ("sha256", "bytes", "files", "root", "created", "recipe")
_FIELDS = {"format", "archive", "engine", "gpu", "model", "fingerprint", *_COPIED}


def parse(raw: bytes, folder: Folder) -> Manifest:
    """Return the manifest that was read from a folder; refuses one that speaks of another folder.

    Raises:
        ManifestError: it is not a manifest of this format.
    """
    if len(raw) > MAX_MANIFEST:
        raise ManifestError(f"{len(raw)} bytes > {MAX_MANIFEST}")
    try:
        fields = json.loads(raw, object_pairs_hook=_once, parse_constant=_constant)
    except ManifestError:
        raise
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"not JSON: {_line(error)}") from None
    if not isinstance(fields, dict):
        raise ManifestError(f"{_short(fields)}: want an object")
    if type(fields.get("format")) is not int or fields["format"] != FORMAT:
        raise ManifestError(f"format {_short(fields.get('format'))}: this program reads {FORMAT}")
    if missing := sorted(_FIELDS - fields.keys()):
        raise ManifestError(f"missing: {', '.join(missing)}")
    if unknown := sorted(fields.keys() - _FIELDS):
        raise ManifestError(f"unknown: {_short(', '.join(unknown))}")
    for name, want in asdict(folder).items():
        if fields[name] != want:
            raise ManifestError(f"{name} {_short(fields[name])}: it was read below {want!r}")
    manifest = Manifest(folder=folder, **{name: fields[name] for name in _COPIED})
    if fields["archive"] != archive_name(manifest.sha256):
        raise ManifestError(f"archive {_short(fields['archive'])}: want {archive_name(manifest.sha256)!r}")
    return manifest


def archive_name(sha256: str) -> str:
    """Return the archive's name in its folder: by content, so that two builds never overwrite each other's."""
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ManifestError(f"sha256 {_short(sha256)}: want 64 lower-case hex digits")
    return f"{sha256}.tar"


def _segment(name: str, value: object) -> None:
    if not isinstance(value, str) or not _SEGMENT.fullmatch(value) or ".." in value:
        raise ManifestError(
            f"{name} {_short(value)}: want one part of a key, letters, digits and . _ : @ - (no slash, no '..')"
        )


def _whole(name: str, value: object, most: int) -> None:
    if type(value) is not int or not 1 <= value <= most:
        raise ManifestError(f"{name} {_short(value)}: want a whole number, 1 to {most}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ManifestError("a key is there twice")
    return fields


def _constant(name: str) -> None:
    raise ManifestError(f"{name} is not a number")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
