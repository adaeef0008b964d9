"""What lies below `vllm-cache/` of the stack's bucket, folder by folder, and who uses it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ops import aws
from ops.cache.users import by_stack_files
from ops.programs import MANIFEST, MAX_MANIFEST, PREFIX, Folder, Manifest, ManifestError, manifest
from ops.stack.stack_file import Stack
from ops.terminal import columns, size

ROOT = f"{PREFIX}/"

OFTEN = 50
"""Caches between two words about how far it is: each is a request."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """An object of the bucket."""

    key: str
    bytes: int
    modified: datetime


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """A folder that holds one cache, or the rest of one."""

    folder: Folder
    items: Sequence[Item]
    manifest: Manifest | None
    problem: str
    """Why there is no manifest; empty when there is one."""
    unreadable: bool
    """There is one that nobody can read, so nobody knows which archive it names."""
    used_by: Sequence[str]

    @property
    def orphans(self) -> Sequence[Item]:
        """Archives that no manifest names: a build died, or is about to write it."""
        if self.unreadable:
            return []
        named = self.manifest.archive_key if self.manifest else None
        return [it for it in self.items if it.key.endswith(".tar") and it.key != named]

    @property
    def bytes(self) -> int:
        """Size of everything in it."""
        return sum(it.bytes for it in self.items)

    def document(self) -> dict[str, Any]:
        """Return it for a program."""
        return {
            "prefix": self.folder.prefix,
            "engine": self.folder.engine,
            "gpu": self.folder.gpu,
            "model": self.folder.model,
            "fingerprint": self.folder.fingerprint,
            "bytes": self.bytes,
            "created": self.manifest.created if self.manifest else None,
            "usedBy": list(self.used_by),
            "orphans": [it.key for it in self.orphans],
            "problem": self.problem or None,
        }


def described(stack: Stack, others: Sequence[Stack] = (), say: Callable[[str], object] = lambda _: None) -> list[Shelf]:
    """Return every cache of the bucket. What is not spelled as a cache is left out: it is somebody else's.

    Args:
        stack: its bucket, and its servers.
        others: stacks whose servers use the same bucket.
        say: is told how far it is, when there is much to read.

    Raises:
        RefusedError: there is no such bucket.
        UnclearError: S3 does not tell.
    """
    asked = bucket_of(stack)
    s3 = aws.client("s3", stack.region)
    keys = by_stack_files(stack, others)
    with aws.answering(f"bucket {asked['Bucket']}"):
        found: dict[Folder, list[Item]] = {}
        for item in _listed(s3, asked):
            if folder := _folder(item.key):
                found.setdefault(folder, []).append(item)
        shelves = []
        for place, (folder, items) in enumerate(found.items()):
            if place and place % OFTEN == 0:
                say(f"{place} of {len(found)} caches")
            used_by = [who for who, key in keys.items() if folder.prefix in key.prefixes]
            shelves.append(_shelf(s3, asked, folder, items, used_by))
        return shelves


def bucket_of(stack: Stack) -> Mapping[str, str]:
    """Return what every request to S3 says: which bucket, and whose. S3 answers 403 when it is another account's."""
    return {"Bucket": stack.settings.model_bucket.name, "ExpectedBucketOwner": stack.settings.account.id}


def table(shelves: Sequence[Shelf]) -> str:
    """Return the caches for people."""
    if not shelves:
        return f"nothing below {ROOT}"
    head = ("FOLDER", "SIZE", "CREATED", "USED BY", "REMARK")
    rows = [
        (
            it.folder.prefix.removeprefix(ROOT),
            size(it.bytes),
            it.manifest.created if it.manifest else "-",
            ", ".join(it.used_by) or "-",
            "; ".join(_remarks(it)) or "-",
        )
        for it in shelves
    ]
    return columns([head, *rows])


def _remarks(shelf: Shelf) -> Iterator[str]:
    if shelf.problem:
        yield shelf.problem
    if shelf.orphans:
        yield f"{len(shelf.orphans)} orphan{'s' if len(shelf.orphans) > 1 else ''}"


def _listed(s3: Any, bucket: Mapping[str, str]) -> Iterator[Item]:
    for page in s3.get_paginator("list_objects_v2").paginate(**bucket, Prefix=ROOT):
        for it in page.get("Contents", ()):
            yield Item(key=it["Key"], bytes=it["Size"], modified=it["LastModified"])


def _folder(key: str) -> Folder | None:
    parts = key.removeprefix(ROOT).split("/")
    if len(parts) != 5:
        return None
    try:
        return Folder(*parts[:4])
    except ManifestError:
        return None


def _shelf(s3: Any, bucket: Mapping[str, str], folder: Folder, items: Sequence[Item], used_by: Sequence[str]) -> Shelf:
    read, problem, unreadable = None, f"no {MANIFEST}", False
    if listed := next((it for it in items if it.key == folder.manifest_key), None):
        try:
            read = _manifest(s3, bucket, folder, listed)
        except s3.exceptions.NoSuchKey:
            # pruned since it was listed
            items = [it for it in items if it is not listed]
        except ManifestError as error:
            problem, unreadable = f"{MANIFEST}: {error}", True
        else:
            problem = "" if any(it.key == read.archive_key for it in items) else "its archive is not there"
    return Shelf(folder=folder, items=items, manifest=read, problem=problem, unreadable=unreadable, used_by=used_by)


def _manifest(s3: Any, bucket: Mapping[str, str], folder: Folder, listed: Item) -> Manifest:
    if not 1 <= listed.bytes <= MAX_MANIFEST:
        raise ManifestError(f"{listed.bytes} bytes; expected 1 to {MAX_MANIFEST}")
    # one byte more than a manifest may have: `manifest` refuses what has grown since. No Range: S3 refuses any (416)
    # of an object that is empty by now
    return manifest(s3.get_object(**bucket, Key=listed.key)["Body"].read(MAX_MANIFEST + 1), folder)
