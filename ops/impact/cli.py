"""`ops impact`. It imports what it needs when it runs: `--help` needs none of the SDKs."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ops.options import Json, StackName, not_empty

if TYPE_CHECKING:
    from ops.impact.limits import Verdict


def _pairs(values: list[str] | None) -> list[str] | None:
    for value in values or ():
        path, equals, _ = value.partition("=")
        if not path or not equals:
            # not repeated: it may be the secret itself
            raise typer.BadParameter("expected path=value, for example vllm-eks:hfToken=x")
    return values


def impact(
    base: Annotated[
        str, typer.Option(metavar="REV", callback=not_empty, help="the revision that stands, for example origin/main")
    ],
    head: Annotated[
        str | None,
        typer.Option(metavar="REV", callback=not_empty, help="the proposed one (default: the working tree as it is)"),
    ] = None,
    stack: StackName = "dev",
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="RULE=LIMIT",
            help="exit 1 beyond it: fresh-node=+10s, restart=+5%, cold-compile, downtime=60s, drift, replacements,"
            " deletions, usd-per-hour=+1.0 (repeatable)",
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="PATH=VALUE",
            callback=_pairs,
            help="for both revisions (repeatable)",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a change does to a stack, for its pull request.

    Two revisions of program and stack file are compared without a cloud, as Markdown: cold compiles, pods that restart
    and for how long nothing serves, nodes that drift, what is replaced, costs, predicted starts.

    Example: .venv/bin/python -m ops impact --base "$(git merge-base origin/main HEAD)" --fail-on cold-compile
    """
    from ops.failures import RefusedError, UnclearError, broken_program  # noqa: PLC0415
    from ops.impact.output.refusal import refusal  # noqa: PLC0415

    try:
        told, said = _compared(base, head, stack, fail_on or (), secret or (), as_json=as_json)
    except Exception as error:
        why = error if isinstance(error, RefusedError | UnclearError) else broken_program(error)
        if why is None:
            raise
        # the reviewer waits for a comment, also for one that says why there is nothing to say
        typer.echo(
            json.dumps({"stack": stack, "refusal": str(why)}) if as_json else refusal(stack, str(why)), nl=as_json
        )
        raise why from None
    typer.echo(told, nl=as_json)
    unclear = [line for it in said for line in it.unclear]
    if passed := [line for it in said for line in it.passed]:
        raise RefusedError("\n".join([*passed, *unclear]))
    if unclear:
        raise UnclearError("\n".join(unclear))


def _compared(
    base: str, head: str | None, stack: str, fail_on: Sequence[str], secrets: Sequence[str], *, as_json: bool
) -> "tuple[str, Sequence[Verdict]]":
    """Return the comparison as it is printed, and what the limits say of it."""
    # all of it imports the program of this folder, which may be what is wrong
    from ops.impact.compare import compare  # noqa: PLC0415
    from ops.impact.limits import parse, verdicts  # noqa: PLC0415
    from ops.impact.output.document import document  # noqa: PLC0415
    from ops.impact.output.report import report  # noqa: PLC0415
    from ops.impact.sides import sides  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    limits = [parse(it) for it in fail_on]
    with progress("impact") as say:
        was, now, misses = sides(base, head, stack, secrets, say)
    found = compare(stack, was, now, misses)
    said = verdicts(found, limits)
    return (json.dumps(document(found, said), indent=2) if as_json else report(found, said)), said
