"""The commands on what runs now. Each imports what it needs when it runs: `--help` needs none of the SDKs."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ops.options import Json, Kubeconfig, ServerName, StackName, Yes, not_empty

live = typer.Typer(rich_markup_mode=None)

PodName = Annotated[str | None, typer.Option("--pod", callback=not_empty, help="one of its pods (default: all)")]


@live.command("try")
def try_(
    server: ServerName,
    stack: StackName = "dev",
    prompt: Annotated[
        str, typer.Option(callback=not_empty, help="what to ask")
    ] = "In one sentence: what is a cold start?",
    max_tokens: Annotated[int, typer.Option(min=1, max=100_000, help="of the answer, reasoning included")] = 128,
    direct: Annotated[bool, typer.Option("--direct", help="ask the engine itself, past the front proxy")] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="the bearer token (default: $VLLM_API_TOKEN, else the stack's own Secret)"),
    ] = None,
    kubeconfig: Kubeconfig = None,
    as_json: Json = False,
) -> None:
    """Ask a server one thing, and show its answer and how fast it came.

    Through the API server to a pod that is ready, with the token that a client would show. Exit code 1: no pod is
    ready, or the answer is none (empty, garbage, aborted, cut). 3: no rights, no answer, not now.

    Example: .venv/bin/python -m ops try --server gemma --prompt "Hello?"
    """
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.failures import FAILED_CHECK, OK  # noqa: PLC0415
    from ops.live import bearer  # noqa: PLC0415
    from ops.live.trial import Asked, tried  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    def show(piece: str) -> None:
        if not as_json:
            sys.stdout.write("".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in piece))
            sys.stdout.flush()

    read_stack = read(stack)
    read_stack.server(server)
    asked = Asked(prompt=prompt, max_tokens=max_tokens, direct=direct, given=bearer.given(token_file))
    done = tried(connected(read_stack, kubeconfig), read_stack, server, asked, show)
    if as_json:
        typer.echo(json.dumps(done.document(), indent=2))
    else:
        typer.echo(f"\n\n{done.figures()}" if done.first is not None else done.figures())
    if done.fault:
        sys.stderr.write(f"servers.{server}: {done.fault}\n")
    raise typer.Exit(FAILED_CHECK if done.fault else OK)


@live.command()
def status(
    server: Annotated[
        str | None, typer.Option("--server", callback=not_empty, help="one of `servers` (default: all)")
    ] = None,
    stack: StackName = "dev",
    check: Annotated[bool, typer.Option("--check", help="exit code 1 when something is wrong, 3 if unseen")] = False,
    max_fallback: Annotated[
        str, typer.Option(metavar="TIME", help="how long --check bears with an on-demand fall-back")
    ] = "2h",
    kubeconfig: Kubeconfig = None,
    as_json: Json = False,
) -> None:
    """Show how the pods of servers stand, and what they cost.

    --check ends with 1 when a pod sleeps while requests wait, or the node of a Spot-first pool has been on demand for
    longer than --max-fallback, and with 3 when only something could not be read.

    Example: .venv/bin/python -m ops status --check --max-fallback 4h
    """
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.failures import FAILED_CHECK, OK, UNCLEAR  # noqa: PLC0415
    from ops.live.look import rows  # noqa: PLC0415
    from ops.live.status import failed, seconds_of, table, unclear  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    most = seconds_of("--max-fallback", max_fallback)
    read_stack = read(stack)
    servers = [server] if server else sorted(read_stack.settings.servers)
    for each in servers:
        read_stack.server(each)
    cluster = connected(read_stack, kubeconfig)
    with progress("status") as say:
        found = rows(cluster, read_stack, servers, say)
    typer.echo(json.dumps([row.document() for row in found], indent=2) if as_json else table(found))
    if not check:
        return
    wrong, unseen = list(failed(found, most, max_fallback)), list(unclear(found))
    for line in (*wrong, *unseen):
        sys.stderr.write(f"{line}\n")
    raise typer.Exit(FAILED_CHECK if wrong else UNCLEAR if unseen else OK)


@live.command()
def sleep(
    server: ServerName,
    stack: StackName = "dev",
    stay: Annotated[bool, typer.Option("--stay", help="until `ops wake`, whatever is asked of it")] = False,
    pod: PodName = None,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    as_json: Json = False,
) -> None:
    """Put a server to sleep when what it runs has ended.

    Waits for that. Its GPU memory is free then, its node costs on. Exit code 1: it stays awake, and the line says why.

    Example: .venv/bin/python -m ops sleep --server gemma --stay
    """
    _order(server, stack, "sleep", pod=pod, stay=stay, yes=yes, kubeconfig=kubeconfig, as_json=as_json)


@live.command()
def wake(
    server: ServerName,
    stack: StackName = "dev",
    pod: PodName = None,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    as_json: Json = False,
) -> None:
    """Wake a server that sleeps, and wait for that.

    Also one that was told to stay asleep. Exit code 1: the engine does not wake, and the line says why.

    Example: .venv/bin/python -m ops wake --server gemma
    """
    _order(server, stack, "wake", pod=pod, stay=False, yes=yes, kubeconfig=kubeconfig, as_json=as_json)


def _order(
    server: str,
    stack: str,
    verb: str,
    *,
    pod: str | None,
    stay: bool,
    yes: bool,
    kubeconfig: Path | None,
    as_json: bool,
) -> None:
    from ops.cluster.access import connected  # noqa: PLC0415
    from ops.failures import FAILED_CHECK, OK  # noqa: PLC0415
    from ops.live.orders import Verb, ordered, refuse_unfit  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    what: Verb = "sleep" if verb == "sleep" else "wake"
    read_stack = read(stack)
    refuse_unfit(read_stack, server, what)
    cluster = connected(read_stack, kubeconfig)
    ends = ordered(cluster, read_stack, server, what, pod=pod, stay=stay, yes=yes)
    typer.echo(
        json.dumps([it.document() for it in ends], indent=2) if as_json else "\n".join(it.line(what) for it in ends)
    )
    raise typer.Exit(FAILED_CHECK if any(it.problem for it in ends) else OK)
