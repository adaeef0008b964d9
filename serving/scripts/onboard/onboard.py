"""Copy one commit of a Hugging Face repository into `s3://<bucket>/models/<name>/<revision>/`.

    python onboard.py --repository <owner>/<name> --revision <commit> --to s3://<bucket>/models/<name>/<revision>/

Streams through memory: no disk is used, whatever the size. The marker `.complete.json` comes last, after every file has
hashed to what the commit says; without it the folder is not whole. Run again to continue: files that arrived are kept,
uploads that did not end are dropped. Reads HF_TOKEN, HF_ENDPOINT, AWS_REGION and the pod's AWS identity.
Exit code 0 done, 1 a check failed, 2 usage, 3 could not tell (no credentials, or a side did not answer: try again).
"""

import argparse
import concurrent.futures
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

import termination
from between import between
from bucket import SMALLEST_PART, Bucket, DeniedError, ExistsError, Part
from hub import Hub, HubFile, clean_endpoint, clean_token
from layout import DEFAULT_ENDPOINT, MARKER, Entry, Marker, marker, pinned, place, problems
from transfer import MIB, PART_MIB, SPARE, STREAMS, File, Transfer
from verify import folder, shard_problems
from web import RefusedError, StoppedError, UnclearError, Web

PATIENCE = 300
_HIDDEN = re.compile(r"(?:.*/)?\.[A-Za-z0-9]")


def say(text: str) -> None:
    """Print a line at once: the pod's log is what people watch."""
    print(f"onboard: {text}", flush=True)


def fail(text: str, code: int) -> int:
    """Say why it ended, each line by itself, and return the exit code."""
    told = "\n".join(f"onboard: {line}" for line in text.splitlines())
    print(told, file=sys.stderr)
    termination.say(told)
    return code


@dataclass(frozen=True)
class ObjectSink:
    """One object of the bucket. The metadata lets the next run recognise what has arrived."""

    bucket: Bucket
    key: str
    file: HubFile

    def put(self, body: memoryview, sha256: str) -> None:
        """Store a file of one part."""
        self.bucket.put(self.key, body, {"source": self.file.source, "sha256": sha256})

    def start(self) -> str:
        """Begin an upload. The hash is a promise here: the object exists only when it was kept."""
        return self.bucket.start(self.key, {"source": self.file.source, "sha256": self.file.digest})

    def part(self, upload: str, number: int, body: memoryview) -> Part:
        """Store one part."""
        return self.bucket.part(self.key, upload, number, body)

    def finish(self, upload: str, parts: Iterator[Part]) -> None:
        """Make the parts one object."""
        self.bucket.finish(self.key, upload, parts, self.file.size)

    def abort(self, upload: str) -> None:
        """Drop the parts."""
        self.bucket.abort(self.key, upload)


def chosen(files: Sequence[HubFile], include: Sequence[str], exclude: Sequence[str]) -> list[HubFile]:
    """Return the files to copy. Names with a leading dot (.gitattributes) are git's, not the model's."""
    return [
        file
        for file in files
        if not _HIDDEN.match(file.name)
        and any(fnmatchcase(file.name, glob) for glob in include or ["*"])
        and not any(fnmatchcase(file.name, glob) for glob in exclude)
    ]


def refuse(found: Iterator[str], where: str) -> None:
    """Raise when there are problems, all in one line each."""
    if lines := list(found):
        raise RefusedError("\n".join(f"{where}: {line}" for line in lines))


def arrived(
    bucket: Bucket, prefix: str, files: Sequence[HubFile], there: Mapping[str, int], streams: int
) -> dict[str, str]:
    """Return the SHA-256 of files that an earlier run has stored whole: right size, right origin."""
    same = [file for file in files if there.get(file.name) == file.size]
    with concurrent.futures.ThreadPoolExecutor(streams) as pool:
        found = pool.map(lambda file: bucket.metadata(prefix + file.name), same)
        return {
            file.name: meta["sha256"]
            for file, meta in zip(same, found, strict=True)
            if meta and meta.get("source") == file.source and len(meta.get("sha256", "")) == 64
        }


def drop_unfinished(bucket: Bucket, prefix: str) -> None:
    """Abort what a killed run left behind: its bytes cannot be hashed again without fetching them again."""
    try:
        for key, upload in list(bucket.uploads(prefix)):
            bucket.abort(key, upload)
            say(f"dropped an unfinished upload of {key.removeprefix(prefix)}")
    except DeniedError:
        say("may not list unfinished uploads: the bucket's lifecycle rule removes them")


def check_marker(bucket: Bucket, prefix: str, hub: Hub) -> bytes | None:
    """Return the marker of an earlier run of this commit.

    Raises:
        RefusedError: the folder holds something else.
    """
    content = bucket.get(prefix + MARKER)
    if content is None:
        return None
    try:
        old = marker(content)
    except ValueError as error:
        raise RefusedError(f"{prefix}: {error}") from None
    if (old.repository, old.commit) != (hub.repository, hub.commit):
        raise RefusedError(f"{prefix} holds {old.repository} at {old.commit}: another revision needs another folder")
    return content


def onboard(args: argparse.Namespace, endpoint: str, env: Mapping[str, str]) -> str:
    """Do it all; returns the last line.

    Raises:
        RefusedError: a check failed.
        UnclearError: a side gave no usable answer.
    """
    try:
        commit = pinned(endpoint, args.repository, args.revision)
        name, prefix = place(args.to, commit)
    except ValueError as error:
        raise RefusedError(str(error)) from None
    web = Web(args.patience)
    hub = Hub(web, endpoint, args.repository, commit, clean_token(env.get("HF_TOKEN", "")))
    bucket = Bucket(web, name, env)

    files = chosen(hub.files(), args.include, args.exclude)
    by_name = {file.name: file for file in files}
    sizes = {file.name: file.size for file in files}
    refuse(problems(sizes, lambda file: hub.content(by_name[file]), pickles=args.allow_pickle), args.repository)
    part = args.part_mib * MIB
    if large := [file.name for file in files if file.kind == "git" and file.size > part]:
        raise RefusedError(f"{large[0]}: larger than a part, and the hub gives no SHA-256")

    there = folder(bucket, prefix)
    if stray := sorted(there.keys() - sizes.keys() - {MARKER}):
        raise RefusedError(f"s3://{name}/{prefix}{stray[0]}: is in the folder and not in the commit; remove it first")
    before = check_marker(bucket, prefix, hub)
    drop_unfinished(bucket, prefix)
    hashes = arrived(bucket, prefix, files, there, args.streams)
    total = sum(sizes.values())
    say(f"{args.repository} at {commit}: {len(files)} files, {total} bytes; {len(hashes)} there already; no disk,"
        f" at most {(args.streams + SPARE) * args.part_mib} MiB of memory for data")  # fmt: skip

    moving = [
        File(file.name, file.size, file.digest, file.hasher(), partial(hub.read, file),
             ObjectSink(bucket, prefix + file.name, file))
        for file in files if file.name not in hashes
    ]  # fmt: skip
    Transfer(web, moving, streams=args.streams, part=part, say=say).run()
    hashes |= {file.name: file.sha256 for file in moving}

    stored = folder(bucket, prefix)
    stored.pop(MARKER, None)
    if stored != sizes:
        odd = sorted(file for file in stored.keys() | sizes if stored.get(file) != sizes.get(file))
        raise UnclearError(f"{odd[0]}: changed in the bucket while it was copied; does something else write there?")
    refuse(shard_problems(bucket, prefix, stored), "stored")
    entries = tuple(Entry(file.name, file.size, hashes[file.name], file.source) for file in files)
    content = Marker(args.repository, commit, entries).encoded()
    publish(bucket, prefix + MARKER, content, before)
    return f"complete: s3://{name}/{prefix}: {len(files)} files, {total} bytes"


def publish(bucket: Bucket, key: str, content: bytes, before: bytes | None) -> None:
    """Write the marker, once and for all."""
    if before is None:
        try:
            bucket.put(key, content, {}, only_new=True)
        except ExistsError:
            # another run's, or our own first attempt's, whose answer was lost
            before = bucket.get(key)
            if before is None:
                raise UnclearError(f"{key}: S3 says that it exists, and does not have it") from None
        else:
            return
    if before != content:
        raise RefusedError(f"{key} lists other files than this run (other --include or --exclude?): use another folder")


def arguments() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="onboard.py", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--repository", required=True, help="<owner>/<name> on the hub")
    parser.add_argument("--revision", required=True, help="a commit of 40 hex digits")
    parser.add_argument("--to", required=True, help="s3://<bucket>/models/<name>/<revision>/")
    parser.add_argument("--include", action="append", default=[], metavar="GLOB", help="copy only these files")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="leave these files out")
    parser.add_argument("--allow-pickle", action="store_true", help="take formats that run code when they are loaded")
    parser.add_argument("--streams", type=between(1, 256), default=STREAMS, help=f"connections ({STREAMS})")
    parser.add_argument(
        "--part-mib", type=between(SMALLEST_PART // MIB, 1024), default=PART_MIB, help=f"MiB ({PART_MIB})"
    )
    parser.add_argument("--patience", type=between(0, 3600), default=PATIENCE, help=f"seconds of retries ({PATIENCE})")
    return parser


def stopped(*_: object) -> None:
    """End at once: what is stored stays, and the next run drops what is not whole."""
    told = "onboard: stopped; run again to continue"
    os.write(2, f"{told}\n".encode())
    termination.say(told)
    os._exit(3)


def main() -> int:
    """Return the exit code."""
    # the first process of a container has no default for it: without this a deleted pod works on until it is killed
    signal.signal(signal.SIGTERM, stopped)
    args = arguments().parse_args()
    try:
        endpoint = clean_endpoint(os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT)
    except ValueError as error:
        return fail(f"usage: {error}", 2)
    try:
        whole = onboard(args, endpoint, os.environ)
    except RefusedError as error:
        return fail(str(error), 1)
    except (UnclearError, StoppedError) as error:
        return fail(f"could not tell: {error}", 3)
    except Exception as error:  # one line whatever happens: who started the Job reads it in the pod's status
        return fail(f"could not tell: {type(error).__name__}: {error}", 3)
    say(whole)
    termination.say(f"onboard: {whole}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
