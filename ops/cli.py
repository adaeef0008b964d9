"""The commands of `python -m ops`, and what all of them share: exit codes, and one line instead of a traceback.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 could not tell; 130 Ctrl-C.
"""

import sys
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperGroup

from ops.bucket.cli import bucket
from ops.cache.cli import cache
from ops.coldstart.cli import coldstart
from ops.diagram.cli import diagram
from ops.failures import UNCLEAR, Failure, broken_program
from ops.idle.cli import idle
from ops.impact.cli import impact
from ops.live.cli import live
from ops.preflight.cli import preflight
from ops.review.cli import review
from ops.rights.cli import rights
from ops.weights.cli import weights


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except Failure as failure:
            sys.stderr.write(f"{failure}\n")
            raise typer.Exit(failure.code) from None
        except Exception as error:
            if (broken := broken_program(error)) is None:
                raise
            sys.stderr.write(f"{broken}\n")
            raise typer.Exit(broken.code) from None

    def main(self, *args: Any, **more: Any) -> Any:
        """Run, and end with a line when nobody can write to standard output. A closed pipe ends it silently."""
        try:
            return super().main(*args, **more)
        except OSError as error:
            with suppress(OSError):
                sys.stdout.close()  # else Python tries again in the end
            sys.stderr.write(f"cannot write: {error.strerror}\n")
            sys.exit(UNCLEAR)


app = typer.Typer(
    cls=_Commands,
    help="What people do to a stack that stands. Exit codes: 0 ok, 1 a check failed, 2 usage, 3 could not tell.",
    no_args_is_help=True,
    add_completion=False,
    # a message that is cut to a terminal's width, in a frame, is for nobody who greps
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(bucket, name="bucket")
app.add_typer(cache, name="cache")
app.add_typer(coldstart, name="coldstart")
app.command()(diagram)
app.add_typer(idle, name="idle")
app.command()(impact)
app.add_typer(live)
app.command()(preflight)
app.add_typer(review, name="review")
app.add_typer(rights, name="rights")
app.add_typer(weights, name="weights")
