"""The command `ops preflight`. It imports what it needs when it runs."""

import json
from typing import Annotated

import typer

from ops.options import Json, StackName, not_empty


def _each(value: list[str] | None) -> list[str] | None:
    for it in value or ():
        not_empty(it)
    return value


def preflight(
    stack: StackName = "dev",
    only: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", callback=_each, help="this check alone; may be repeated")
    ] = None,
    pins: Annotated[
        bool, typer.Option("--pins", help="print the newest add-on versions, to paste below cluster.addons")
    ] = False,
    as_json: Json = False,
) -> None:
    """Tell whether the stack will start, before it does.

    Checks account, quotas, reservations, offerings, spot, bucket, registry, images, ami, addresses and versions.
    It only reads.
    A failed check is exit code 1; without one, what could not be told is 3. A warning alone is 0.

    Example: .venv/bin/python -m ops preflight --stack prod --only quotas --only images
    """
    from ops.failures import UsageError  # noqa: PLC0415
    from ops.preflight.asking import Asked, Aws  # noqa: PLC0415
    from ops.preflight.finding import document, exit_code, table  # noqa: PLC0415
    from ops.preflight.releases import pins as newest  # noqa: PLC0415
    from ops.preflight.run import chosen, report  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    if pins and only:
        raise UsageError("--pins and --only: one at a time")
    checks = chosen(only or ())
    read_stack = read(stack)
    asked = Asked(stack=read_stack, aws=Aws(read_stack.region))
    with progress("preflight") as say:
        if pins:
            typer.echo(newest.text(newest.newest(asked), as_json=as_json))
            return
        found = report(asked, say, checks)
    typer.echo(
        json.dumps(document(found, stack=read_stack.name, region=read_stack.region), indent=2)
        if as_json
        else table(found)
    )
    raise typer.Exit(exit_code(found))
