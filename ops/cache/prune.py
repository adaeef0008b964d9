"""`ops cache prune`: what goes, in which order, and that it went."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ops import aws
from ops.cache.shelf import Item, Shelf, bucket_of, described
from ops.failures import UnclearError
from ops.programs import MANIFEST
from ops.stack.stack_file import Stack
from ops.terminal import columns, plain, size

SAFE_AGE = timedelta(days=1)
"""A build uploads its archive before its manifest, minutes apart: an archive of today may be about to be named. And a
cache of today may be a branch's, whose stack file is not the one that is read here."""

BATCH = 1000
"""Keys that DeleteObjects takes."""

ORPHAN, UNUSED = "orphan", "unused"
"""Why an object may go: no manifest names it; nobody uses the cache that it is of."""


@dataclass(frozen=True)
class Doomed:
    """An object that may go."""

    item: Item
    why: str


def doomed(
    stack: Stack, others: Sequence[Stack], *, unused: bool, say: Callable[[str], object] = lambda _: None
) -> list[Doomed]:
    """Return what no server needs.

    Args:
        stack: its bucket, and who uses what is in it.
        others: stacks that have the same bucket.
        unused: also whole caches that no server or candidate uses.
        say: is told what is going on.

    Raises:
        RefusedError: there is no such bucket.
        UnclearError: S3 does not tell.
    """
    found = chosen(described(stack, others, say), datetime.now(UTC), unused=unused)
    return [Doomed(item, why) for item, why in found]


def spared(found: Sequence[Doomed], running: Mapping[str, str]) -> tuple[list[Doomed], list[str]]:
    """Return what may still go when some folders are in use, and a line for each folder that is kept.

    Args:
        found: what no stack file needs.
        running: who uses what in the cluster, by prefix.
    """
    kept = {it.item.key.rpartition("/")[0] + "/" for it in found if it.why == UNUSED} & running.keys()
    left = [it for it in found if it.why != UNUSED or it.item.key.rpartition("/")[0] + "/" not in kept]
    return left, [f"kept: {prefix}: {running[prefix]} uses it" for prefix in sorted(kept)]


def table(found: Sequence[Doomed]) -> str:
    """Return a line for each object, for people."""
    return columns([(size(it.item.bytes), plain(it.item.key), it.why) for it in found])


def total(found: Sequence[Doomed]) -> int:
    """Return the bytes of all."""
    return sum(it.item.bytes for it in found)


def document(found: Sequence[Doomed], *, removed: bool, kept: Sequence[str]) -> dict[str, Any]:
    """Return it for a program."""
    return {
        "objects": [{"key": it.item.key, "bytes": it.item.bytes, "why": it.why} for it in found],
        "bytes": total(found),
        "removed": removed,
        "kept": list(kept),
    }


def chosen(shelves: Iterable[Shelf], now: datetime, *, unused: bool) -> Iterator[tuple[Item, str]]:
    """Yield what may go, with why."""
    for shelf in shelves:
        settled = all(now - item.modified > SAFE_AGE for item in shelf.items)
        for item in shelf.items:
            if item in shelf.orphans:
                if now - item.modified > SAFE_AGE:
                    yield item, ORPHAN
            elif unused and settled and not shelf.used_by:
                yield item, UNUSED


def remove(stack: Stack, keys: Sequence[str]) -> None:
    """Remove objects of the stack's bucket.

    Raises:
        UnclearError: S3 does not answer, or kept something.
    """
    bucket = bucket_of(stack)
    title = f"bucket {bucket['Bucket']}"
    s3 = aws.client("s3", stack.region)
    manifests = [key for key in keys if key.endswith(f"/{MANIFEST}")]
    # first all that make an archive valid: one request deletes in no order, and no restore may find half of a cache
    for group in (manifests, [key for key in keys if key not in manifests]):
        for first in range(0, len(group), BATCH):
            objects = [{"Key": key} for key in group[first : first + BATCH]]
            with aws.answering(title):
                answer = s3.delete_objects(**bucket, Delete={"Objects": objects, "Quiet": True})
            if errors := answer.get("Errors"):
                first_one, code, message = errors[0]["Key"], str(errors[0].get("Code")), str(errors[0].get("Message"))
                needs = aws.missing(code, message, "DeleteObjects")
                raise UnclearError(f"{title}: S3 kept {first_one}: {code}: {message}{needs}")
