"""Check a folder of weights against its marker and the rules of a checkpoint: `ops weights verify`.

    python verify.py s3://<bucket>/models/<name>/<revision>/ [--deep] [--allow-pickle]

Without `--deep`: the marker, the list of objects, their sizes, the index, and each shard's own header. With it, every
byte is read and hashed too (through memory, in the bucket's region).
Exit code 0 whole, 1 not whole, 2 usage, 3 could not tell (no credentials, no rights, or no usable answer).
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from functools import partial

import termination
from between import between
from bucket import Bucket, DeniedError
from layout import MARKER, Marker, marker, place, problems, shard_problem
from transfer import MIB, PART_MIB, STREAMS, File, Transfer
from web import RefusedError, StoppedError, UnclearError, Web

PATIENCE = 60


def folder(bucket: Bucket, prefix: str) -> dict[str, int]:
    """Return the size of every object by its name in the folder, but for the empty one that consoles make of it."""
    return {key.removeprefix(prefix): size for key, size in bucket.list(prefix).items() if key != prefix}


def shard_problems(bucket: Bucket, prefix: str, files: Mapping[str, int]) -> Iterator[str]:
    """Yield safetensors files whose header and length disagree."""
    for name, size in sorted(files.items()):
        if name.endswith(".safetensors"):
            read = partial(_piece, bucket, prefix + name)
            if problem := shard_problem(size, read(0, min(8, size)), partial(read, 8)):
                yield f"{name}: {problem}"


def _piece(bucket: Bucket, key: str, start: int, length: int) -> bytes:
    content = bytearray(length)
    bucket.read(key, start, memoryview(content))
    return bytes(content)


def listed_problems(listed: Mapping[str, int], stored: Mapping[str, int]) -> Iterator[str]:
    """Yield differences between the marker and the bucket."""
    for name in sorted(listed.keys() | stored):
        if name not in stored:
            yield f"{name}: missing"
        elif name not in listed:
            yield f"{name}: not in {MARKER}"
        elif listed[name] != stored[name]:
            yield f"{name}: {stored[name]} bytes, expected {listed[name]}"


def deep_problems(web: Web, bucket: Bucket, prefix: str, whole: Marker) -> Iterator[str]:
    """Yield the first file whose bytes hash to something else."""
    files = [
        File(f.name, f.size, f.sha256, hashlib.sha256(), partial(bucket.read, prefix + f.name)) for f in whole.files
    ]

    def say(line: str) -> None:
        print(f"verify: {line}", flush=True)

    try:
        Transfer(web, files, streams=STREAMS, part=PART_MIB * MIB, say=say).run()
    except DeniedError:
        raise
    except RefusedError as error:
        yield str(error)


def verify(args: argparse.Namespace, name: str, prefix: str, env: Mapping[str, str]) -> str:
    """Return a line that says what is whole.

    Raises:
        RefusedError: what is not.
        UnclearError: S3 gave no usable answer.
    """
    web = Web(args.patience)
    bucket = Bucket(web, name, env)
    content = bucket.get(prefix + MARKER)
    if content is None:
        raise RefusedError(f"{args.folder}: no {MARKER}: nothing was onboarded there, or it is not finished")
    try:
        whole = marker(content)
    except ValueError as error:
        raise RefusedError(str(error)) from None
    listed = {entry.name: entry.size for entry in whole.files}
    stored = folder(bucket, prefix)
    stored.pop(MARKER, None)
    found = list(listed_problems(listed, stored))
    if not found:
        found += problems(stored, lambda file: bucket.get(prefix + file) or b"", pickles=args.allow_pickle)
    if not found:
        found += shard_problems(bucket, prefix, stored)
    if not found and args.deep:
        found += deep_problems(web, bucket, prefix, whole)
    if found:
        raise RefusedError("\n".join(found))
    checked = "hashed" if args.deep else "sizes and layout checked"
    return f"whole: {len(listed)} files, {whole.total} bytes ({checked}), {whole.repository} at {whole.commit}"


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="verify.py", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", help="s3://<bucket>/models/<name>/<revision>/")
    parser.add_argument("--deep", action="store_true", help="read and hash every byte")
    parser.add_argument("--allow-pickle", action="store_true", help="accept formats that run code when they are loaded")
    seconds = between(0.0, 3600.0)
    parser.add_argument("--patience", type=seconds, default=PATIENCE, help=f"seconds of retries ({PATIENCE})")
    told, code = _told(parser.parse_args())
    told = "\n".join(f"verify: {line}" for line in told.splitlines())
    print(told, file=sys.stderr if code else sys.stdout)
    termination.say(told)
    return code


def _told(args: argparse.Namespace) -> tuple[str, int]:
    try:
        name, prefix = place(args.folder)
    except ValueError as error:
        return f"usage: {error}", 2
    try:
        return verify(args, name, prefix, os.environ), 0
    except (DeniedError, UnclearError, StoppedError) as error:
        return f"could not tell: {error}", 3
    except RefusedError as error:
        return str(error), 1
    except Exception as error:  # one line whatever happens: who started the Job reads it in the pod's status
        return f"could not tell: {type(error).__name__}: {error}", 3


if __name__ == "__main__":
    sys.exit(main())
