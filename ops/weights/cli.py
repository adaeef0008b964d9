"""The commands of `ops weights`. Each imports what it needs when it runs."""

from typing import Annotated

import typer

from ops.options import Kubeconfig, ServerName, StackName

weights = typer.Typer(help="The model of a server, in the bucket.", no_args_is_help=True, rich_markup_mode=None)

Pickles = Annotated[bool, typer.Option("--allow-pickle", help="take formats that run code when they are loaded")]


@weights.command()
def onboard(
    server: ServerName,
    repository: Annotated[str, typer.Option(metavar="OWNER/NAME", help="on Hugging Face")],
    revision: Annotated[str, typer.Option(metavar="COMMIT", help="40 hex digits: names move")],
    stack: StackName = "dev",
    include: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="copy only these files")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="leave these files out")] = None,
    allow_pickle: Pickles = False,
    wait: Annotated[bool, typer.Option(help="follow the Job to its end")] = False,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Copy a model from Hugging Face to model.uri, in the cluster. Run again to continue."""
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.cluster.follow import told  # noqa: PLC0415
    from ops.cluster.jobs import follow_by_hand  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.weights.jobs import onboarding, started, verdict  # noqa: PLC0415

    read_stack = read(stack)
    what = onboarding(
        read_stack.server(server),
        repository,
        revision,
        include=include or (),
        exclude=exclude or (),
        allow_pickle=allow_pickle,
    )
    cluster, namespace = connected(read_stack, kubeconfig), read_stack.settings.namespace
    name = started(cluster, read_stack, what)
    if not wait:
        typer.echo(f"Job {namespace}/{name}: made; follow it: {follow_by_hand(namespace, name)}")
        return
    told(cluster, namespace, name, verdict)


@weights.command()
def verify(
    server: ServerName,
    stack: StackName = "dev",
    deep: Annotated[bool, typer.Option("--deep", help="read and hash every byte")] = False,
    allow_pickle: Pickles = False,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Check in the cluster that model.uri holds a whole checkpoint."""
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.cluster.follow import told  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.weights.jobs import checking, verdict  # noqa: PLC0415

    read_stack = read(stack)
    uri = read_stack.server(server).model.uri
    cluster, namespace = connected(read_stack, kubeconfig), read_stack.settings.namespace
    name = checking(cluster, read_stack, uri, deep=deep, allow_pickle=allow_pickle)
    told(cluster, namespace, name, verdict)
