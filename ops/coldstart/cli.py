"""The commands of `ops coldstart`. Each imports what it needs when it runs: `--help` needs none of the SDKs."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ops.coldstart.report.cli import refit, report
from ops.failures import INTERRUPTED, UsageError
from ops.options import Json, Kubeconfig, ServerName, StackName, Yes, not_empty

coldstart = typer.Typer(help="Where the seconds of a start go.", no_args_is_help=True, rich_markup_mode=None)
coldstart.command()(report)
coldstart.command()(refit)


Output = Annotated[
    Path | None, typer.Option("--output", metavar="FILE.jsonl", dir_okay=False, help="append each start to a file")
]


class Situation(StrEnum):
    """What is there before the start."""

    FRESH_NODE = "fresh-node"
    WARM_NODE = "warm-node"
    RESTART = "restart"
    WAKE = "wake"


@coldstart.command()
def run(
    server: ServerName,
    situation: Annotated[Situation, typer.Option("--situation", help="what is there before the start")],
    stack: StackName = "dev",
    repeat: Annotated[int, typer.Option("--repeat", min=1, max=100, help="how many starts, one after another")] = 1,
    output: Output = None,
    despite_traffic: Annotated[
        bool, typer.Option("--despite-traffic", help="also when requests run or wait, which the start cuts")
    ] = False,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    as_json: Json = False,
) -> None:
    """Provoke starts of a server, and say where their seconds went.

    It says first what it deletes and what that costs, and asks. Ctrl-C puts back what was provoked.

    Example: .venv/bin/python -m ops coldstart run --server gemma --situation restart --repeat 3 --output starts.jsonl
    """
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.coldstart.measure.run import Order, measured, told  # noqa: PLC0415
    from ops.coldstart.measure.ways import ways  # noqa: PLC0415
    from ops.coldstart.shown import Sink  # noqa: PLC0415
    from ops.consent import agreed  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    read_stack = read(stack)
    read_stack.server(server)
    sink = Sink(output, as_json=as_json)
    cluster = connected(read_stack, kubeconfig)
    order = Order(
        stack=read_stack, server=server, situation=situation.value, repeat=repeat, despite_traffic=despite_traffic
    )
    reach = ways(cluster, read_stack, server)
    first = told(cluster, order, reach)
    agreed(first.text, yes=yes)
    try:
        with progress(f"{server}: {situation.value}") as say:
            measured(cluster, order, reach, first, sink.keep, say)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise typer.Exit(INTERRUPTED) from None


@coldstart.command()
def parse(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="logs, - for standard input; dumps of the API")],
    situation: Annotated[
        Situation | None,
        typer.Option("--situation", help="what was there before the start: no log tells; else counted as restart"),
    ] = None,
    server: Annotated[
        str | None, typer.Option("--server", callback=not_empty, help="whose start it is: one of `servers`")
    ] = None,
    stack: StackName = "dev",
    engine_version: Annotated[
        str | None, typer.Option("--engine-version", callback=not_empty, help="of a log that does not say")
    ] = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    r"""Say where the seconds of starts went, from logs that you have.

    Each log is a start: of kubectl with --timestamps --all-containers --prefix (a start-up cache is restored by another
    container than the engine's), a node's file, a collector's JSON. With `kubectl get -o json` of the pod, its node,
    lease and events beside one log, it is measured from the pod's creation on.

    \b
    Example:
      kubectl logs POD --timestamps --all-containers --prefix | .venv/bin/python -m ops coldstart parse - --server gemma
    """
    from ops.coldstart.measure.announce import SITUATIONS  # noqa: PLC0415
    from ops.coldstart.parse import parsed  # noqa: PLC0415
    from ops.coldstart.server import Server  # noqa: PLC0415
    from ops.coldstart.shown import Sink  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    if situation is Situation.WAKE:
        raise UsageError("--situation wake: no start of an engine is in it")
    whose = Server.of(read(stack), server) if server else None
    sink = Sink(output, as_json=as_json)
    with progress("logs") as say:
        say(f"reading {len(files)} file{'s' * (len(files) != 1)}")
        found = parsed(files, SITUATIONS[situation.value] if situation else None, engine_version, whose)
    for name, record in found:
        sink.keep(record, name)
