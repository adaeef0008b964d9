"""The commands of `ops cache`. Each imports what it needs when it runs: `--help` needs none of the SDKs."""

# ruff: noqa: D301 - \b is Typer's: what follows it keeps its lines

import json
import sys
from typing import Annotated

import typer

from ops.options import Candidate, Json, Kubeconfig, ServerName, StackName, Yes, not_empty

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
    """Print a server's cache key and everything that it is made of.

    \b
    Example, does this change cost a cold compile?
      .venv/bin/python -m ops cache key --server gemma --diff main
    """
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
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Build a server's cache on a GPU of its pool, and publish it.

    Exit code 0: published, or there already.

    \b
    Example, before a release:
      .venv/bin/python -m ops cache build --server gemma --candidate
    """
    from ops.cache.build import prepared, verdict  # noqa: PLC0415
    from ops.cache.cost import cost  # noqa: PLC0415
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.cluster.follow import made, told  # noqa: PLC0415
    from ops.cluster.jobs import start  # noqa: PLC0415
    from ops.consent import agreed  # noqa: PLC0415
    from ops.stack.keys import asked_for  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    read_stack = read(stack)
    wanted = asked_for(read_stack, server, candidate=candidate)
    cluster, namespace = connected(read_stack, kubeconfig), read_stack.settings.namespace
    job = prepared(cluster, read_stack, server, wanted, candidate=candidate)
    title = f"Job {namespace}/{job['metadata']['name']} on a GPU of pool {wanted.pool}"
    agreed(f"{title}: {cost(read_stack, wanted)}", yes=yes)
    name = start(cluster, job)
    if not wait:
        typer.echo(made(namespace, name, as_json=as_json))
        return
    told(cluster, namespace, name, verdict, as_json=as_json)


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
    as_json: Json = False,
) -> None:
    """Prove by a log that a start took everything from its cache.

    \b
    Example, of the newest pod, or of a log that you have:
      .venv/bin/python -m ops cache verify --server gemma
      kubectl logs POD --all-containers | .venv/bin/python -m ops cache verify --server gemma --log -
    """
    from ops.cache.verify import document, read_file, read_pod, verdict  # noqa: PLC0415
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
    typer.echo(json.dumps(document(lines, code), indent=2) if as_json else "\n".join(lines))
    raise typer.Exit(code)


@cache.command("ls")
def list_(stack: StackName = "dev", as_json: Json = False) -> None:
    """List the caches in the stack's bucket, and which server uses each.

    \b
    Example:
      .venv/bin/python -m ops cache ls --stack prod
    """
    from ops.cache.shelf import described, table  # noqa: PLC0415
    from ops.cache.users import neighbours  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    read_stack = read(stack)
    others, unread = neighbours(read_stack)
    with progress("cache ls") as say:
        found = described(read_stack, others, say)
    for line in unread:
        sys.stderr.write(f"its servers are not looked at: {line}\n")
    typer.echo(json.dumps([it.document() for it in found], indent=2) if as_json else table(found))


@cache.command()
def prune(
    stack: StackName = "dev",
    unused: Annotated[
        bool, typer.Option("--unused", help="also caches older than a day that no server or candidate uses")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="go by the stack files alone, without a look at what runs in the cluster")
    ] = False,
    kubeconfig: Kubeconfig = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Remove archives that no manifest names.

    Those of the last day stay, and every cache that a stack file of this folder or a pod of the cluster uses. It asks
    before; where nobody is there to ask, it only says what would go.

    \b
    Example:
      .venv/bin/python -m ops cache prune --unused
    """
    from ops.cache.prune import document, remove, table, total  # noqa: PLC0415
    from ops.cache.spare import in_use_spared  # noqa: PLC0415
    from ops.consent import agreed, is_somebody_there  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.terminal import progress, size  # noqa: PLC0415

    read_stack = read(stack)
    with progress("cache prune") as say:
        found, kept = in_use_spared(read_stack, unused=unused, offline=offline, kubeconfig=kubeconfig, say=say)
    for line in kept:
        sys.stderr.write(f"{line}\n")
    asks = bool(found) and not yes and is_somebody_there()
    if asks:
        bucket = read_stack.settings.model_bucket.name
        agreed(f"{table(found)}\nto be removed from {bucket}: {size(total(found))}", yes=False)
    really = bool(found) and (yes or asks)
    if really:
        remove(read_stack, [it.item.key for it in found])
    if as_json:
        typer.echo(json.dumps(document(found, removed=really, kept=kept), indent=2))
    elif not found:
        typer.echo("nothing to remove")
    else:
        end = f"removed: {size(total(found))}" if really else f"{size(total(found))}; nothing is removed without --yes"
        typer.echo(f"{table(found)}\n{end}")
