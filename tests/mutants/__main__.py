"""`make mutants`: break the program in one line, see that its preview still goes through, and that a test fails.

A break that the preview refuses shows nothing about the tests, so it does not count. Each mutant of mutants.yaml names
the test files that must notice; they run in that order and stop at the first failure.
"""

import argparse
import hashlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import yaml

from tests.mutants.bench import ROOT, Mutant, Outcome, green, judged, prepare

LIST = Path(__file__).with_name("mutants.yaml")
PASSED = Path(__file__).with_name("passed.txt")
"""The digest of everything that decides the outcome, at the last run in which every mutant was caught.

Checked in: CI runs the mutants when what it checks out has another digest."""

DECIDES = (
    *("infra", "serving", "ops", "rehearsal", "policies", "contract", "examples", "tests"),
    *("__main__.py", "settings.py", "checks.py", "outputs.py", "Pulumi.yaml", "pyproject.toml", "requirements-dev.txt"),
    *("Pulumi.dev.yaml", "Pulumi.staging.yaml", "Pulumi.prod.yaml"),
)
"""Program, rehearsal and tests: whole folders, so that a new file counts by itself."""

WORKERS = 2


def mutants() -> list[Mutant]:
    return [
        Mutant(name, it["file"], it["line"], it.get("becomes", ""), tuple(it["tests"]))
        for name, it in yaml.safe_load(LIST.read_text()).items()
    ]


def digest() -> str:
    found = hashlib.sha256()
    for path in sorted(_files()):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def _files() -> Iterator[Path]:
    for name in DECIDES:
        path = ROOT / name
        inside = path.rglob("*") if path.is_dir() else [path]
        yield from (it for it in inside if it.is_file() and it.name != PASSED.name and "__pycache__" not in it.parts)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("name", nargs="*", help="of the mutants to run (default: all)")
    parser.add_argument(
        "--if-changed", action="store_true", help="do nothing when program and tests are as last passed"
    )
    asked = parser.parse_args()
    now = digest()
    if asked.if_changed and PASSED.exists() and PASSED.read_text().split() == [now]:
        print(f"mutants: program and tests are those of the last full pass ({now[:12]}): not run again")
        return 0
    chosen = [it for it in mutants() if not asked.name or it.name in asked.name]
    if unknown := set(asked.name) - {it.name for it in chosen}:
        parser.error(f"no mutant {', '.join(sorted(unknown))}")
    started = time.monotonic()
    print(f"mutants: {len(chosen)}, about {len(chosen) * 3 // 60 + 1} min", flush=True)
    outcomes, guiltless = _run(chosen)
    minutes = (time.monotonic() - started) / 60
    bad = [it for it in outcomes if not it.caught_by]
    kinds = Counter(it.caught_by.split("/")[1] for it in outcomes if it.caught_by)
    slowest = max((it.test_seconds + it.preview_seconds for it in outcomes), default=0)
    print(
        f"mutants: {len(outcomes) - len(bad)} of {len(outcomes)} caught in {minutes:.1f} min,"
        f" the slowest in {slowest:.1f} s; first by tests of {_listed(kinds)}"
    )
    for it in bad:
        print(f"  {it.mutant}: {it.trouble or 'no test noticed'}")
    if not guiltless:
        print("mutants: a test that caught one fails without it too: nothing to learn")
    if bad or not guiltless:
        return 1
    if not asked.name:
        PASSED.write_text(f"{now}\n")
    return 0


def _listed(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "nobody"


def _run(chosen: list[Mutant]) -> tuple[list[Outcome], bool]:
    """Return how each ended, and whether the tests that caught them pass where nothing is broken."""
    outcomes = []
    with (
        tempfile.TemporaryDirectory(prefix="vllm-eks-mutants-") as folder,
        ProcessPoolExecutor(WORKERS, get_context("spawn"), initializer=prepare, initargs=(folder,)) as workers,
    ):
        for number, done in enumerate(as_completed([workers.submit(judged, it) for it in chosen]), 1):
            it = done.result()
            outcomes.append(it)
            verdict = it.caught_by.rpartition("::")[2] or it.trouble or "NOT CAUGHT"
            print(
                f"{number:>3}/{len(chosen)} {it.mutant:<34} preview {it.preview_seconds:4.1f} s, tests"
                f" {it.test_seconds:4.1f} s  {verdict}",
                flush=True,
            )
        # without their parameters: pytest cuts an id at a blank
        caught = tuple(sorted({it.caught_by.partition("[")[0] for it in outcomes if it.caught_by}))
        print(f"mutants: {len(caught)} tests caught them; do they pass without?", flush=True)
        return outcomes, not caught or workers.submit(green, caught).result()


if __name__ == "__main__":
    sys.exit(main())
