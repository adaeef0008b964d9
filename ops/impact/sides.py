"""From two names of revisions to the two sides of a comparison."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ops.failures import Failure, UsageError
from ops.impact.compare import moving, unfilled
from ops.impact.revision import git, requirements
from ops.impact.revision.run import Checkout, ending_in_order
from ops.impact.revision.side import Side, candidates, key, planned
from ops.impact.servers.cache import Misses, misses
from ops.stack.stack_file import read
from ops.terminal import echo

WORKING_TREE = "working tree"


def sides(
    base: str, head: str | None, stack: str, secrets: Sequence[str], say: Callable[[str], None]
) -> tuple[Side, Side, dict[str, Misses]]:
    """Return what stands, what is proposed, and what a start without its cache costs there.

    Each revision's own program is run, in this Python. Nothing stays behind, also after Ctrl-C and SIGTERM.

    Args:
        base: the revision that stands.
        head: the proposed one; None for the working tree as it is.
        stack: name of the stack.
        secrets: `path=value` each, for both.
        say: takes what is going on.

    Raises:
        UsageError: no such revision or stack file, or a secret is missing.
        RefusedError: the proposed program or stack file is wrong.
        UnclearError: the revisions cannot be compared.
    """
    with ending_in_order(), ExitStack() as stays:
        before = stays.enter_context(_checkout(base, "--base", proposed=False))
        after = (
            stays.enter_context(_checkout(head, "--head", proposed=True))
            if head is not None
            else Checkout(title=WORKING_TREE, folder=Path.cwd(), proposed=True)
        )
        for side in (after, before):
            _has(side, stack)
            requirements.check(side.folder, side.title)
        state = Path(stays.enter_context(tempfile.TemporaryDirectory(prefix="vllm-eks-impact-"))) / "state"
        say(f"{before.title} comes up offline")
        was = planned(before, stack, "up", state, secrets)
        say(f"{after.title} is previewed over it")
        now = planned(after, stack, "preview", state, secrets)
        servers = moving(was, now)
        if servers:
            say("cache keys")
        pairs = [(it, {name: key(side, stack, name) for name in servers}) for it, side in ((was, before), (now, after))]
        was, now = (replace(it, keys=keys) for it, keys in pairs)
        moved = [name for name in servers if was.keys[name].exact != now.keys[name].exact]
        was = replace(was, candidates=candidates(before, stack, moved, was.settings))
        # by this checkout's own code: of the working tree it is that very program
        return was, now, _misses(stack, {*moved, *unfilled(was, now)}) if head is None else {}


@contextmanager
def _checkout(revision: str, option: str, *, proposed: bool) -> Iterator[Checkout]:
    of = git.commit(revision, option)
    with git.checked_out(of, f"{option} {revision}") as folder:
        yield Checkout(title=f"{echo(revision)} ({of[:8]})", folder=folder, proposed=proposed)


def _has(side: Checkout, stack: str) -> None:
    file = f"Pulumi.{stack}.yaml"
    # looked up and not opened: what is too long for a file's name is none, and no error
    there = sorted(it.name for it in side.folder.glob("Pulumi.*.yaml") if it.is_file())
    if file not in there:
        names = [it.removeprefix("Pulumi.").removesuffix(".yaml") for it in there]
        expected = ", ".join(names) or "a folder with stack files"
        raise UsageError(f"--stack {echo(stack)}: {side.title} has no {echo(file)}; expected {expected}")


def _misses(stack: str, servers: Iterable[str]) -> dict[str, Misses]:
    found: dict[str, Misses] = {}
    with suppress(Failure):
        its = read(stack)
        found = {name: misses(its, name) for name in servers}
    return found
