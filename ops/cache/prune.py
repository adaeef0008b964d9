"""`ops cache prune`: what goes, in which order, and that it went."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from ops import aws
from ops.cache.shelf import Item, Shelf, bucket_of, described
from ops.failures import UnclearError
from ops.programs import MANIFEST
from ops.stack.stack_file import Stack
from ops.terminal import columns, size

SAFE_AGE = timedelta(days=1)
"""A build uploads its archive before its manifest, minutes apart: an archive of today may be about to be named. And a
cache of today may be a branch's, whose stack file is not the one that is read here."""

BATCH = 1000
"""Keys that DeleteObjects takes."""


def pruned(stack: Stack, *, unused: bool, really: bool) -> str:
    """Remove what no server needs, and return a line for each object.

    Args:
        stack: its bucket, and who uses what is in it.
        unused: also whole caches that no server or candidate uses.
        really: else it is only said.

    Raises:
        UnclearError: S3 does not tell, or kept something.
    """
    doomed = list(chosen(described(stack), datetime.now(UTC), unused=unused))
    if not doomed:
        return "nothing to remove"
    if really:
        _remove(stack, [item.key for item, _ in doomed])
    rows = [(size(item.bytes), item.key, why) for item, why in doomed]
    total = size(sum(item.bytes for item, _ in doomed))
    end = f"removed: {total}" if really else f"{total}; nothing is removed without --yes"
    return f"{columns(rows)}\n{end}"


def chosen(shelves: Iterable[Shelf], now: datetime, *, unused: bool) -> Iterator[tuple[Item, str]]:
    """Yield what may go, with why."""
    for shelf in shelves:
        settled = all(now - item.modified > SAFE_AGE for item in shelf.items)
        for item in shelf.items:
            if item in shelf.orphans:
                if now - item.modified > SAFE_AGE:
                    yield item, "orphan"
            elif unused and settled and not shelf.used_by:
                yield item, "unused"


def _remove(stack: Stack, keys: Sequence[str]) -> None:
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
                raise UnclearError(
                    f"{title}: S3 kept {errors[0]['Key']}: {errors[0].get('Code')}: {errors[0].get('Message')}"
                )
