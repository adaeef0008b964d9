"""Build the start-up cache of a server and publish it: the program of the cache build Job.

    python3 build.py --bucket B --engine E --gpu G --model M --fingerprint F --engine-version 0.26.0
        [--port 8000] [--limit 1920] [--secret-env NAME]... -- vllm serve ...

Boots the engine cold in an empty cache, stops it, boots it again, and publishes all that is there then, if that second
start took every compiled graph from it. A key that has both manifests already costs no start. It never sees traffic:
caches hold pickles, and whoever can write them owns every node that restores them.
Ends with one line (`build_report.LINE`) and 0 (published or there already), 1 (refused), 2 (usage) or 3 (S3 gave no
usable answer, or there are no credentials to ask it with).
"""

import argparse
import os
import shutil
import signal
import sys
import tarfile
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import termination
from between import between
from boot import BootError, boot
from bucket import SMALLEST_PART, Bucket, DeniedError
from build_report import Outcome, Report
from collect import Archive, ChangedError, Layout, LayoutError, base_of, members, snapshot, write
from engine_log import VERSIONS, Start
from leaks import Scanner, UnscannableError
from manifest import ROOT, Folder, Manifest, ManifestError
from publish import PART, is_published, may_publish, put_archive, put_manifest
from usage import Parser, UsageError
from web import RefusedError, UnclearError, Web
from wrapper import unfit

OWNED = ".cache-build"
"""Marks a root as a build's own, so that what an earlier attempt left may be removed."""

WORK = ".archives"


class BuildError(Exception):
    """Ends a build."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: Outcome = outcome


def build(options: argparse.Namespace, report: Report) -> None:
    """Boot twice, collect, publish; fills the report."""
    root: Path = options.root
    layout = Layout.of(root, os.environ)
    scanner = Scanner(os.environ, options.secret_env)
    bucket = Bucket(Web(options.patience), options.bucket, os.environ)
    folders = (options.folder, options.folder.base)
    for folder in folders:
        may_publish(bucket, folder)
    if all(is_published(bucket, folder) for folder in folders):
        report.outcome = report.fingerprint = report.base = "present"
        return
    emptied(root)

    cold, report.cold = booted(options, "the cold start")
    for path in layout.never:
        # a plan that was made while compiling is too small, and would be applied for ever (vllm.md A15)
        shutil.rmtree(root / path, ignore_errors=True)
    before = snapshot(root, layout)
    warm, report.warm = booted(options, "the warm start")
    compiles = cold.compiles or warm.compiles
    if compiles and (reason := warm.why_no_full_hit() or unfit(root / layout.compile_cache)):
        raise BuildError("not-warm", f"the warm start is no full hit: {reason}")
    after = snapshot(root, layout)
    changed = sorted(name for name, state in after.items() if before.get(name) not in (None, state))

    found = list(members(root, layout, lambda what: say(f"left out: {what}")))
    for member in found:
        content = member.path.read_bytes() if member.kind == tarfile.REGTYPE else b""
        # apart: a pattern ends where a word does, and the name would go on where the content ends
        if kinds := sorted({*scanner.kinds(content), *scanner.kinds(os.fsencode(member.name))}):
            raise BuildError("secret", f"{member.name} holds {', '.join(kinds)}")
    work = root / WORK
    whole = write(found, work / "whole.tar")
    base = write(base_of(found, layout), work / "base.tar")
    report.bytes, report.base_bytes, report.files = whole.bytes, base.bytes, whole.files
    if not whole.files or not base.files:
        raise BuildError("refused", "the engine left no cache: does it write below the root?")
    recipe = described(options, cold, warm, report, changed)
    published(options, bucket, scanner, recipe, ((options.folder, whole), (options.folder.base, base)), report)


def published(
    options: argparse.Namespace,
    bucket: Bucket,
    scanner: Scanner,
    recipe: dict[str, Any],
    archives: tuple[tuple[Folder, Archive], tuple[Folder, Archive]],
    report: Report,
) -> None:
    """Upload both archives, then both manifests; neither where a manifest is by now, or its archive would lie idle."""
    created = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    manifests = [
        Manifest(folder=folder, sha256=made.sha256, bytes=made.bytes, files=made.files, created=created, recipe=recipe)
        for folder, made in archives
    ]
    for manifest in manifests:
        if kinds := list(scanner.kinds(manifest.dump())):
            raise BuildError("secret", f"the manifest would hold {', '.join(kinds)}: it is in the engine's arguments")
    there = {folder for folder, _ in archives if is_published(bucket, folder)}
    for folder, made in archives:
        if folder not in there:
            put_archive(bucket, folder, made, options.part_bytes)
    report.fingerprint, report.base = (
        "present" if manifest.folder in there else put_manifest(bucket, manifest) for manifest in manifests
    )
    report.outcome = "published" if "published" in (report.fingerprint, report.base) else "present"


def booted(options: argparse.Namespace, which: str) -> tuple[Start, float]:
    """Start and stop the engine once."""
    say(f"{which}: {options.command[0]}")
    try:
        start, seconds = boot(options.command, options.engine_version, options.port, options.limit)
    except (BootError, OSError) as error:
        raise BuildError("engine", f"{which}: {error}") from None
    say(f"{which}: ready after {seconds:.1f} s")
    return start, seconds


def emptied(root: Path) -> None:
    """Make the root an empty folder of this build.

    Raises:
        BuildError: it holds what no build has put there.
    """
    root.mkdir(parents=True, exist_ok=True)
    content = list(root.iterdir())
    # the Job has the engine's environment, so this very process may have compiled itself into the root
    others = [path for path in content if str(path) != sys.pycache_prefix]
    if others and not (root / OWNED).exists():
        raise BuildError("refused", f"{root} is not empty and not a build's: what has seen traffic is never published")
    (root / OWNED).touch()
    for path in content:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != OWNED:
            path.unlink()


def described(
    options: argparse.Namespace, cold: Start, warm: Start, report: Report, changed: list[str]
) -> dict[str, Any]:
    """Return the recipe: for people and reports."""
    return {
        "engineVersion": options.engine_version,
        "command": options.command,
        "compiles": cold.compiles,
        "cold": {"ready": round(report.cold, 1), "ends": cold.ends},
        "warm": {"ready": round(report.warm, 1), "ends": warm.ends},
        "changedByWarmStart": changed[:20],
    }


def say(line: str) -> None:
    """Log one line."""
    sys.stderr.write(f"cache-build: {line}\n")
    sys.stderr.flush()


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options, checked."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    for name in ("bucket", "engine", "gpu", "model", "fingerprint"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--engine-version", required=True, choices=sorted(VERSIONS))
    parser.add_argument("--port", type=between(1, 65535), default=8000)
    parser.add_argument("--root", type=Path, default=Path(ROOT), help="for tests: elsewhere it makes no usable cache")
    seconds = between(0.0, 86400.0)
    parser.add_argument("--limit", type=seconds, default=1920.0, help="seconds for one start (default 1920)")
    parser.add_argument("--patience", type=seconds, default=120.0, help="seconds that S3 may fail (default 120)")
    part = between(SMALLEST_PART, 1024**3)
    parser.add_argument("--part-bytes", type=part, default=PART, help="of a multipart upload")
    parser.add_argument("--secret-env", action="append", default=[], help="variable whose value must not be published")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    options.command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not options.command:
        raise UsageError("no engine command after --")
    try:
        options.folder = Folder(options.engine, options.gpu, options.model, options.fingerprint)
    except ManifestError as error:
        raise UsageError(f"--{error}") from None
    if options.folder == options.folder.base:
        raise UsageError("--fingerprint 'base': it comes with every build")
    return options


def _ordered(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def main(argv: Sequence[str]) -> int:
    """Run the program; returns its exit code."""
    began = time.monotonic()
    sys.dont_write_bytecode = True  # of this program; the engine's is wanted
    signal.signal(signal.SIGTERM, _ordered)
    report = Report()
    try:
        options = parsed(argv)
    except UsageError as error:
        sys.stderr.write(f"usage: {error}\n")
        termination.say(f"usage: {error}")
        return 2
    try:
        build(options, report)
    except BuildError as error:
        report.outcome, report.reason = error.outcome, str(error)
    except DeniedError as error:
        report.outcome, report.reason = "denied", str(error)
    except UnclearError as error:
        report.outcome, report.reason = "unclear", str(error)
    except (RefusedError, UnscannableError, ManifestError, ChangedError, LayoutError) as error:
        report.reason = str(error)
    except Exception as error:  # one line whatever happens: a Job's log is read by a program
        report.reason = f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(options.root / WORK, ignore_errors=True)
    line = report.line(time.monotonic() - began)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    termination.say(line)
    return report.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
