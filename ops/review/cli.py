"""The commands of `ops review`. Each imports what it needs when it runs: `--help` needs none of the SDKs."""

import re
from pathlib import Path
from typing import Annotated

import typer

from ops.options import Kubeconfig, StackName, none_empty, not_empty

review = typer.Typer(
    help="What workflows say of a pull request, and of what has drifted.", no_args_is_help=True, rich_markup_mode=None
)

Output = Annotated[Path, typer.Option("--output", metavar="DIR", help="folder for the result", file_okay=False)]
Results = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="folder of results, in any depth", exists=True, file_okay=False)
]
Fork = Annotated[bool, typer.Option("--fork", help="the results are a fork's: a preview against AWS is no real one")]


def _owner_name(value: str) -> str:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", value):
        raise typer.BadParameter("expected OWNER/NAME")
    return value


Repository = Annotated[str, typer.Option("--repository", metavar="OWNER/NAME", callback=_owner_name, help="on GitHub")]
Author = Annotated[
    str, typer.Option("--author", callback=not_empty, help="who writes: of anybody else nothing is updated")
]
Run = Annotated[str, typer.Option("--run", metavar="URL", help="address of the run that wrote the results")]

_BOT = "github-actions[bot]"


def _sha(value: str) -> str:
    if value and not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", value):
        raise typer.BadParameter("expected a whole commit: 40 hexadecimal digits")
    return value


@review.command()
def rehearse(
    base: Annotated[str, typer.Option(metavar="REV", callback=not_empty, help="the revision that stands")],
    output: Output,
    stack: StackName = "dev",
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="PATH=VALUE", callback=none_empty, help="any value does (repeatable)"),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option("--fail-on", metavar="RULE=LIMIT", callback=none_empty, help="as of `ops impact` (repeatable)"),
    ] = None,
) -> None:
    """Preview a stack with the policies, and compare it.

    Without any credentials. The exit code is the worse one's: 1, else 2, else 3. The result is written all the same.

    Example: .venv/bin/python -m ops review rehearse --base HEAD^1 --stack dev --output results
    """
    from ops.review.rehearse import rehearse as rehearsed  # noqa: PLC0415

    raise typer.Exit(rehearsed(stack, base, output, secret or (), fail_on or ()))


@review.command()
def preview(
    output: Output,
    stack: StackName = "dev",
    refresh: Annotated[
        bool, typer.Option("--refresh", help="look at what stands first: every change is then a failure")
    ] = False,
) -> None:
    """Run `pulumi preview` over AWS, and write what may be shown.

    It needs the Pulumi CLI with its language plugin, the stack's backend and rights to read. No value of a resource
    leaves it.

    Example: .venv/bin/python -m ops review preview --stack dev --output results
    """
    from ops.review import cloud  # noqa: PLC0415
    from ops.review.rehearse import result_file, write  # noqa: PLC0415

    file = result_file(stack, output, "aws")
    result = cloud.preview(stack, refresh=refresh)
    write(file, result)
    typer.echo(cloud.shown(result))
    raise typer.Exit(result["exitCode"])


@review.command()
def body(
    results: Results,
    fork: Fork = False,
    commit: Annotated[str, typer.Option(metavar="SHA", callback=_sha, help="that the results are of")] = "",
    run: Run = "",
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="STACK", callback=none_empty, help="(repeatable; default: all)"),
    ] = None,
) -> None:
    """Print the comment, over all stack files of this folder.

    Example: .venv/bin/python -m ops review body --results results > body.md
    """
    from ops.review.body import body as made  # noqa: PLC0415
    from ops.review.results import read, stacks_here  # noqa: PLC0415

    found = read(results, only or stacks_here(), fork=fork)
    shown = [it for it in found if not only or it.stack in only]
    typer.echo(made(shown, commit=commit, run=_address(run)), nl=False)


@review.command()
def verdict(results: Results, fork: Fork = False) -> None:
    """End as the results say, for a workflow that has posted them.

    Exit code 1: something is bad. 3: something cannot be told.

    Example: .venv/bin/python -m ops review verdict --results results
    """
    from ops.review.points import exit_code, points  # noqa: PLC0415
    from ops.review.results import read, stacks_here  # noqa: PLC0415

    said = [(it.stack, point) for it in read(results, stacks_here(), fork=fork) for point in points(it)]
    for stack, point in said:
        if point.exit_code:
            typer.echo(f"{stack}: {point.text}")
    raise typer.Exit(exit_code([point for _, point in said]))


@review.command()
def number(results: Results) -> None:
    """Print of which pull request results say they are.

    It is a claim: `ops review post --head` checks it. Exit code 1: there is none.

    Example: .venv/bin/python -m ops review number --results results
    """
    from ops.review.results import number as claimed  # noqa: PLC0415

    typer.echo(claimed(results))


@review.command()
def post(
    repository: Repository,
    pull_request: Annotated[int, typer.Option("--pull-request", metavar="N", min=1, help="its number")],
    body: Annotated[
        Path, typer.Option("--body", metavar="FILE", exists=True, dir_okay=False, help="what `ops review body` printed")
    ],
    head: Annotated[
        str, typer.Option(metavar="SHA", callback=_sha, help="which it must have, else nothing is posted")
    ] = "",
    author: Author = _BOT,
) -> None:
    """Make the comment of a pull request, or update it in place.

    The token is GITHUB_TOKEN, the server GITHUB_API_URL. Exit code 1: no such pull request, or it has another head.
    3: no token, no rights, or GitHub does not answer.

    Example: .venv/bin/python -m ops review post --repository o/r --pull-request 7 --body body.md
    """
    from ops.review.github.client import connected  # noqa: PLC0415
    from ops.review.github.comment import post as posted  # noqa: PLC0415

    text = body.read_text(encoding="utf-8")
    typer.echo(posted(connected(repository), pull_request, text, author=author, head=head))


@review.command()
def drift(results: Results, repository: Repository, run: Run = "", author: Author = _BOT) -> None:
    """Keep an issue for each stack that has drifted.

    Of results of `ops review preview --refresh`. Exit code 1: something has drifted. 3: something cannot be told.

    Example: .venv/bin/python -m ops review drift --results results --repository o/r
    """
    from ops.failures import UnclearError  # noqa: PLC0415
    from ops.review.github import issue  # noqa: PLC0415
    from ops.review.github.client import connected  # noqa: PLC0415
    from ops.review.points import exit_code, points  # noqa: PLC0415
    from ops.review.rehearse import worst  # noqa: PLC0415
    from ops.review.results import read  # noqa: PLC0415

    github, address = connected(repository), _address(run)
    if not (found := read(results, ())):
        raise UnclearError(f"--results {results}: no result at all, so nothing is known")
    for it in found:
        typer.echo(issue.keep(github, it, issue.text(it, address), author=author))
    raise typer.Exit(worst(exit_code(points(it)) for it in found))


@review.command()
def candidates(stack: StackName = "dev", kubeconfig: Kubeconfig = None) -> None:
    """Build the caches of all candidates of a stack, without asking.

    For the release workflow, in which somebody has approved it. One that is there already is not built again.

    Example: .venv/bin/python -m ops review candidates --stack prod
    """
    from ops.review import servers  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    names = servers.candidates(read(stack))
    typer.echo(f"candidates of {stack}: {', '.join(names) or 'none'}")
    raise typer.Exit(servers.each([servers.build(stack, it) for it in names], _cluster(kubeconfig)))


@review.command()
def answers(stack: StackName = "dev", kubeconfig: Kubeconfig = None) -> None:
    """Ask every server of a stack one thing, as `ops try` does.

    Example: .venv/bin/python -m ops review answers --stack prod
    """
    from ops.review import servers  # noqa: PLC0415
    from ops.stack.stack_file import read  # noqa: PLC0415

    names = sorted(read(stack).settings.servers)
    raise typer.Exit(servers.each([servers.ask(stack, it) for it in names], _cluster(kubeconfig)))


def _cluster(kubeconfig: Path | None) -> list[str]:
    return ["--kubeconfig", str(kubeconfig)] if kubeconfig else []


def _address(run: str) -> str:
    if run and not re.fullmatch(r"https://[\w.-]+(:\d+)?/[\w./-]+", run):
        raise typer.BadParameter("expected the https address of a run", param_hint="--run")
    return run
