"""`make parser-check`: every command line that the program can render, before the real vLLM of its version.

Also before it: lines that it must refuse, the argument table that the program checks stack files by, and the lines that
the parsers of its log know.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rehearsal.toolchain.progress import clock, step
from serving.arguments import ENGINES, TABLES
from tests.parser_check import environment
from tests.parser_check.faults import FAULTS
from tests.parser_check.log_texts import missing, wanted
from tests.serving.arguments.command_lines import CommandLine, command_lines

PASSED = Path(__file__).with_name("passed.txt")
"""The digest of everything that decides the outcome, at the last run in which all was well.

Checked in: CI runs the check when what it checks out has another digest."""

PROGRAM = Path(__file__).with_name("real_parser.py")


@dataclass(frozen=True)
class Verdict:
    """What one version of vLLM says."""

    refused: Sequence[tuple[CommandLine, str]]
    taken: Sequence[str]
    """Faults that it did not refuse, or not for what is wrong with them."""
    same_table: bool
    unprinted: Sequence[str]
    """Lines that the log parsers know and that it never prints."""

    @property
    def good(self) -> bool:
        return not self.refused and not self.taken and self.same_table and not self.unprinted


def digest(lines: Sequence[CommandLine]) -> str:
    """The lines themselves, not the program that renders them: most changes of the program change none."""
    found = hashlib.sha256()
    for line in lines:
        found.update(json.dumps([line.engine, line.items]).encode())
    for engine in ENGINES:
        found.update(repr(sorted((name, text, it.pattern) for name, (text, it) in wanted(engine).items())).encode())
    folders = [PROGRAM.parent, *(environment.ROOT / folder for folder in environment.STAND_ALONE)]
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        if path != PASSED and "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(environment.ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def verdict(engine: str, lines: Sequence[CommandLine]) -> Verdict:
    """Ask one version, in one process."""
    faults = list(FAULTS.items())
    asked = [list(line.items) for line in lines] + [list(items) for _, (items, _) in faults]
    # not the user's environment: VLLM_* and HF_* change what vLLM takes
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": environment.path(engine)}
    command = [str(environment.python()), str(PROGRAM)]
    with step(f"vLLM {engine} reads {len(asked)} command lines"):
        done = subprocess.run(command, input=json.dumps(asked), env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise environment.ParserMissingError(f"vLLM {engine} does not start:\n{done.stderr[-4000:]}")
    answers = json.loads(done.stdout)
    said: list[str | None] = answers["refusals"]
    return Verdict(
        refused=[(line, why) for line, why in zip(lines, said, strict=False) if why is not None],
        taken=[
            name
            for (name, (_, expected)), why in zip(faults, said[len(lines) :], strict=True)
            if why is None or expected not in why
        ],
        same_table=answers["table"] == (TABLES / f"{engine}.json").read_text(),
        unprinted=missing(engine, environment.engine(engine) / "vllm"),
    )


def report(engine: str, count: int, found: Verdict) -> None:
    faults, texts = len(FAULTS), len(wanted(engine))
    print(
        f"parser-check: vLLM {engine}: {count - len(found.refused)} of {count} command lines accepted,"
        f" {faults - len(found.taken)} of {faults} faults refused,"
        f" argument table {'as its parser has it' if found.same_table else 'NOT as its parser has it'},"
        f" {texts - len(found.unprinted)} of {texts} lines of the log parsers in its source",
        flush=True,
    )
    for line, why in found.refused:
        print(f"  {line.label}: vllm serve {' '.join(line.items)}\n    {why.strip()}")
    for name in found.taken:
        print(f"  NOT REFUSED: {name}: vllm serve {' '.join(FAULTS[name][0])}")
    for name in found.unprinted:
        print(f"  NEVER PRINTED: {name}")
    if not found.same_table:
        print(f"  make serving/arguments/{engine}.json again: see serving/arguments/dump.py")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.parser_check", description=__doc__)
    parser.add_argument("--if-changed", action="store_true", help="do nothing when all is as it last passed")
    asked = parser.parse_args()
    lines = list(command_lines())
    now = digest(lines)
    if asked.if_changed and PASSED.exists() and PASSED.read_text().split() == [now]:
        print(f"parser-check: command lines and tables are those of the last pass ({now[:12]}): not run again")
        return 0
    started = time.monotonic()
    good = True
    for engine in ENGINES:
        its = [line for line in lines if line.engine == engine]
        try:
            found = verdict(engine, its)
        except environment.ParserMissingError as missing:
            print(f"parser-check: {missing}")
            return 1
        report(engine, len(its), found)
        good = good and bool(its) and found.good
    print(f"parser-check: {'passed' if good else 'FAILED'} in {clock(time.monotonic() - started)}")
    if good:
        PASSED.write_text(f"{now}\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
