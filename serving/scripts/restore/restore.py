"""Put the start-up cache of a server where its engine mounts it: from the bucket, in an init container.

    python3 -S restore.py --bucket B --engine E --gpu G --model M --fingerprint F --server S --cache /node-cache

It prints one line and exits 0 within its limit, and unless its arguments are wrong it leaves the folder
`<cache>/<server>/<fingerprint>` whatever happens: a cold cache costs minutes, a pod that does not start costs the
service. Needs the standard library alone (`sign.py`).

An archive that the engine's parent gave up on this node is not restored over what came after it: until the node's next
boot the folder is the engine's own, and only an archive of this fingerprint with another sha256 replaces it. Not the
base: what the engine has compiled there since is more than that. So a bad archive costs a start a boot, and no loop.
"""

import argparse
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import termination
from fetch import Fetch
from manifest import BASE, MAX_MANIFEST, Folder, Manifest, ManifestError, parse
from outcome import CorruptError, Limit, MissingError, Report, RestoreError
from place import Place
from restored import Restored
from store import Connection, Store
from untar import Untar
from usage import Parser, UsageError

_CLEANUP = 1.0
"""Seconds of the limit that are kept for removing a half-made folder."""

_LAST = 0.2
"""Seconds from a folder's publication to its report."""


def restore(place: Place, folder: Folder, bucket: str, limit: Limit) -> Report:
    """Restore the folder's archive, else its base.

    Raises:
        RestoreError: neither could be had, for a reason other than that the bucket does not hold them.
        OSError: this node does not take it.
    """
    with place.locked(limit):
        # Before the bucket is asked: it cannot hold anything better, and a node that has it needs no network.
        there = place.restored()
        if there and there.fingerprint == folder.fingerprint and not there.given_up:
            return _present(there)
        place.sweep()
        store = Store(bucket, os.environ, limit)
        limit.at_end(store.abort)
        corrupt = ""
        for wanted in (folder, folder.base):
            first = wanted is folder
            if there and not first:
                return _present(there, corrupt)
            try:
                manifest = _manifest(store, wanted)
                if manifest is None or (there and there.given_up and there.sha256 == manifest.sha256):
                    continue
                _fill(place, store, manifest)
            except CorruptError as error:
                corrupt = f"{corrupt}; {wanted.fingerprint}: {error}".removeprefix("; ")
                continue
            return Report(
                outcome="corrupt" if corrupt else "hit" if first else "base",
                restored="fingerprint" if first else "base",
                bytes=manifest.bytes,
                files=manifest.files,
                reason=corrupt,
            )
        return Report(outcome="corrupt" if corrupt else "miss", reason=corrupt)


def _present(there: Restored, corrupt: str = "") -> Report:
    """Return the report about a folder that stays as it is."""
    given_up = f"archive {there.sha256[:12]} was given up on this node" if there.given_up else ""
    return Report(
        outcome="corrupt" if corrupt else "present",
        restored="none" if there.given_up else "base" if there.fingerprint == BASE else "fingerprint",
        reason="; ".join(filter(None, (corrupt, given_up))),
    )


def _manifest(store: Store, folder: Folder) -> Manifest | None:
    """Return what the folder holds; None when it holds nothing, or an archive whose manifest was never written.

    The keys are listed first: without the right to list, S3 calls a missing object forbidden.
    """
    with Connection(store) as connection:
        if folder.manifest_key not in connection.list(folder.prefix):
            return None
        try:
            return parse(connection.get(folder.manifest_key, MAX_MANIFEST), folder)
        except MissingError:
            return None  # pruned meanwhile
        except ManifestError as error:
            raise CorruptError(f"manifest: {error}") from None


def _fill(place: Place, store: Store, manifest: Manifest) -> None:
    if manifest.bytes % 512:
        raise CorruptError(f"manifest: {manifest.bytes} bytes are no tar")
    with place.temporary() as path:
        root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        untar = Untar(root, place.owner)
        try:
            Fetch(store, manifest.archive_key, manifest.bytes, manifest.sha256).run(untar.feed)
            files = untar.finish()
        except MissingError as error:
            raise CorruptError(f"the manifest is there, its archive is not: {error}") from None
        finally:
            untar.close()
            os.close(root)
        if files != manifest.files:
            raise CorruptError(f"archive has {files} files, manifest says {manifest.files}")
        place.publish(path, manifest.folder.fingerprint, manifest.sha256)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    for name in ("bucket", "engine", "gpu", "model", "fingerprint", "server", "cache"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds (default 60)")
    parser.add_argument("--owner", type=_owner, help="uid:gid of the engine, when it is not this process's")
    options = parser.parse_args(argv)
    if not options.cache.startswith("/"):
        parser.error(f"--cache {options.cache!r}: want an absolute path")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", options.server):
        raise UsageError(f"--server {options.server!r}: want a DNS label")
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", options.bucket):
        raise UsageError(f"--bucket {options.bucket!r}: want the name of a bucket")
    if not 0 < options.limit <= 3600:
        raise UsageError(f"--limit {options.limit}: want seconds, at most 3600")
    try:
        options.folder = Folder(options.engine, options.gpu, options.model, options.fingerprint)
    except ManifestError as error:
        raise UsageError(f"--{error}") from None
    return options


def _owner(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"\d{1,9}:\d{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r}: want uid:gid")
    uid, _, gid = text.partition(":")
    return int(uid), int(gid)


def run(options: argparse.Namespace, started: float) -> Report:
    """Restore within the limit; returns a report whatever happens, and the folder is there unless it says `failed`."""
    place = Place(options.cache, options.server, options.fingerprint, options.owner)
    end = started + options.limit
    limit = Limit(end - min(_CLEANUP, options.limit / 4) - time.monotonic())
    ended: list[Report] = []

    def work() -> None:
        try:
            ended.append(restore(place, options.folder, options.bucket, limit))
        except RestoreError as error:
            ended.append(Report(outcome=error.outcome, reason=str(error)))
        except Exception as error:  # the pod starts whatever this is
            ended.append(Report(outcome="failed", reason=f"{type(error).__name__}: {error}"))

    # In a thread, because a name server or a disk that hangs cannot be interrupted, only left behind.
    worker = threading.Thread(target=work, daemon=True)
    signal.signal(signal.SIGTERM, lambda *_: limit.end())
    worker.start()
    worker.join(max(0.0, limit.remaining()))
    if worker.is_alive():
        limit.end()
        worker.join(max(0.0, end - time.monotonic()))
    place.leave()
    # after `leave` nothing is published: what has been is reported, not lost
    worker.join(_LAST if place.published else 0)
    return ended[0] if ended else Report(outcome="timeout", reason="stuck, left behind")


def main(argv: Sequence[str]) -> None:
    """Run the program and end the process."""
    started = time.monotonic()
    os.umask(0o022)
    try:
        report = run(_options(argv), started)
    except UsageError as error:
        report = Report(outcome="failed", reason=f"usage: {error}")
    except OSError as error:
        report = Report(outcome="failed", reason=f"{type(error).__name__}: {error}")
    line = replace(report, seconds=time.monotonic() - started).line()
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    termination.say(line)
    # without waiting for threads that hang
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
