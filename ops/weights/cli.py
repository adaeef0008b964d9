"""The commands of `ops weights`. Each imports what it needs when it runs."""

# ruff: noqa: D301 - \b is Typer's: what follows it keeps its lines

from typing import Annotated

import typer

from ops.options import Json, Kubeconfig, ServerName, StackName, Yes, none_empty

weights = typer.Typer(help="The model of a server, in the bucket.", no_args_is_help=True, rich_markup_mode=None)

Pickles = Annotated[bool, typer.Option("--allow-pickle", help="take formats that run code when they are loaded")]


@weights.command()
def onboard(
    server: ServerName,
    repository: Annotated[str, typer.Option(metavar="OWNER/NAME", help="on Hugging Face")],
    revision: Annotated[str, typer.Option(metavar="COMMIT", help="40 hex digits: names move")],
    stack: StackName = "dev",
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", callback=none_empty, help="copy only these files")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", callback=none_empty, help="leave these files out")
    ] = None,
    allow_pickle: Pickles = False,
    wait: Annotated[bool, typer.Option(help="follow the Job to its end")] = False,
    kubeconfig: Kubeconfig = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Copy a model from Hugging Face to model.uri, in the cluster. Run again to continue.

    \b
    Example:
      .venv/bin/python -m ops weights onboard --server gemma --repository OWNER/NAME --revision COMMIT --wait
    """
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.cluster.follow import made, told  # noqa: PLC0415
    from ops.cluster.jobs import start  # noqa: PLC0415
    from ops.consent import agreed  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.weights.jobs import copied, copying, onboarding, verdict  # noqa: PLC0415

    read_stack = read(stack)
    settings = read_stack.server(server)
    what = onboarding(
        settings,
        repository,
        revision,
        include=include or (),
        exclude=exclude or (),
        allow_pickle=allow_pickle,
    )
    cluster, namespace = connected(read_stack, kubeconfig), read_stack.settings.namespace
    job = copying(cluster, read_stack, what)
    agreed(f"Job {namespace}/{what.job_name}: {copied(what, settings.model)}", yes=yes)
    name = start(cluster, job)
    if not wait:
        typer.echo(made(namespace, name, as_json=as_json))
        return
    told(cluster, namespace, name, verdict, as_json=as_json)


@weights.command()
def verify(
    server: ServerName,
    stack: StackName = "dev",
    deep: Annotated[bool, typer.Option("--deep", help="read and hash every byte")] = False,
    allow_pickle: Pickles = False,
    kubeconfig: Kubeconfig = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Check in the cluster that model.uri holds a whole checkpoint.

    \b
    Example:
      .venv/bin/python -m ops weights verify --server gemma --deep --yes
    """
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.cluster.follow import told  # noqa: PLC0415
    from ops.cluster.jobs import start  # noqa: PLC0415
    from ops.consent import agreed  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.weights.jobs import checked, checking, verdict  # noqa: PLC0415

    read_stack = read(stack)
    model = read_stack.server(server).model
    cluster, namespace = connected(read_stack, kubeconfig), read_stack.settings.namespace
    job = checking(cluster, read_stack, model.uri, deep=deep, allow_pickle=allow_pickle)
    agreed(f"Job {namespace}/{job['metadata']['name']}: {checked(model, deep=deep)}", yes=yes)
    told(cluster, namespace, start(cluster, job), verdict, as_json=as_json)
