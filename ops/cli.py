"""The commands of `python -m ops`, and what all of them share: exit codes, and one line instead of a traceback.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 could not tell.
"""

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from ops.bucket.cli import bucket
from ops.cache.cli import cache
from ops.failures import Failure
from ops.weights.cli import weights


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except Failure as failure:
            sys.stderr.write(f"{failure}\n")
            raise typer.Exit(failure.code) from None


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
app.add_typer(weights, name="weights")
