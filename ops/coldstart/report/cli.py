"""`ops coldstart report` and `ops coldstart refit`. Each imports what it needs when it runs."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.options import Json, not_empty

if TYPE_CHECKING:
    from ops.coldstart.record import Record

Files = Annotated[list[str], typer.Argument(metavar="FILE.jsonl...", help="measured starts, - for standard input")]


def report(
    files: Files,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", callback=not_empty, help="write one page, which loads nothing"),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option("--markdown", metavar="FILE", callback=not_empty, help="for a pull request, - prints it"),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", callback=not_empty, help="of the page")] = None,
    as_json: Json = False,
) -> None:
    """Show where measured starts spent their seconds.

    And what each step gained. Load runs never count as an improvement. Exit code 1: the files hold no start.

    Example: .venv/bin/python -m ops coldstart report starts.jsonl --html report.html --markdown -
    """
    from ops.coldstart.report import document  # noqa: PLC0415
    from ops.coldstart.report.markdown import markdown as as_markdown  # noqa: PLC0415
    from ops.coldstart.report.page.page import TITLE  # noqa: PLC0415
    from ops.coldstart.report.page.page import html as as_html  # noqa: PLC0415
    from ops.failures import RefusedError, UsageError  # noqa: PLC0415
    from ops.markup import output  # noqa: PLC0415
    from ops.terminal import echo  # noqa: PLC0415

    if as_json and markdown == output.STANDARD:
        raise UsageError("--json and --markdown -: one of both on standard output")
    for option, path in (("--html", html), ("--markdown", markdown)):
        if path and (option, path) != ("--markdown", output.STANDARD):
            output.writable(option, path, files)
    if html and markdown and Path(html).resolve() == Path(markdown).resolve():
        raise UsageError(f"--html and --markdown {echo(html)}: one file each")
    found = _read(files)
    named = title or TITLE
    if html:
        output.write("--html", html, as_html(found, named))
    if markdown and markdown != output.STANDARD:
        output.write("--markdown", markdown, as_markdown(found, named))
    if as_json:
        typer.echo(json.dumps(document.document(found), indent=2))
    elif markdown == output.STANDARD:
        typer.echo(as_markdown(found, named), nl=False)
    else:
        typer.echo(document.lines(found))
    if not found:
        raise RefusedError(f"no start in {', '.join(map(echo, files))}")


def refit(files: Files, as_json: Json = False) -> None:
    """Say what measured starts make of the budget's figures.

    Beside today's. Starts of a cluster count that took everything cached from caches and did not restart.

    Example: .venv/bin/python -m ops coldstart refit starts.jsonl
    """
    from ops.coldstart.report.refit import document, refitted, table  # noqa: PLC0415
    from ops.failures import RefusedError  # noqa: PLC0415
    from ops.terminal import echo  # noqa: PLC0415

    said = refitted(_read(files))
    if as_json or said:
        typer.echo(json.dumps(document(said), indent=2) if as_json else "\n\n".join(map(table, said)))
    if not any(it.phases for it in said):
        raise RefusedError(f"no start that counts in {', '.join(map(echo, files))}")


def _read(files: list[str]) -> "tuple[Record, ...]":
    from ops.coldstart.reading import records  # noqa: PLC0415
    from ops.terminal import progress  # noqa: PLC0415

    with progress("measured starts") as say:
        say(f"reading {len(files)} file{'s' * (len(files) != 1)}")
        found, copies = records(files)
    if copies:
        sys.stderr.write(f"{copies} line{'s' * (copies > 1)} twice: counted once\n")
    return found
