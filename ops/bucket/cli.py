"""The commands of `ops bucket`."""

# ruff: noqa: D301 - \b is Typer's: what follows it keeps its lines

import json

import typer

from ops.options import Json, StackName

bucket = typer.Typer(help="The bucket of models and caches.", no_args_is_help=True, rich_markup_mode=None)


@bucket.callback()
def _group() -> None:
    """Keep `policy` a command of its own: a Typer with a single one would take its place."""


@bucket.command()
def policy(stack: StackName = "dev", as_json: Json = False) -> None:
    """Print the bucket's policy. The owner of an existing bucket attaches it.

    It is JSON, with --json indented.

    \b
    Example:
      .venv/bin/python -m ops bucket policy --stack prod > policy.json
      aws s3api put-bucket-policy --bucket NAME --policy file://policy.json
    """
    from infra.model_bucket.documents import Owner  # noqa: PLC0415
    from infra.model_bucket.documents import policy as attached  # noqa: PLC0415
    from infra.naming import Place, partition_of  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    found = read(stack)
    settings = found.settings
    place = Place(partition_of(found.region), found.region, settings.account.id)
    owner = Owner(place=place, cluster=settings.name, deployer=settings.account.deployer)
    document = json.loads(attached(settings.model_bucket, owner))
    # compact: never longer than the text whose size was checked against S3's limit
    typer.echo(json.dumps(document, indent=2) if as_json else json.dumps(document, separators=(",", ":")))
