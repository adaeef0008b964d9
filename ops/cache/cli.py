"""The commands of `ops cache`. Each imports what it needs when it runs: `--help` needs none of the SDKs."""

import json
from typing import Annotated

import typer

from ops.options import Candidate, Json, Kubeconfig, ServerName, StackName, not_empty

cache = typer.Typer(help="The start-up cache of a server.", no_args_is_help=True, rich_markup_mode=None)


@cache.command()
def key(
    server: ServerName,
    stack: StackName = "dev",
    candidate: Candidate = False,
    diff: Annotated[
        str | None,
        typer.Option(metavar="REV", callback=not_empty, help="say what moved since the stack file of a git revision"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a server's cache key and everything that it is made of."""
    from ops.cache.key import document, explanation  # noqa: PLC0415
    from ops.stack.stack_file import at_revision, read  # noqa: PLC0415

    read_stack = read(stack)
    before = at_revision(stack, diff) if diff else None
    found = explanation(read_stack, server, candidate=candidate, before=before)
    typer.echo(json.dumps(found.document(), indent=2) if as_json else document(found, diff or ""))


@cache.command()
def build(
    server: ServerName,
    stack: StackName = "dev",
    candidate: Candidate = False,
    wait: Annotated[bool, typer.Option(help="follow the Job to its end")] = True,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Build a server's cache on a GPU of its pool, and publish it. Exit code 0 published or there already."""
    from ops.cache.build import started, verdict  # noqa: PLC0415
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.cluster.follow import told  # noqa: PLC0415
    from ops.cluster.jobs import follow_by_hand  # noqa: PLC0415
    from ops.stack.keys import asked_for  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    read_stack = read(stack)
    wanted = asked_for(read_stack, server, candidate=candidate)
    cluster, namespace = connected(read_stack, kubeconfig), read_stack.settings.namespace
    name = started(cluster, read_stack, server, wanted, candidate=candidate)
    if not wait:
        typer.echo(f"Job {namespace}/{name}: made; follow it: {follow_by_hand(namespace, name)}")
        return
    told(cluster, namespace, name, verdict)


@cache.command()
def verify(
    server: ServerName,
    stack: StackName = "dev",
    pod: Annotated[
        str | None, typer.Option(callback=not_empty, help="which pod (default: the server's newest)")
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="FILE", callback=not_empty, help="a log instead of a pod's, - for standard input"),
    ] = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Prove by a log that a start took everything from its cache."""
    from ops.cache.verify import read_file, read_pod, verdict  # noqa: PLC0415
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.failures import UsageError  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from serving.techniques.cache_restore import CACHE_RESTORE  # noqa: PLC0415

    if pod and log:
        raise UsageError("--pod and --log: one log at a time")
    read_stack = read(stack)
    settings = read_stack.server(server)
    text = (
        read_file(log)
        if log
        else read_pod(connected(read_stack, kubeconfig), read_stack.settings.namespace, server, pod or "")
    )
    lines, code = verdict(text, settings.engine.version, restores=CACHE_RESTORE.name in settings.chosen)
    typer.echo("\n".join(lines))
    raise typer.Exit(code)


@cache.command("ls")
def list_(stack: StackName = "dev", as_json: Json = False) -> None:
    """List the caches in the stack's bucket, and which server uses each."""
    from ops.cache.shelf import described, table  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    found = described(read(stack))
    typer.echo(json.dumps([it.document() for it in found], indent=2) if as_json else table(found))


@cache.command()
def prune(
    stack: StackName = "dev",
    unused: Annotated[
        bool, typer.Option("--unused", help="also caches older than a day that no server or candidate uses")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do it; without, only say what would go")] = False,
) -> None:
    """Remove archives that no manifest names. Those of the last day stay."""
    from ops.cache.prune import pruned  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    typer.echo(pruned(read(stack), unused=unused, really=yes))
