"""`ops impact`. It imports what it needs when it runs: `--help` needs none of the SDKs."""

import json
from typing import Annotated

import typer

from ops.options import Json, StackName, not_empty


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

    Example: python -m ops impact --base "$(git merge-base origin/main HEAD)" --fail-on cold-compile
    """
    from ops.failures import RefusedError, UnclearError  # noqa: PLC0415
    from ops.impact.compare import compare  # noqa: PLC0415
    from ops.impact.limits import parse, verdicts  # noqa: PLC0415
    from ops.impact.output.document import document  # noqa: PLC0415
    from ops.impact.output.report import report  # noqa: PLC0415
    from ops.impact.sides import sides  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    limits = [parse(it) for it in fail_on or ()]
    with progress("impact") as say:
        was, now, misses = sides(base, head, stack, secret or (), say)
    found = compare(stack, was, now, misses)
    said = verdicts(found, limits)
    typer.echo(json.dumps(document(found, said), indent=2) if as_json else report(found, said), nl=as_json)
    unclear = [line for it in said for line in it.unclear]
    if passed := [line for it in said for line in it.passed]:
        raise RefusedError("\n".join([*passed, *unclear]))
    if unclear:
        raise UnclearError("\n".join(unclear))
