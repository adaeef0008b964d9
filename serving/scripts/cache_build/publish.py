"""Publish archives of a start-up cache: archives first, each manifest last. Everything only where there is nothing.

An archive's name is its checksum, so two publishers never meet but over the same bytes, and one that dies leaves an
archive that no manifest names: it costs storage until it is pruned, and blocks nothing.
"""

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from bucket import MOST_PARTS, Bucket, DeniedError, ExistsError, Part
from collect import Archive
from manifest import Folder, Manifest

Published = Literal["published", "present"]

PART = 32 * 1024**2
THREADS = 4


def may_publish(bucket: Bucket, folder: Folder) -> None:
    """Find out whether the folder can be written, before a GPU works for it: begin an upload and drop it.

    Raises:
        RefusedError: S3 refuses.
    """
    bucket.abort(folder.manifest_key, bucket.start(folder.manifest_key, {}))


def is_published(bucket: Bucket, folder: Folder) -> bool:
    """Tell whether the folder has a manifest. To an identity that may not look, none is there.

    Raises:
        UnclearError: S3 gives no usable answer.
    """
    try:
        return bucket.get(folder.manifest_key) is not None
    except DeniedError:
        return False


def put_archive(bucket: Bucket, folder: Folder, archive: Archive, part_bytes: int = PART) -> None:
    """Upload an archive, unless it is there: it is whole or not at all, and the same name is the same content.

    Raises:
        RefusedError: S3 refuses.
    """
    key = folder.archive_key(archive.sha256)
    with archive.path.open("rb") as file, contextlib.suppress(ExistsError):
        if archive.bytes <= part_bytes:
            bucket.put(key, file.read(), {}, only_new=True)
        else:
            _in_parts(bucket, key, file.fileno(), archive.bytes, max(part_bytes, -(-archive.bytes // MOST_PARTS)))


def put_manifest(bucket: Bucket, manifest: Manifest) -> Published:
    """Write the manifest unless there is one; the first to come wins, and all are content.

    Raises:
        RefusedError: S3 refuses.
    """
    try:
        bucket.put(manifest.folder.manifest_key, manifest.dump(), {}, only_new=True)
    except ExistsError:
        return "present"
    return "published"


def _in_parts(bucket: Bucket, key: str, file: int, size: int, part_bytes: int) -> None:
    upload = bucket.start(key, {})

    def part(number: int) -> Part:
        content = os.pread(file, part_bytes, (number - 1) * part_bytes)
        return bucket.part(key, upload, number, memoryview(content))

    try:
        with ThreadPoolExecutor(THREADS) as pool:
            running = [pool.submit(part, number) for number in range(1, -(-size // part_bytes) + 1)]
            try:
                parts = [one.result() for one in running]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        bucket.finish(key, upload, iter(parts), size, only_new=True)
    except BaseException:
        # best effort, and the first error is the one to tell: the lifecycle rule drops what a killed one leaves
        with contextlib.suppress(Exception):
            bucket.abort(key, upload)
        raise
