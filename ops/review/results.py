"""What the tools found for a stack, as one job of a workflow writes it and another one reads it.

Whoever opens a pull request decides what these files hold: the jobs that write them run his code. So they are data that
is checked and shown, and nothing in them is believed, followed or run.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ValidationError

from ops.failures import RefusedError
from ops.review.written import Cloud, Rehearsed

LARGEST = 4 * 1024 * 1024
"""Bytes of a file that is read. The largest of ours was 60 kB."""

MOST_FILES = 60

_STACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
"""A stack of a file's name. Pulumi takes more; what has another name is not one of ours."""

SUFFIXES = {"rehearsed": ".rehearsed.json", "aws": ".aws.json"}


@dataclass(frozen=True, kw_only=True)
class Found:
    """Everything that is known of one stack."""

    stack: str
    rehearsed: Rehearsed | None = None
    aws: Cloud | None = None
    unreadable: tuple[str, ...] = ()
    """Of files that were there, why they could not be read."""
    left_out: bool = False
    """It claims to be previewed against AWS, and comes from a fork."""


def read(folder: Path, expected: Sequence[str], *, fork: bool = False) -> tuple[Found, ...]:
    """Return what the files of a folder say, by stack, and one without anything for each that is expected.

    Args:
        folder: of results, in any depth: each artifact of a workflow may have a folder of its own.
        expected: names of stacks.
        fork: the results come from a fork, where nobody had credentials.
    """
    found = {stack: Found(stack=stack) for stack in expected}
    for stack, kind, path in _files(folder):
        before = found.get(stack, Found(stack=stack))
        if kind == "aws" and fork:
            found[stack] = replace(before, left_out=True)
            continue
        try:
            if kind == "aws":
                found[stack] = replace(before, aws=_parsed(path, Cloud))
            else:
                found[stack] = replace(before, rehearsed=_parsed(path, Rehearsed))
        except _UnreadableError as why:
            found[stack] = replace(before, unreadable=(*before.unreadable, f"{path.name}: {why}"))
    return tuple(found[stack] for stack in sorted(found))


class _UnreadableError(Exception):
    """A file is none of ours."""


def _files(folder: Path) -> Iterator[tuple[str, Literal["rehearsed", "aws"], Path]]:
    kinds: tuple[Literal["rehearsed", "aws"], ...] = ("rehearsed", "aws")
    # a link of an archive leads anywhere on this machine
    paths = sorted(it for it in folder.rglob("*.json") if it.is_file() and not it.is_symlink())
    for path in paths[:MOST_FILES]:
        for kind in kinds:
            stack = path.name.removesuffix(SUFFIXES[kind])
            if stack != path.name and is_name(stack):
                yield stack, kind, path


_Model = TypeVar("_Model", bound=BaseModel)


def _parsed(path: Path, model: type[_Model]) -> _Model:
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise _UnreadableError(f"more than {LARGEST} bytes")
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise _UnreadableError(f"{place}: {first['msg']}" if place else first["msg"]) from None


def is_name(stack: str) -> bool:
    """Whether a stack has a name that files and messages can carry as it is."""
    return _STACK.fullmatch(stack) is not None


def stacks_here() -> list[str]:
    """Return the stacks of the current folder's stack files."""
    names = (it.name.removeprefix("Pulumi.").removesuffix(".yaml") for it in Path().glob("Pulumi.*.yaml"))
    return sorted(filter(is_name, names))


NUMBER = "pull-request"
"""The file with the number of the pull request, beside the results."""


def number(folder: Path) -> int:
    """Return the number of the pull request that results say they are of. It is a claim, to be checked.

    Raises:
        RefusedError: there is none.
    """
    paths = sorted(it for it in folder.rglob(NUMBER) if it.is_file() and not it.is_symlink())
    for path in paths[:1]:
        with path.open("rb") as file:
            content = file.read(32).strip()
        if re.fullmatch(rb"[1-9][0-9]{0,9}", content):
            return int(content)
    raise RefusedError(f"{folder}: no file {NUMBER} with a number in it")
