"""The URNs of each checked-in stack, kept in a file, so that a rename without an alias cannot pass for a refactoring.

A line is what follows `urn:pulumi:<stack>::vllm-eks::` of a resource. To write the files again:

    .venv/bin/python -m tests.stack.urns
"""

from dataclasses import dataclass
from pathlib import Path

from tests.harness import PROJECT, ROOT, Recording
from tests.mocks import NAME

COMMAND = ".venv/bin/python -m tests.stack.urns"
PREFIX = f"urn:pulumi:{NAME}::{PROJECT}::"


@dataclass(frozen=True)
class Difference:
    """What a stack registers, against its list."""

    file: str
    gone: tuple[str, ...]
    """Listed, registered no more, and no other resource has it as an alias."""
    new: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.gone or self.new)

    def __str__(self) -> str:
        parts = [f"{self.file} and what the program registers differ."]
        if self.gone:
            parts += ["Gone, with no alias to them: the next `up` deletes these and what they hold.", *_rows(self.gone)]
            parts += [
                "Renamed or moved? Give the new resource its old name: aliases=[pulumi.Alias(name=..., type_=...)]."
                f" Really deleted? {COMMAND} --accept-deletions"
            ]
        if self.new:
            parts += ["New:", *_rows(self.new)]
            parts += [] if self.gone else [f"Meant? {COMMAND}"]
        return "\n".join(parts)


def _rows(lines: tuple[str, ...]) -> list[str]:
    return [f"  {line}" for line in lines]


def path(stack: str) -> Path:
    """The stack's list."""
    return Path(__file__).with_name(f"{stack}.txt")


def registered(recording: Recording) -> list[str]:
    """The lines of a recording, sorted."""
    return sorted(registration.urn.removeprefix(PREFIX) for registration in recording.registered)


def difference(stack: str, recording: Recording) -> Difference:
    """Compare a recording with the stack's list."""
    listed = path(stack).read_text().splitlines() if path(stack).exists() else []
    now = registered(recording)
    aliases = {alias.removeprefix(PREFIX) for registration in recording.registered for alias in registration.aliases}
    return Difference(
        file=str(path(stack).relative_to(ROOT)),
        gone=tuple(line for line in listed if line not in {*now, *aliases}),
        new=tuple(line for line in now if line not in listed),
    )


def write(stack: str, recording: Recording) -> None:
    """Make the recording the stack's list."""
    path(stack).write_text("".join(f"{line}\n" for line in registered(recording)))
