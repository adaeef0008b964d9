"""`ops diagram`. It imports what it needs when it runs."""

import json
from typing import Annotated

import typer

from ops.options import Json, StackName, not_empty


def diagram(
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="FILE.svg", callback=not_empty, help="write the picture, - prints it"),
    ] = None,
    stack: StackName = "dev",
    preview: Annotated[
        str | None,
        typer.Option(
            "--preview",
            metavar="PLAN.json",
            callback=not_empty,
            help="of `python -m rehearsal preview --json`, instead of one now",
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="PATH=VALUE", help="a secret that the preview needs (repeatable)"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw a stack's architecture, with the paths of a cold start.

    From the resources of its preview, which runs with an offline cloud: no account is asked.

    Example: .venv/bin/python -m ops diagram --stack dev --output dev.svg
    """
    from ops.diagram.picture import document, svg  # noqa: PLC0415
    from ops.diagram.plan_file import asked_secrets, previewed, read  # noqa: PLC0415
    from ops.failures import UsageError  # noqa: PLC0415
    from ops.markup.output import STANDARD, writable, write  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    if output is None and not as_json:
        raise UsageError("nothing to draw to: --output FILE.svg, or --json")
    if as_json and output == STANDARD:
        raise UsageError("--json and --output -: one of both on standard output")
    if output and output != STANDARD:
        writable("--output", output, [preview] if preview else [])
    secrets = asked_secrets(secret or [])
    if preview:
        plan = read(preview)
    else:
        with progress(f"preview of {stack}") as say:
            say("asking the engine")
            plan = previewed(stack, secrets)
    if output == STANDARD:
        typer.echo(svg(plan), nl=False)
    elif output:
        write("--output", output, svg(plan))
    if as_json:
        typer.echo(json.dumps(document(plan), indent=2))
