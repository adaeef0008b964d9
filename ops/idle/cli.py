"""The commands of `ops idle`. Each imports what it needs when it runs: `--help` needs none of the SDKs."""

import json
from functools import partial
from typing import Annotated

import typer

from ops.options import Json, Kubeconfig, ServerName, StackName, none_empty, not_empty

idle = typer.Typer(help="Servers that nobody asks.", no_args_is_help=True, rich_markup_mode=None)


@idle.command()
def plan(
    server: ServerName,
    stack: StackName = "dev",
    intervals: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|DISTRIBUTION",
            callback=not_empty,
            help="idle times: a file (- is standard input) of one a line (90, 45s, 1h2m) or of requests' times (CSV),"
            " or lognormal:median=20m,p90=3h, or exponential:mean=30m",
        ),
    ] = None,
    busy: Annotated[str | None, typer.Option(metavar="TIME", help="how long it is busy between two of them")] = None,
    penalty: Annotated[
        str | None,
        typer.Option(
            metavar="USD|STEPS", callback=not_empty, help="what a second of waiting costs, or steps: 10s:0.01,60s:1"
        ),
    ] = None,
    requests: Annotated[
        int, typer.Option("--requests-per-return", min=1, max=10**6, help="how many requests wait for one return")
    ] = 1,
    measured: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", callback=none_empty, help="starts that `coldstart run` measured"),
    ] = None,
    spot_price: Annotated[
        float | None,
        typer.Option(metavar="USD", help="of an hour, in place of the on-demand price"),
    ] = None,
    instance_type: Annotated[
        str | None, typer.Option(metavar="TYPE", callback=not_empty, help="one of the pool's (default: its first)")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say which way of being idle costs least, and its settings.

    Sleep, a kept node, a warm node, scale to zero and always on: what each costs a day, and how long a return waits.
    Exit code 3: nobody knows what the nodes cost; their hours are counted then, and a line says how to give a price.

    \b
    Example:
      .venv/bin/python -m ops idle plan --server gemma --intervals exponential:mean=2h --penalty 0.001 --spot-price 1.2
    """  # noqa: D301 - \b is Typer's: the lines below stay as they are
    from ops.coldstart.reading import records  # noqa: PLC0415
    from ops.failures import UnclearError, UsageError  # noqa: PLC0415
    from ops.idle.plan import intervals as idle_times  # noqa: PLC0415
    from ops.idle.plan import penalty as penalties  # noqa: PLC0415
    from ops.idle.plan.plan import planned  # noqa: PLC0415
    from ops.idle.plan.report import document, text  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    if busy is not None and not intervals:
        raise UsageError("--busy: of no use without --intervals")
    read_stack = read(stack)
    read_stack.server(server)
    cost = penalties.given(penalty, requests)
    with progress("idle plan") as say:
        say("reading")
        found = planned(
            read_stack,
            server,
            instance_type=instance_type,
            intervals=idle_times.given(intervals, busy) if intervals else None,
            penalty=cost,
            records=records(measured or ())[0],
            spot_price=spot_price,
        )
    typer.echo(json.dumps(document(found), indent=2) if as_json else text(found))
    if found.unpriced:
        raise UnclearError(found.unpriced)


@idle.command()
def status(stack: StackName = "dev", kubeconfig: Kubeconfig = None, as_json: Json = False) -> None:
    """Show what sleeps or is stopped, and which nodes cost more.

    Nodes that stand empty, with when Karpenter takes them, and on-demand ones where Spot was wanted.

    \b
    Example:
      .venv/bin/python -m ops idle status --stack prod
    """  # noqa: D301 - \b is Typer's
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.idle.status.look import looked  # noqa: PLC0415
    from ops.idle.status.report import document, text  # noqa: PLC0415
    from ops.live.look import said_by_agent  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    read_stack = read(stack)
    with progress("idle status") as say:
        cluster = connected(read_stack, kubeconfig)
        found = looked(cluster, read_stack, say=say, asleep=partial(said_by_agent, cluster))
    typer.echo(json.dumps(document(found), indent=2) if as_json else text(found))
    raise typer.Exit(found.code)
