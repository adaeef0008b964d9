"""Keep a copy of a model's folder on this node's disk: an init container of every server that reads it from there.

    python local_weights.py --from=s3://<bucket>/models/<name>/<revision>/ --to=<folder>

Afterwards `<folder>/model` holds what the bucket holds, file by file: what has the same size and ETag already is kept,
what the bucket no longer has is removed. A run that is killed goes on from the files that were whole. Of two at once
one waits for the other, and finds it done.

It prints one line at its end (`LINE`), and nothing before but progress. Exit code 0 done, 1 S3 or the disk refuses,
2 usage, 3 could not tell (no credentials, no usable answer, the limit): unlike a cache, weights are needed, so the pod
does not start, and kubelet runs this again.
"""

import argparse
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn

import termination
from between import between
from bucket import Bucket, Listed
from download import Arriving, Download
from layout import place
from model_folder import ModelFolder
from usage import Parser, UsageError
from web import RefusedError, StoppedError, UnclearError, Web

PATIENCE = 120
"""Seconds for one request, with all its attempts."""

GIB = 1024**3

Outcome = Literal["present", "fetched", "refused", "unclear"]
"""`present`: there was nothing to fetch."""

CODES: Mapping[Outcome, int] = {"present": 0, "fetched": 0, "refused": 1, "unclear": 3}


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the line says."""

    outcome: Outcome
    files: int = 0
    bytes: int = 0
    """Of the whole folder."""
    fetched: int = 0
    """Bytes that came over the network in this run."""
    reason: str = ""

    def line(self, seconds: float) -> str:
        """Return the line; `LINE` reads it."""
        reason = " ".join(self.reason.replace('"', "'").split())[:600]
        return (
            f"local-weights: outcome={self.outcome} files={self.files} bytes={self.bytes} fetched={self.fetched}"
            f' seconds={seconds:.3f} reason="{reason}"'
        )


LINE = re.compile(
    r"local-weights: outcome=(?P<outcome>[a-z]+) files=(?P<files>\d+) bytes=(?P<bytes>\d+) fetched=(?P<fetched>\d+)"
    r' seconds=(?P<seconds>\d+\.\d{3}) reason="(?P<reason>[^"]*)"'
)


def listed(bucket: Bucket, prefix: str) -> dict[str, Listed]:
    """Return what the folder must hold, by name.

    Raises:
        RefusedError: it holds nothing, or what cannot be a file.
    """
    found = {key.removeprefix(prefix): it for key, it in bucket.listing(prefix).items()}
    # consoles make an object of each folder
    found = {name: it for name, it in found.items() if name and not (name.endswith("/") and not it.size)}
    if not found:
        raise RefusedError(f"s3://{bucket.name}/{prefix} holds nothing; are the weights there?")
    for name in found:
        # names become paths that root writes to
        if not name.isprintable() or any(part in {"", ".", ".."} for part in name.split("/")):
            raise RefusedError(f"s3://{bucket.name}/{prefix}: {name!a} cannot be the name of a file")
    return found


def room_problem(needed: int, free: int, total: int, spare: int) -> str | None:
    """Return why a disk does not take so many bytes.

    Args:
        needed: bytes to be written.
        free: bytes that the disk has left.
        total: bytes of the disk.
        spare: percent of it that must stay free.
    """
    kept = total * spare // 100
    if needed + kept <= free:
        return None
    return (
        f"disk: {needed / GIB:.2f} GiB to fetch + {kept / GIB:.2f} GiB that must stay free ({spare} % of"
        f" {total / GIB:.2f} GiB) = {(needed + kept) / GIB:.2f} GiB > {free / GIB:.2f} GiB free; other revisions stay"
        " on a node until it goes"
    )


def copied(options: argparse.Namespace, env: Mapping[str, str]) -> Report:
    """Make the folder hold what the bucket holds.

    Raises:
        RefusedError: S3 refuses, or the disk has no room.
        UnclearError: S3 gave no usable answer.
        OSError: the disk takes no more.
    """
    name, prefix = options.source
    web = Web(options.patience)
    bucket = Bucket(web, name, env)
    folder = ModelFolder(options.to, f"s3://{name}/{prefix}")
    with folder.locked():
        # after the lock: what another pod has fetched meanwhile is there
        wanted = listed(bucket, prefix)
        before = folder.present()
        kept = {file for file, it in wanted.items() if before.get(file) == it}
        missing = {file: it for file, it in wanted.items() if file not in kept}
        arrived = folder.sweep(missing)
        fetching = {file: it for file, it in missing.items() if file not in arrived}
        fetched = sum(it.size for it in fetching.values())
        if fetched and (problem := room_problem(fetched, *folder.room(), options.spare_percent)):
            raise RefusedError(problem)
        files = [
            Arriving(partial(_read, bucket, prefix + file, it.etag), it.size, folder.arriving(file, it))
            for file, it in fetching.items()
        ]
        Download(web, files, say).run()
        if missing or before.keys() - wanted.keys():
            folder.settle(wanted, kept)
    return Report(
        outcome="fetched" if missing else "present",
        files=len(wanted),
        bytes=sum(it.size for it in wanted.values()),
        fetched=fetched,
    )


def _read(bucket: Bucket, key: str, etag: str, start: int, into: memoryview) -> None:
    bucket.read(key, start, into, etag)


def say(text: str) -> None:
    """Print a line of progress."""
    print(f"local-weights: {text}", flush=True)


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options.

    Raises:
        UsageError: they are wrong.
    """
    parser = Parser(prog="local_weights.py", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--from", dest="source", required=True, help="s3://<bucket>/models/<name>/<revision>/")
    parser.add_argument("--to", type=Path, required=True, help="the model's folder on the node")
    parser.add_argument("--limit", type=between(1, 24 * 3600), default=1800, help="seconds for everything (1800)")
    parser.add_argument("--patience", type=between(0, 3600), default=PATIENCE, help=f"seconds a request ({PATIENCE})")
    parser.add_argument("--spare-percent", type=between(0, 100), default=0, help="of the disk that must stay free (0)")
    options = parser.parse_args(argv)
    try:
        options.source = place(options.source)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not options.to.is_absolute():
        raise UsageError(f"--to {str(options.to)!r}: want an absolute path")
    return options


def main(argv: Sequence[str]) -> None:
    """Run the program and end the process."""
    started = time.monotonic()
    ending = threading.Lock()

    def end(report: Report, code: int) -> NoReturn:
        ending.acquire()  # for good: of a thread that has ended and the limit, one speaks
        line = report.line(time.monotonic() - started)
        os.write(1, f"{line}\n".encode(errors="replace"))
        termination.say(line)
        # without waiting for threads that hang; what is whole stays, the next run goes on from there
        os._exit(code)

    def stopped(*_: object) -> None:
        # in the main thread, which may be speaking already
        if ending.acquire(blocking=False):
            ending.release()
            end(Report(outcome="unclear", reason="stopped"), CODES["unclear"])

    # the first process of a container has no default for it
    signal.signal(signal.SIGTERM, stopped)
    os.umask(0o022)
    try:
        options = parsed(argv)
    except UsageError as error:
        end(Report(outcome="refused", reason=f"usage: {error}"), 2)
    over = Report(outcome="unclear", reason=f"not done after {options.limit} s")
    limit = threading.Timer(options.limit, end, (over, CODES["unclear"]))
    limit.daemon = True
    limit.start()
    try:
        report = copied(options, os.environ)
    except RefusedError as error:
        report = Report(outcome="refused", reason=str(error))
    except OSError as error:
        report = Report(outcome="refused", reason=f"{options.to}: {error.strerror or type(error).__name__}")
    except (UnclearError, StoppedError) as error:
        report = Report(outcome="unclear", reason=str(error))
    except Exception as error:  # one line whatever happens
        report = Report(outcome="unclear", reason=f"{type(error).__name__}: {error}")
    end(report, CODES[report.outcome])


if __name__ == "__main__":
    main(sys.argv[1:])
