"""The commands of `ops coldstart`. Each imports what it needs when it runs: `--help` needs none of the SDKs."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ops.options import Json, Kubeconfig, ServerName, StackName, Yes

coldstart = typer.Typer(help="Where the seconds of a start go.", no_args_is_help=True, rich_markup_mode=None)

INTERRUPTED = 130


class Situation(StrEnum):
    """What is there before the start."""

    FRESH_NODE = "fresh-node"
    WARM_NODE = "warm-node"
    RESTART = "restart"
    WAKE = "wake"


@coldstart.callback()
def _group() -> None:
    """Keep `run` a command of its own while it is the only one."""


@coldstart.command()
def run(
    server: ServerName,
    situation: Annotated[Situation, typer.Option("--situation", help="what is there before the start")],
    stack: StackName = "dev",
    repeat: Annotated[int, typer.Option("--repeat", min=1, max=100, help="how many starts, one after another")] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE.jsonl", dir_okay=False, help="append each start to a file")
    ] = None,
    despite_traffic: Annotated[
        bool, typer.Option("--despite-traffic", help="also when requests run or wait, which the start cuts")
    ] = False,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    as_json: Json = False,
) -> None:
    """Provoke starts of a server, and say where their seconds went.

    It says first what it deletes and what that costs, and asks. Ctrl-C puts back what was provoked.

    Example: python -m ops coldstart run --server gemma --situation restart --repeat 3 --output starts.jsonl
    """
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.coldstart.measure.run import Order, measured, told  # noqa: PLC0415
    from ops.coldstart.measure.shown import Sink  # noqa: PLC0415
    from ops.coldstart.measure.ways import ways  # noqa: PLC0415
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
