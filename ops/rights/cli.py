"""The commands of `ops rights`."""

# ruff: noqa: D301 - \b is Typer's: what follows it keeps its lines

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ops.options import StackName, not_empty

rights = typer.Typer(
    help="IAM documents for the deployer and for previews of pull requests.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PREVIEWS = "preview"
"""What a preview's environment begins with (.github/workflows/)."""

Github = Annotated[
    str | None,
    typer.Option(
        "--github", metavar="OWNER/NAME", callback=not_empty, help="the repository whose workflows take the role"
    ),
]
Environment = Annotated[
    str | None,
    typer.Option(
        "--environment", metavar="NAME", callback=not_empty, help="GitHub's environment (preview: preview-STACK)"
    ),
]
Backend = Annotated[
    str | None,
    typer.Option("--backend", metavar="s3://...", callback=not_empty, help="where the state is, if in S3"),
]
SecretsKey = Annotated[
    str | None,
    typer.Option(
        "--secrets-key", metavar="ARN", callback=not_empty, help="KMS key of the stack's secrets, if it has one"
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="DIR", file_okay=False, help="write NAME.json for each document into this folder"),
]


@rights.command()
def deployer(
    stack: StackName = "dev",
    github: Github = None,
    environment: Environment = None,
    backend: Backend = None,
    secrets_key: SecretsKey = None,
    output: Output = None,
) -> None:
    """Print what `pulumi up`, refresh and destroy of the stack need.

    One JSON object of documents by name: each becomes a managed policy of the deployer's role, `trust` its trust.

    \b
    Example:
      .venv/bin/python -m ops rights deployer --stack prod --github owner/name --environment prod --output rights
    """
    from ops.failures import UsageError  # noqa: PLC0415
    from ops.rights import documents, trust  # noqa: PLC0415
    from ops.rights.places import places  # noqa: PLC0415
    from ops.rights.state import State, check  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    if (github is None) != (environment is None):
        raise UsageError("--github and --environment: both or none; a subject without an environment is every branch's")
    found = read(stack)
    at, state = places(found).at, State(backend=backend, secrets_key=secrets_key)
    check(state, at)
    trusted = trust.trust(at, trust.of_environment(github, environment)) if github and environment else None
    _tell({**documents.deployer(found, state), **({"trust": trusted} if trusted else {})}, output)


@rights.command()
def preview(
    stack: StackName = "dev",
    github: Github = None,
    environment: Environment = None,
    backend: Backend = None,
    secrets_key: SecretsKey = None,
    output: Output = None,
) -> None:
    """Print what `pulumi preview` of a pull request needs: reads alone.

    One JSON object of documents by name: `preview` becomes the role's policy, `trust` its trust.

    \b
    Example:
      .venv/bin/python -m ops rights preview --stack prod --github owner/name
    """
    from ops.failures import UsageError  # noqa: PLC0415
    from ops.rights import documents, trust  # noqa: PLC0415
    from ops.rights.places import places  # noqa: PLC0415
    from ops.rights.state import State, check  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    if environment and github is None:
        raise UsageError("--environment: of which repository? --github OWNER/NAME")
    found = read(stack)
    at, state = places(found).at, State(backend=backend, secrets_key=secrets_key)
    check(state, at)
    subject = trust.of_environment(github, environment or f"{PREVIEWS}-{stack}") if github else ""
    trusted = trust.trust(at, subject) if subject else None
    _tell({**documents.preview(found, state), **({"trust": trusted} if trusted else {})}, output)


def _tell(documents: Mapping[str, Mapping[str, Any]], output: Path | None) -> None:
    from ops.failures import UsageError  # noqa: PLC0415

    if output is None:
        typer.echo(json.dumps(documents, indent=2))
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, document in documents.items():
            file = output / f"{name}.json"
            file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
            typer.echo(str(file))
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from None
