"""Options that several commands take, each spelled once."""

from pathlib import Path
from typing import Annotated

import typer


def not_empty(value: str | None) -> str | None:
    """Refuse an empty value: a variable of a script that is not set would change what is asked.

    Raises:
        typer.BadParameter: it is empty.
    """
    if value == "":
        raise typer.BadParameter("empty")
    return value


def none_empty(values: list[str] | None) -> list[str] | None:
    """Refuse an empty value among those of an option that is given several times.

    Raises:
        typer.BadParameter: one is empty.
    """
    for value in values or ():
        not_empty(value)
    return values


StackName = Annotated[str, typer.Option("--stack", help="the stack: NAME of Pulumi.NAME.yaml in this folder")]
ServerName = Annotated[str, typer.Option("--server", help="one of `servers` of the stack file")]
Candidate = Annotated[bool, typer.Option("--candidate", help="what servers.<name>.candidate makes of the server")]
Json = Annotated[bool, typer.Option("--json", help="for a program")]
Yes = Annotated[bool, typer.Option("--yes", help="do it without asking")]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        help="a kubeconfig, its current context, instead of asking EKS: for an endpoint behind a tunnel",
        exists=True,
        dir_okay=False,
    ),
]
